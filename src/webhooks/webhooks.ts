// The list of an account's webhooks, their options and secrets. Sends nothing.

export { topicOfEvent } from './event-topic.ts'
export { MAX_URL_CHARACTERS, MAX_WEBHOOKS, Webhook, WebhookSecret } from './model.ts'
export { bodyPresetOf, PRESET_NAMES, type PresetName } from './options/body-presets.ts'
export {
  type AccountTemplates,
  type BodyRenderer,
  createBodyRenderer,
  type RenderedBody,
} from './options/body-renderer.ts'
export {
  NewWebhookOptions,
  Preview,
  WebhookBody,
  WebhookOptions,
} from './options/model.ts'
export { requestAuthorizationOf } from './options/option-secrets.ts'
export { clientTlsOf } from './options/tls.ts'
export { webhookApi } from './webhook-api.ts'
