import { Kind } from '@sinclair/typebox'
import { BODIES } from '../events/bodies.ts'
import { EVENT_KINDS, EVENT_NAMES, type EventKind } from '../events/kinds.ts'
import { ALL_EXAMPLES } from '../events/samples.ts'
import { namingOf, originalOf } from '../lib/api-schema.ts'

/** The parts of an Elysia route that the document needs. */
export type DocumentedRoute = {
  method: string
  path: string
  hooks: { body?: unknown; query?: unknown; params?: unknown; response?: unknown; detail?: { hide?: boolean } }
}

type Json = Record<string, unknown>

/** The groups of operations, in the order in which they are shown. */
const TAGS: Readonly<Record<string, string>> = {
  Authentication: 'Logins, API tokens and the present user',
  Webhooks: 'URLs that receive call events, with their secrets and options',
  Contacts: 'Who calls: looked up in your own system before the phone rings',
  Deliveries: 'The log of deliveries with every attempt, and retries by hand',
  Calls: 'Records and recordings of calls, events to read back, and a live stream',
  People: 'Accounts and users, for administrators',
  'Phones and queues': 'Phones, trunks, agents and queues as they are now',
  PBXs: 'The PBXs of the account; administrators add, check and remove them',
  Page: 'For the web page: the present state and the last hour',
  Operation: 'For the operator of this service',
  'Call events': 'Requests that this service sends to webhooks',
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  200: 'Success',
  400: 'The body is empty or not valid JSON',
  401: 'The token is missing, unknown or revoked. At login: the e-mail address or the password is wrong',
  403: 'This user or this token may not do this, or a link is wrong or has expired',
  404: 'There is no object with this id',
  406: 'The Accept header excludes application/json',
  409: 'This is not possible in the present state; the message has the reason and what to do',
  410: 'What comes after the cursor was deleted; the message has the oldest cursor that can be read from',
  412: 'If-Match does not match the current list: it was changed in the meantime',
  413: 'The body is larger than 1 MiB',
  415: 'Content-Type is not application/json',
  422: 'The body or a parameter is not valid: all errors, each with its path',
  429: 'Too many requests or failed logins: try again after the seconds in Retry-After',
  500: 'Internal error. The message contains the request id',
  503: 'The service cannot write to its store, or is stopping',
}

/** The headers of a webhook request that identify and sign it. */
const SIGNATURE_HEADERS: Readonly<Record<string, string>> = {
  'webhook-id':
    'The id of the event: the same on every attempt and for every webhook. Store it to recognize repetitions',
  'webhook-timestamp': 'When this attempt was made: Unix seconds',
  'webhook-signature':
    '`v1,` and the base64 of HMAC-SHA256 over `webhook-id.webhook-timestamp.body`, with the secret of the URL. While a ' +
    'secret is rotated there are two signatures, separated by a space',
  traceparent: 'W3C Trace Context: the trace id is the id of the call, the parent id another for each attempt',
}

const ABOUT = `Log in, choose the URLs that receive call events and which kinds each of them gets, and read what was
delivered. Times are UTC with microseconds.

**Webhook requests** are POSTs with a JSON body, signed as defined by
[Standard Webhooks](https://www.standardwebhooks.com) with the secret of their URL (\`GET /integration/webhook/secret\`). Answer with 2xx within 10 seconds. Any other response
is retried after 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 2 h, 4 h, 8 h and 16 h, unless the operator has set another
schedule; \`410\` ends a delivery at once, and
\`Retry-After\` is respected. Each event is delivered at least once: store \`webhook-id\` to recognize repetitions.
The events of a call are first sent in their order, which is \`sequence\`; a retry does not hold back later events
unless the webhook has the option \`order: "strict"\`. At most 16 requests are sent to a webhook at a time. A receiver
that was away reads events back with \`GET /event\`.

**Limits:** a list has at most 100 webhooks, a request body 1 MiB, an event body 256 KB.`

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const message = (name: string, data: string, description: string) => ({
  type: 'object',
  description,
  required: ['event', 'data'],
  properties: {
    event: { const: name, description: 'The name of the message' },
    data: { ...reference(data), description: 'The data of the message, as JSON' },
  },
})

/** The messages of `GET /stream`, which no route checks. */
const STREAM_SCHEMAS: Readonly<Record<string, object>> = {
  StreamMessage: {
    description: 'A message of the stream',
    anyOf: ['CallMessage', 'EventMessage', 'DeliveryMessage'].map(reference),
  },
  CallMessage: message('call', 'Call', 'A call that has changed. All live calls are sent first'),
  EventMessage: message('event', 'EventBody', 'An event that was stored: the body of its webhook requests'),
  DeliveryMessage: message('delivery', 'Delivery', 'A delivery that has changed'),
}

/** Returns the API document (OpenAPI 3.1), made from the schemas with which the routes check requests. */
export function openApiDocument(routes: readonly DocumentedRoute[], version: string): Json {
  const paths: Record<string, Json> = {}
  const shown = routes.filter(({ hooks: { detail } }) => detail !== undefined && detail.hide !== true)
  for (const route of shown) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, path) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Hookswitch',
      version,
      summary: 'Call-event webhooks for Asterisk and FreeSWITCH',
      description: ABOUT,
      contact: { name: 'The operator of this service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: Object.fromEntries(EVENT_NAMES.map((name) => [name, webhook(name)])),
    components: {
      schemas: {
        ...definitionsIn([
          ...shown.map(({ hooks }) => [hooks.body, hooks.query, hooks.params, hooks.response]),
          BODIES,
        ]),
        ...STREAM_SCHEMAS,
      },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'The token of POST /auth/login' } },
    },
  }
}

function operation({ method, hooks }: DocumentedRoute, path: string): Json {
  const { detail = {}, body, response } = hooks
  const own: Json = { ...detail }
  const parameters = [
    ...(Array.isArray(own.parameters) ? own.parameters : []),
    ...fields(hooks.params).map(([name, schema]) => parameter({ where: 'path', name, schema, required: true })),
    ...fields(hooks.query).map(([name, schema, required]) => parameter({ where: 'query', name, schema, required })),
  ]
  const operationId = `${method.toLowerCase()}${path.replace(/[^a-z0-9]+(.)?/gi, (_, next = '') => next.toUpperCase())}`
  return {
    operationId,
    description: `${own.summary}.`,
    ...own,
    // An operation without a `security` of its own needs no token.
    security: own.security ?? [],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(isSchema(body)
      ? { requestBody: { required: true, ...objectOf(own.requestBody), content: json(plain(body)) } }
      : {}),
    responses: {
      ...Object.fromEntries(
        Object.entries(withForbidden(objectOf(response), own)).map(([status, schema]) => [
          status,
          { description: DESCRIPTIONS[status] ?? 'See the envelope', content: json(plain(schema)) },
        ]),
      ),
      ...objectOf(own.responses),
    },
  }
}

/** A token may have fewer rights than its user, so every operation with a token may answer 403. */
const withForbidden = (response: Json, { security }: Json): Json =>
  security === undefined || response[401] === undefined ? response : { 403: response[401], ...response }

function webhook(name: EventKind): Json {
  const { obeys, summary } = EVENT_KINDS[name]
  return {
    post: {
      operationId: name,
      summary,
      description:
        obeys === null
          ? 'Sent to webhooks that have it in the `events` of their options.'
          : `Sent to webhooks whose switch \`${obeys}\` is on.`,
      tags: ['Call events'],
      security: [],
      parameters: Object.entries(SIGNATURE_HEADERS).map(([name, description]) =>
        parameter({ where: 'header', name, schema: { description, type: 'string' }, required: true }),
      ),
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: plain(BODIES[name]),
            example: ALL_EXAMPLES.find((body) => body.data.name === name),
          },
        },
      },
      responses: { '2XX': { description: 'Any 2xx within 10 seconds: delivered. Otherwise the delivery is retried.' } },
    },
  }
}

type Parameter = { where: 'path' | 'query' | 'header'; name: string; schema: unknown; required: boolean }

function parameter({ where, name, schema, required }: Parameter): Json {
  const { description, ...rest } = objectOf(plain(schema))
  return { name, in: where, required, description, schema: rest }
}

const json = (schema: unknown) => ({ 'application/json': { schema } })
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null
const objectOf = (value: unknown): Json => (isObject(value) ? value : {})
const isSchema = (value: unknown): value is Json => isObject(value) && ('type' in value || 'anyOf' in value)

function fields(schema: unknown): [name: string, schema: unknown, required: boolean][] {
  if (!isObject(schema) || !isObject(schema.properties)) return []
  const required = Array.isArray(schema.required) ? schema.required : []
  return Object.entries(schema.properties).map(([name, field]) => [name, field, required.includes(name)])
}

/** Returns the definitions of all schemas with a name that are part of a value, in the order of their names. */
function definitionsIn(value: unknown): Json {
  const found = new Map<string, Json>()
  function search(part: unknown): void {
    if (!isObject(part)) return
    const schema = originalOf(part)
    const naming = namingOf(schema)
    if (naming !== undefined) {
      if (found.has(naming.name)) return
      const own = written(objectOf(schema))
      const oneOf = naming.alternatives.map(plain)
      found.set(naming.name, oneOf.length === 0 ? own : { description: own.description, oneOf })
      naming.alternatives.forEach(search)
    }
    Object.values(schema).forEach(search)
  }
  search(value)
  return Object.fromEntries([...found].toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** Returns a schema as plain JSON Schema; a schema with a name becomes a reference. */
function plain(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plain)
  if (!isObject(schema)) return schema
  const original = originalOf(schema)
  const naming = namingOf(original)
  if (naming === undefined) return written(schema)
  return original === schema ? reference(naming.name) : { description: schema.description, ...reference(naming.name) }
}

/**
 * Returns the keywords of a schema, or the fields of an object, as plain JSON Schema. `rule` is for messages alone: it
 * says what `pattern` says.
 */
function written(schema: Json): Json {
  const fields = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, plain(value)]))
  // An object without a kind is a list of fields, and may have any name.
  if (!(Kind in schema)) return fields
  const { form, rule: _rule, ...keywords } = fields
  return { ...keywords, ...objectOf(form) }
}
