import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import { BODIES } from '../../src/events/bodies.ts'
import {
  CALL_RESULTS,
  CALL_STATES,
  DIRECTIONS,
  HANGUP_BY,
  HANGUP_CAUSES,
  STAGE_KINDS,
  STAGE_RESULTS,
} from '../../src/events/enums.ts'
import { EVENT_NAMES, type EventKind } from '../../src/events/kinds.ts'
import { EXAMPLES } from '../../src/events/samples.ts'
import { DELIVERY_STATES } from '../../src/store/operations/delivery-state.ts'
import { bodyPresetOf, PRESET_NAMES, PRESETS, type PresetName } from '../../src/webhooks/options/body-presets.ts'
import { emptyFolder, type RunningApp, startServe } from '../help/app.ts'

const folder = emptyFolder()
let app: RunningApp
type Operation = {
  security?: unknown[]
  tags?: string[]
  responses: Record<string, unknown>
  requestBody?: { content: Record<string, { schema: object; example?: object }> }
}
let document: {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  tags: { name: string }[]
  webhooks: Record<string, { post: Operation }>
  components: { schemas: Record<string, unknown> }
}

beforeAll(async () => {
  app = await startServe({ cwd: folder.path })
  document = await (await fetch(`${app.url}/openapi.json`)).json()
})
afterAll(async () => {
  await app.stop()
  folder[Symbol.dispose]()
})

type Fields = { properties?: Record<string, { description?: string }> }

/** The schema of `data` in the body of a kind of event. */
function dataOf(kind: EventKind): Fields {
  const { schema } = document.webhooks[kind]?.post.requestBody?.content['application/json'] ?? {}
  const name = /^#\/components\/schemas\/(\w+)$/.exec((schema as { $ref: string }).$ref)?.[1] ?? ''
  return (document.components.schemas[name] as { properties: { data: Fields } }).properties.data
}

type Part = { type?: string; properties?: Record<string, Part>; anyOf?: Part[]; items?: Part }
const FORMS = ['enum', 'const', 'format', 'pattern', 'maxLength']

/** Returns the paths of texts without limits in a schema. */
function textsOf(schema: unknown, path: string): string[] {
  const { type, properties = {}, anyOf = [], items } = schema as Part
  const isText = type === 'string' && !FORMS.some((form) => form in (schema as object))
  return [
    ...(isText ? [path] : []),
    ...Object.entries(properties).flatMap(([field, one]) => textsOf(one, `${path}.${field}`)),
    ...anyOf.flatMap((one) => textsOf(one, path)),
    ...(items === undefined ? [] : textsOf(items, path)),
  ]
}

/** Returns every text called `name` that is no enumeration, in a schema and those that it refers to. */
function namesIn(schema: unknown, path: string, seen: Set<unknown>): { path: string; pattern: string | undefined }[] {
  const { $ref } = schema as { $ref?: string }
  if ($ref !== undefined) return namesIn(document.components.schemas[$ref.split('/').at(-1) ?? ''], path, seen)
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return []
  seen.add(schema)
  const { type, properties = {}, anyOf = [], items } = schema as Part
  const own = path.endsWith('.name') && type === 'string' && !('enum' in schema) && !('const' in schema)
  return [
    ...(own ? [{ path, pattern: (schema as { pattern?: string }).pattern }] : []),
    ...Object.entries(properties).flatMap(([field, one]) => namesIn(one, `${path}.${field}`, seen)),
    ...anyOf.flatMap((one) => namesIn(one, path, seen)),
    ...(items === undefined ? [] : namesIn(items, path, seen)),
  ]
}

const ENUMERATIONS = [
  ['Call', 'direction', DIRECTIONS],
  ['Call', 'state', CALL_STATES],
  ['Call', 'result', CALL_RESULTS],
  ['Hangup', 'cause', HANGUP_CAUSES],
  ['Hangup', 'by', HANGUP_BY],
  ['Stage', 'kind', STAGE_KINDS],
  ['Stage', 'result', STAGE_RESULTS],
  ['Delivery', 'state', DELIVERY_STATES],
] as const

describe('the API document', () => {
  test('is OpenAPI 3.1 and names every endpoint, but not the pages', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining([
        '/auth/login',
        '/auth/me',
        '/auth/logout',
        '/auth/change-password',
        '/integration/webhook',
        '/health',
      ]),
    )
    expect(Object.keys(document.paths).filter((path) => path.startsWith('/docs'))).toEqual([])
  })

  test('documents the stream, an answer of every operation, and which body may be left out', () => {
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
    for (const operation of operations) expect(Object.keys(operation.responses)).toContain('200')
    expect(document.paths['/stream']?.get?.responses['200']).toHaveProperty(['content', 'text/event-stream'])
    expect(document.paths['/integration/delivery/retry']?.post?.requestBody).toMatchObject({ required: false })
    expect(document.paths['/auth/login']?.post?.requestBody).toMatchObject({ required: true })
  })

  test('describes every field of every named schema and of every body', () => {
    type Schema = { properties?: Record<string, { description?: string }> }
    const undescribed = (name: string, { properties = {} }: Schema) =>
      Object.entries(properties).flatMap(([field, { description }]) => (description ? [] : [`${name}.${field}`]))
    const named = Object.entries(document.components.schemas as Record<string, Schema>)
    const missing = named.flatMap(([name, schema]) => undescribed(name, schema))
    const bodies = EVENT_NAMES.flatMap((kind) => undescribed(`${kind}.data`, dataOf(kind)))
    expect([...missing, ...bodies]).toEqual([])
  })

  test('describes every operation and parameter, and each tag', () => {
    type Described = { summary?: string; description?: string; parameters?: { name: string; description?: string }[] }
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => [`${method} ${path}`, one as Operation & Described] as const),
    )
    const missing = operations.flatMap(([name, { summary, description, parameters = [] }]) => [
      ...(summary && description ? [] : [name]),
      ...parameters.flatMap((one) => (one.description ? [] : [`${name}: ${one.name}`])),
    ])
    expect(missing).toEqual([])
    const used = operations.flatMap(([, { tags = [] }]) => tags)
    expect([...new Set(used)].filter((tag) => !document.tags.some(({ name }) => name === tag))).toEqual([])
  })

  test('gives every name that a client sends the form of a name: no control characters', () => {
    const bodies = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ requestBody }: Operation) => requestBody?.content?.['application/json']?.schema),
    )
    const found = bodies.flatMap((schema) => (schema === undefined ? [] : namesIn(schema, '', new Set())))
    expect(found.length).toBeGreaterThan(2)
    const wrong = found.filter(({ pattern }) => pattern === undefined || new RegExp(pattern).test('a\u0000b'))
    expect(wrong).toEqual([])
  })

  test('gives the form of every text, except free texts of a PBX, a person or a receiver', () => {
    const free =
      /\.(message|name|client|error|response|body|rendered|content_type|number|extension|pbx|pbx_id|did|target|forwarded_to|path|format|address|detail|trunks|phones|undecided|text|line|company|owner|trunk|queue|reason|not_sent|subject)$|^Contact\.(id|url)$/
    const texts = Object.entries(document.components.schemas).flatMap(([name, schema]) => textsOf(schema, name))
    expect(texts.filter((path) => !free.test(path))).toEqual([])
    const { properties } = document.components.schemas.PasswordChange as { properties: Record<string, object> }
    expect(properties.password).toMatchObject({ minLength: 6, maxLength: 1_024 })
    const { properties: ofWebhook } = document.components.schemas.Webhook as { properties: Record<string, object> }
    const { maxLength, pattern } = ofWebhook.url as { maxLength: number; pattern: string }
    expect(maxLength).toBe(2_048)
    for (const url of ['https://crm.example.com/calls', 'HTTP://u:p@[2001:db8::1]:80/?a=b'])
      expect(url).toMatch(new RegExp(pattern))
    for (const url of ['ftp://crm.example.com', 'https://', '/calls', 'https://crm.example.com/a b'])
      expect(url).not.toMatch(new RegExp(pattern))
  })

  test('types the messages of the stream', () => {
    const stream = document.paths['/stream']?.get?.responses['200'] as { content: object }
    expect(stream.content).toMatchObject({
      'text/event-stream': { schema: { items: { $ref: '#/components/schemas/StreamMessage' } } },
    })
    for (const [name, event] of [
      ['CallMessage', 'call'],
      ['EventMessage', 'event'],
      ['DeliveryMessage', 'delivery'],
    ] as const)
      expect(document.components.schemas[name]).toMatchObject({ properties: { event: { const: event } } })
  })

  test('states of every operation whether it needs a token', () => {
    const open = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.values(methods).flatMap((operation) => ((operation.security ?? []).length === 0 ? [path] : [])),
    )
    expect(open.toSorted()).toEqual(['/auth/login', '/auth/welcome', '/health'])
    for (const methods of Object.values(document.paths))
      for (const operation of Object.values(methods)) expect(operation.security).toBeArray()
  })

  test('describes every value of the enumerations of calls and stages', () => {
    const schemas = document.components.schemas as Record<
      string,
      { properties: Record<string, { description: string }> }
    >
    for (const [name, field, values] of ENUMERATIONS)
      for (const value of values)
        expect([value, schemas[name]?.properties[field]?.description ?? '']).toEqual([
          value,
          expect.stringContaining(`\`${value}\``),
        ])
  })

  test('states of a number that it is one, never that it may be text', () => {
    expect(JSON.stringify(document)).not.toMatch(/"format":"(integer|numeric|boolean)"/)
    expect(dataOf('call_started').properties?.sequence).toMatchObject({ type: 'integer', minimum: 1 })
  })

  test('gives every status that a route may answer', () => {
    const statuses = (path: string, method: string) => Object.keys(document.paths[path]?.[method]?.responses ?? {})
    expect(statuses('/integration/webhook', 'put')).toEqual([
      '200',
      '400',
      '401',
      '403',
      '406',
      '412',
      '413',
      '415',
      '422',
      '429',
      '500',
      '503',
    ])
    expect(statuses('/auth/login', 'post')).toEqual([
      '200',
      '400',
      '401',
      '406',
      '413',
      '415',
      '422',
      '429',
      '500',
      '503',
    ])
  })

  test('has a schema for every body that is taken, and every reference leads somewhere', () => {
    const put = document.paths['/integration/webhook']?.put?.requestBody?.content['application/json']
    expect(put?.schema).toMatchObject({ type: 'array', maxItems: 100, items: { $ref: '#/components/schemas/Webhook' } })
    expect(document.components.schemas.Webhook).toMatchObject({ additionalProperties: false })
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name ?? '',
    )
    expect(references.filter((name) => !(name in document.components.schemas))).toEqual([])
    expect(references).toContain('Call')
  })

  test('lists the bodies as webhooks, each with an example', () => {
    expect(Object.keys(document.webhooks).sort()).toEqual([...EVENT_NAMES].sort())
    for (const { post } of Object.values(document.webhooks))
      expect(post.requestBody?.content['application/json']?.example).toBeObject()
  })
})

test.each(EXAMPLES.map((example) => [example.data.name, example] as const))(
  'the example of %s is one',
  (name, example) => {
    expect([...Value.Errors(BODIES[name], example)]).toEqual([])
  },
)

test('the page takes everything from the binary, under a strict policy', async () => {
  const response = await fetch(`${app.url}/docs`)
  const policy = response.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toContain('unsafe')
  const links = [...(await response.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link)
  expect(links.length).toBeGreaterThanOrEqual(3)
  for (const link of links) {
    expect(link).toStartWith('/')
    expect([link, (await fetch(app.url + link)).status]).toEqual([link, 200])
  }
})

/** Returns the text of escaped markup. */
const textOf = (markup: string) =>
  markup.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')

test('the catalog of bodies has what each preset makes, its type, and where the receiver documents it', async () => {
  const page = await (await fetch(`${app.url}/docs/bodies`)).text()
  const section = /<section id="(\w+)">[\s\S]*?"body": ([^<]*)<\/code>[\s\S]*?<code>([^<]*)<\/code><\/pre><\/section>/g
  const shown = [...page.matchAll(section)]
  expect(shown.map(([, name]) => name)).toEqual([...PRESET_NAMES])
  const answered = EXAMPLES.find(({ data }) => data.name === 'dial_answered')
  if (answered === undefined) throw new Error('there is no example')
  for (const [, name = '', option = '', text = ''] of shown) {
    const preset = PRESETS[name as PresetName]
    const { preset: chosen, parameters = {} } = JSON.parse(textOf(option))
    expect(chosen).toBe(name)
    const { contentType, render } = bodyPresetOf(name as PresetName)
    const expected = render(answered, parameters)
    const body = textOf(text)
    if (contentType.includes('json')) expect(JSON.parse(body)).toEqual(JSON.parse(expected))
    else expect(body).toBe(expected)
    expect(page).toContain(contentType)
    if ('documentation' in preset) expect(page).toContain(preset.documentation)
  }
})

test('the event catalog has a whole body of every kind, and takes everything from the binary', async () => {
  const response = await fetch(`${app.url}/docs/events`)
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
  const page = await response.text()
  for (const name of EVENT_NAMES) expect(page).toContain(`<section id="${name}">`)
  const bodies = [...page.matchAll(/<code>(\{[\s\S]*?)<\/code><\/pre>/g)].map(([, json = '']) =>
    JSON.parse(textOf(json)),
  )
  expect(bodies.map(({ data }) => data.name)).toEqual([...EVENT_NAMES])
  for (const body of bodies) expect([...Value.Errors(BODIES[body.data.name as keyof typeof BODIES], body)]).toEqual([])
  const links = [...page.matchAll(/(?:src|href)="([^"#][^"]*)"/g)].map(([, link = '']) => link)
  for (const link of links.filter((one) => one !== 'data:,')) expect((await fetch(app.url + link)).status).toBe(200)
})
