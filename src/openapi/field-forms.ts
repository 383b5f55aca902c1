import { MAX_EMAIL_CHARACTERS, MAX_PASSWORD_BYTES, MAX_TOKEN_NAME_CHARACTERS, USER_TYPES } from '../auth/model.ts'
import { MIN_PASSWORD_CHARACTERS } from '../auth/password.ts'
import { EVENT_NAMES } from '../lib/event-kinds.ts'
import { MAX_URL_CHARACTERS } from '../webhooks/model.ts'

type Form = Readonly<Record<string, unknown>>

const uuid: Form = { format: 'uuid' }
const eventKind: Form = { enum: EVENT_NAMES }
const count: Form = { minimum: 0 }
const httpStatus: Form = { minimum: 100, maximum: 599 }
const webhookUrl: Form = { maxLength: MAX_URL_CHARACTERS, pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/\\\\?#\\s][^\\s]*$' }
const pbxUrl: Form = { pattern: '^(ami|amis|esl)://' }
const accessToken: Form = { pattern: '^hks_[A-Za-z0-9_-]{43}$' }
const email: Form = { maxLength: MAX_EMAIL_CHARACTERS }
const password: Form = { maxLength: MAX_PASSWORD_BYTES, format: 'password' }
const newPassword: Form = { ...password, minLength: MIN_PASSWORD_CHARACTERS }
const cursor: Form = { pattern: '^[A-Za-z0-9_-]+$' }
const decimalId: Form = { pattern: '^[0-9]+$', maxLength: 19 }
const tokenId: Form = { pattern: '^[0-9a-f]+$', maxLength: 64 }
/** Not only white space, and no control characters. */
const tokenName: Form = {
  minLength: 1,
  maxLength: MAX_TOKEN_NAME_CHARACTERS,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$',
}
const accountName: Form = { minLength: 1, maxLength: 64 }

/**
 * Forms of fields that their schemas do not check: of requests, because a rule checks them that counts code points or
 * bytes, or knows more than a pattern; of responses, because the service itself made them.
 */
export const FIELD_FORMS: Readonly<Record<string, Readonly<Record<string, Form>>>> = {
  Party: { e164: { pattern: '^\\+[1-9][0-9]{1,14}$' } },
  Hangup: { code: { minimum: 0, maximum: 127 } },
  Call: { id: uuid, merged_from: uuid, merged_into: uuid, parent_id: uuid },
  Stage: { id: uuid, parent_id: uuid },
  Transfer: { call_id: uuid, other_call_id: uuid },
  Recording: { id: uuid, url: { format: 'uri' } },
  Failure: { code: { minimum: 400, maximum: 599 } },
  FieldError: { path: { format: 'json-pointer' } },
  Delivery: {
    id: decimalId,
    event_id: uuid,
    event: eventKind,
    call_id: uuid,
    url: webhookUrl,
    attempts_made: count,
  },
  Attempt: { status: httpStatus, duration_ms: count },
  TestResult: { status: httpStatus, duration_ms: count },
  Queued: { queued: count },
  User: { id: { minimum: 1 }, email: { ...email, format: 'email' } },
  UserType: { number: { enum: Object.values(USER_TYPES) }, name: { enum: Object.keys(USER_TYPES) } },
  Login: { email, password },
  PasswordChange: { old_password: password, password: newPassword, password_confirmation: newPassword },
  AccessToken: { access_token: accessToken },
  Token: { id: tokenId },
  NewToken: { name: tokenName },
  NamedToken: { id: tokenId, name: tokenName, access_token: accessToken },
  Webhook: { url: webhookUrl },
  WebhookUrl: { url: webhookUrl },
  SecretRotation: { url: webhookUrl },
  WebhookSecret: { url: webhookUrl, secret: { pattern: '^whsec_[A-Za-z0-9+/]+={0,2}$' } },
  WebhookOptions: { url: webhookUrl },
  NewWebhookOptions: { url: webhookUrl },
  CallPage: { next_cursor: cursor },
  DeliveryPage: { next_cursor: cursor },
  Event: { call_id: uuid },
  EventPage: { next_cursor: cursor },
  RecordingLink: { path: { format: 'uri-reference' } },
  WebhookHealth: { url: webhookUrl, name: { maxLength: 100 } },
  LastAttempt: { status: httpStatus, duration_ms: count },
  EventWithDeliveries: { id: uuid, name: eventKind },
  EventData: { id: uuid, account: accountName },
  Overview: { account: accountName },
  Pbx: { account: accountName, url: pbxUrl },
}

/** Forms of the parameters of paths and queries. */
export const PARAMETER_FORMS: Readonly<Record<string, Form>> = {
  '/call/{id}.id': uuid,
  '/call/{id}/event.id': uuid,
  '/call/{id}/recording/{recording}.id': uuid,
  '/call/{id}/recording/{recording}.recording': uuid,
  '/call/{id}/recording/{recording}/link.id': uuid,
  '/call/{id}/recording/{recording}/link.recording': uuid,
  '/call/{id}/recording/{recording}.expires': { pattern: '^[0-9]{1,12}$' },
  '/call/{id}/recording/{recording}.signature': { pattern: '^[A-Za-z0-9_-]{43}$' },
  '/integration/delivery/{id}.id': decimalId,
  '/integration/delivery/{id}/retry.id': decimalId,
  '/auth/token/{id}.id': tokenId,
  '/call.cursor': cursor,
  '/integration/delivery.cursor': cursor,
}

/** Returns a field's schema with its form: of a list that of its items, of what may be `null` that of the other. */
export function withForm(schema: Form, form: Form): Form {
  if (Array.isArray(schema.anyOf))
    return { ...schema, anyOf: schema.anyOf.map((one: Form) => (one.type === 'null' ? one : withForm(one, form))) }
  if (schema.type === 'array' && isForm(schema.items)) return { ...schema, items: withForm(schema.items, form) }
  return { ...schema, ...form }
}

const isForm = (value: unknown): value is Form => typeof value === 'object' && value !== null
