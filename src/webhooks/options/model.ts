import { type Static, t } from 'elysia'
import { FILTER_KEYS, FILTER_NAMES } from '../../events/filter.ts'
import { EVENT_KINDS, EVENT_NAMES, FURTHER_NAMES } from '../../events/kinds.ts'
import { NewAuthorization, NewFlow } from '../../flows/flows.ts'
import { described, named, WEBHOOK_URL } from '../../lib/api-schema.ts'
import { nameSchema } from '../../lib/name.ts'
import { textSchema } from '../../lib/text.ts'
import { MAX_TEMPLATE_CHARACTERS } from '../../templates/templates.ts'
import { PRESET_NAMES, PRESETS } from './body-presets.ts'

const closed = { additionalProperties: false } as const
const words = <const Values extends readonly [string, ...string[]]>(values: Values, description: string) =>
  t.UnionEnum(values, { default: undefined, description })
const listed = (meanings: Readonly<Record<string, string>>): string =>
  Object.entries(meanings)
    .map(([name, meaning]) => `\`${name}\`: ${meaning}`)
    .join('. ')

const MAX_FILTER_VALUES = 100
const values = (description: string) =>
  t.Optional(
    t.Array(textSchema({ minLength: 1, maxLength: 256 }), { minItems: 1, maxItems: MAX_FILTER_VALUES, description }),
  )

const WebhookFilter = named(
  'WebhookFilter',
  t.Object(
    // fromEntries loses the type of the keys; these are all keys of the filters.
    Object.fromEntries(FILTER_NAMES.map((key) => [key, values(FILTER_KEYS[key])])) as {
      [key in keyof typeof FILTER_KEYS]: ReturnType<typeof values>
    },
    {
      ...closed,
      description:
        'An event must match every key that is given, by one of its values: exactly, or as a prefix when that ends in `*`; a bare `*` asks ' +
        'that there is one. An event that lacks the fact does not match',
    },
  ),
)

const PresetBody = named(
  'PresetBody',
  t.Object(
    {
      preset: words(
        PRESET_NAMES,
        listed(Object.fromEntries(Object.entries(PRESETS).map(([name, { summary }]) => [name, summary]))),
      ),
      parameters: t.Optional(
        t.Record(t.String(), textSchema({ minLength: 1, maxLength: 256 }), {
          description: 'What the preset asks for: `telegram` needs `chat_id`, the others nothing',
        }),
      ),
    },
    { ...closed, description: 'A body that is part of the program' },
  ),
)

const TemplateBody = named(
  'TemplateBody',
  t.Object(
    {
      template: t.String({
        minLength: 1,
        maxLength: MAX_TEMPLATE_CHARACTERS,
        description:
          'Liquid, with the `time` and `data` of the default body, and the filter `json`. An empty result: the event is not sent',
      }),
      content_type: t.Optional(
        t.String({
          maxLength: 200,
          pattern: '^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+( *; *[A-Za-z0-9-]+=[A-Za-z0-9"!#$&\'*+.^_`|~-]+)*$',
          rule: 'must be a content type, such as application/json',
          description: 'The content type of the result; default: `application/json`',
        }),
      ),
    },
    { ...closed, description: 'A body of your own' },
  ),
)

/**
 * A preset or a template. Checked field by field, so that `bodyErrors` can name the missing or surplus one, which the
 * error of a union would not. The API document shows both forms.
 */
export const WebhookBody = named(
  'WebhookBody',
  t.Object(
    { ...t.Partial(PresetBody).properties, ...t.Partial(TemplateBody).properties },
    { ...closed, description: 'Either a preset, with its parameters, or a template' },
  ),
  PresetBody,
  TemplateBody,
)
export type WebhookBody = Static<typeof WebhookBody>

const MAX_HEADERS = 20
const MAX_PEM_CHARACTERS = 65_536
const pem = (description: string) =>
  t.Optional(t.Union([t.String({ maxLength: MAX_PEM_CHARACTERS }), t.Null()], { description }))

const WebhookTls = t.Object(
  {
    certificate: pem('The certificate to show, in PEM, with its intermediate ones after it'),
    key: pem('Its private key, in PEM, without a passphrase. Read as `null`; sending `null` keeps the stored one'),
    ca: pem('The authorities to trust in place of the usual ones, in PEM'),
  },
  closed,
)

const fields = {
  name: t.Union([nameSchema('A name for people'), t.Null()], {
    description: 'A name for people, shown beside the URL',
  }),
  paused: t.Boolean({
    description: 'While true nothing is sent: deliveries stay pending, do not expire, and are sent in order afterwards',
  }),
  filter: t.Union([WebhookFilter, t.Null()], {
    description: 'The events that it gets; `null`: all. Applies to new events',
  }),
  headers: t.Record(t.String(), t.Union([t.String({ maxLength: 4_096 }), t.Null()]), {
    maxProperties: MAX_HEADERS,
    description:
      'More request headers (user properties of MQTT 5). Their values are secret: they are read as `null`, and sending `null` keeps the stored value',
  }),
  order: words(
    ['first_attempt', 'strict'],
    '`first_attempt`: a retry does not delay later events of its call. `strict`: an event waits until the one before ' +
      'it in the call is delivered, failed or cancelled',
  ),
  max_per_second: t.Union([t.Number({ minimum: 0.1, maximum: 1_000 }), t.Null()], {
    description: 'Attempts per second, with a burst of one second; further deliveries wait in order. `null`: no limit',
  }),
  body: t.Union([WebhookBody, t.Null()], { description: 'The body that is sent; `null`: the default body' }),
  events: t.Array(
    words(FURTHER_NAMES, listed(Object.fromEntries(FURTHER_NAMES.map((name) => [name, EVENT_KINDS[name].summary])))),
    {
      uniqueItems: true,
      description: 'Kinds of event beyond the seven switches',
    },
  ),
  retain: t.Boolean({
    description: 'For an MQTT URL: the broker keeps the newest message of each topic for later subscribers',
  }),
  discovery: t.Union([words(['homeassistant'], 'Home Assistant'), t.Null()], {
    description:
      'For an MQTT URL: the broker gets, retained, what Home Assistant needs to show each phone, trunk and queue by itself. `null`: it is taken back',
  }),
  flow: t.Union([NewFlow, t.Null()], {
    description: 'Several requests for one event, in order; `body` is `null` then. `null`: one request',
  }),
  authorization: t.Union([NewAuthorization, t.Null()], {
    description:
      'How the header `authorization` of its requests is obtained: `oauth2`, or a `login`. A flow has its own. `null`: no such header',
  }),
  tls: t.Union([WebhookTls, t.Null()], {
    description: 'For receivers that ask for a client certificate, or have one of an authority of their own',
  }),
  share_pace: t.Boolean({
    description:
      'Shares one pace, the smallest, with all webhooks of the account that have the same host and this option',
  }),
}
const url = t.String({ description: 'A URL of the list of webhooks', form: WEBHOOK_URL })

/** The problem of a webhook whose tokens cannot be renewed, whose preset is gone, or whose certificate has expired. */
const AuthorizationProblem = named(
  'AuthorizationProblem',
  t.Object(
    {
      since: t.String({ format: 'date-time', description: 'Since when' }),
      message: t.String({ description: 'The explanation of the server' }),
    },
    closed,
  ),
)

/** The options of a URL. A URL that is twice in the list has the same options for both. */
export const WebhookOptions = named(
  'WebhookOptions',
  t.Object(
    {
      url,
      ...fields,
      problem: t.Optional(
        described(
          AuthorizationProblem,
          'Present while the renewal of its token is refused: its deliveries are pending; or when its certificate has expired. Read only',
        ),
      ),
    },
    closed,
  ),
)
export type WebhookOptions = Static<typeof WebhookOptions>

/** Options as clients send them: absent fields get their defaults. */
export const NewWebhookOptions = named(
  'NewWebhookOptions',
  t.Object(
    {
      url,
      ...t.Partial(t.Object(fields)).properties,
      problem: t.Optional(t.Unknown({ description: 'Read only: ignored in requests' })),
    },
    closed,
  ),
)
export type NewWebhookOptions = Static<typeof NewWebhookOptions>

export const PreviewRequest = named(
  'PreviewRequest',
  t.Object(
    {
      event: t.Optional(words(EVENT_NAMES, 'The kind of event; default: `call_started`')),
      body: t.Optional(
        t.Union([WebhookBody, t.Null()], { description: 'As in the options; `null`: the default body' }),
      ),
      url: t.Optional(
        t.String({
          description: 'A URL of the list: `not_sent` then says if its switches or filter keep the event away',
          form: WEBHOOK_URL,
        }),
      ),
    },
    closed,
  ),
)
export type PreviewRequest = Static<typeof PreviewRequest>

export const Preview = named(
  'Preview',
  t.Object({
    content_type: t.String({ description: 'The Content-Type of the request' }),
    body: t.String({ description: 'The body of the request; empty: this event would not be sent' }),
    not_sent: t.Union([t.String(), t.Null()], {
      description: 'Why the webhook of `url` does not get this event; `null`: it does, or there is no `url`',
    }),
  }),
)
export type Preview = Static<typeof Preview>
