import { type Static, t } from 'elysia'
import { EVENT_SWITCHES, forSwitches } from '../events/kinds.ts'
import { named, WEBHOOK_URL } from '../lib/api-schema.ts'
import type { FieldError } from '../lib/fault.ts'
import { textProblem } from '../lib/text.ts'
import type { AllowList } from '../outbound/address-guard.ts'
import { literalRefusal } from '../outbound/literal-address.ts'
import { isMqttUrl, parseMqttUrl, TOPIC_NAMES } from '../outbound/mqtt-url.ts'

export const MAX_WEBHOOKS = 100
export const MAX_URL_CHARACTERS = WEBHOOK_URL.maxLength

const closed = { additionalProperties: false } as const
const url = t.String({
  description:
    `an absolute http: or https: URL of ${MAX_URL_CHARACTERS} characters at most, or an mqtt: or mqtts: URL whose path is the topic; ` +
    `that may have ${TOPIC_NAMES.map((name) => `{${name}}`).join(', ')}`,
  examples: ['https://crm.example.com/calls', 'mqtts://hookswitch:secret@broker.example.com/calls/{account}/{event}'],
  form: WEBHOOK_URL,
})
const listedUrl = t.String({ description: 'A URL of the list of webhooks', form: WEBHOOK_URL })

/** A URL in the list, and the kinds of events that it receives. */
export const Webhook = named(
  'Webhook',
  t.Object(
    {
      url,
      ...forSwitches((name) => t.Boolean({ description: EVENT_SWITCHES[name] })),
    },
    closed,
  ),
)
export type Webhook = Static<typeof Webhook>

/** An ordered list. A URL that is listed twice gets each event twice. */
export const WebhookList = t.Array(Webhook, { maxItems: MAX_WEBHOOKS })
export type WebhookList = Static<typeof WebhookList>

export const UrlOnly = t.Object({ url: listedUrl })
export type UrlOnly = Static<typeof UrlOnly>

export const Rotation = named(
  'SecretRotation',
  t.Object({
    url: listedUrl,
    force: t.Optional(t.Boolean({ description: 'Ends the previous secret, if it still signs' })),
  }),
)

export const WebhookSecret = named(
  'WebhookSecret',
  t.Object({
    url: t.String({ description: 'The URL whose requests it signs', form: WEBHOOK_URL }),
    secret: t.String({
      description: '`whsec_` and 32 random bytes in base64, as in Standard Webhooks',
      form: { pattern: '^whsec_[A-Za-z0-9+/]+={0,2}$' },
    }),
    previous_until: t.Union([t.String({ format: 'date-time' }), t.Null()], {
      description: 'Until when the previous secret also signs',
    }),
  }),
)
export type WebhookSecret = Static<typeof WebhookSecret>

/** Checks what the schema cannot express: that each URL is valid, and its address allowed. */
export function urlRule(allow: AllowList) {
  return (body: unknown): FieldError[] => {
    if (!Array.isArray(body) || body.length > MAX_WEBHOOKS) return []
    return body.flatMap((item: unknown, index) => {
      const given = typeof item === 'object' && item !== null && 'url' in item ? item.url : undefined
      const message = typeof given === 'string' ? urlProblem(given, allow) : undefined
      return message === undefined ? [] : [{ path: `/${index}/url`, message }]
    })
  }
}

/** Checks one webhook like `urlRule`. */
export const itemRule = (allow: AllowList) => {
  const rule = urlRule(allow)
  return (body: unknown): FieldError[] => rule([body]).map((error) => ({ ...error, path: '/url' }))
}

/** Returns why a URL cannot be a webhook; `undefined` if it can. Names are checked later, when they are resolved. */
export function urlProblem(text: string, allow: AllowList): string | undefined {
  if ([...text].length > MAX_URL_CHARACTERS) return `may have ${MAX_URL_CHARACTERS} characters at most`
  const hidden = textProblem(text)
  if (hidden !== undefined) return hidden
  if (/\s/.test(text)) return 'has a space or a line break: write %20 for a space that belongs to it, else remove it'
  if (isMqttUrl(text)) return mqttProblem(text, allow)
  // URL forgives white space, backslashes and a missing slash, but a receiver's configuration may not.
  if (!/^https?:\/\/[^/\\?#\s]/i.test(text) || !URL.canParse(text))
    return `must be an absolute http:, https:, mqtt: or mqtts: URL${isWithoutScheme(text) ? `: add https:// in front` : ''}`
  return literalRefusal(new URL(text), allow)
}

function mqttProblem(text: string, allow: AllowList): string | undefined {
  const parsed = parseMqttUrl(text)
  return 'problem' in parsed ? parsed.problem : literalRefusal(parsed.host, allow)
}

/** Returns whether a text would be a URL with `https://` in front: a host, as people type it. */
const isWithoutScheme = (text: string): boolean =>
  /^[\w-]+(\.[\w-]+)*(:\d{1,5})?([/?#]|$)/.test(text) && URL.canParse(`https://${text}`)
