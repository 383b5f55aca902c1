import { forSwitches, SWITCH_NAMES } from '../../../events/kinds.ts'
import type { FieldError } from '../../../lib/fault.ts'
import { type ApiResult, errorText, request, withQuery } from './api.ts'
import { refreshOverview } from './connection.ts'
import type { Delivery, Page, Webhook, WebhookHealth, WebhookOptions } from './resources.ts'
import type { Failure } from './use-form.ts'
import {
  mergeOptions,
  mergeSwitches,
  type WebhookForm,
  webhookFormOf,
  webhookOf,
  webhookOptionsOf,
} from './webhook-form.ts'

type Place = Pick<WebhookHealth, 'url' | 'occurrence'>
type List = { readonly list: readonly Webhook[]; readonly etag: string | null }

const GONE = 'This webhook is no longer in the list: somebody else has removed it, or changed its address.'

/** Reads one webhook with its options. */
export async function loadWebhook({ url, occurrence }: Place): Promise<WebhookForm | Failure> {
  const [list, options] = await Promise.all([
    request<Webhook[]>('GET', '/integration/webhook'),
    request<WebhookOptions[]>('GET', '/integration/webhook/options'),
  ])
  if (!list.ok) return list
  if (!options.ok) return options
  const webhook = list.result.filter((one) => one.url === url)[occurrence]
  const own = options.result.find((one) => one.url === url)
  if (webhook === undefined || own === undefined) return failure(GONE)
  return webhookFormOf(webhook, own)
}

/** Asks whether changes of others meanwhile are to be replaced. */
type Ask = (conflicts: readonly string[]) => Promise<boolean>

/** Appends a webhook to the list. Nothing is sent before its options are in force. */
export async function addWebhook(form: WebhookForm): Promise<Failure | null> {
  const webhook = webhookOf(form)
  const appended = await request('POST', '/integration/webhook/item', { ...webhook, ...forSwitches(() => false) })
  if (!appended.ok)
    return appended.status === 409 ? failureAt('/url', 'This address is in the list already.') : named(appended)
  const options = await request('PUT', '/integration/webhook/options', webhookOptionsOf(form))
  const switched = options.ok
    ? await putWebhook({ url: webhook.url, occurrence: 0 }, (now) => ({ ...now, ...webhook }))
    : null
  if (options.ok && switched === null) {
    void refreshOverview()
    return null
  }
  // A webhook without its options was not asked for.
  await request('DELETE', withQuery('/integration/webhook/item', { url: webhook.url }))
  return options.ok ? switched : named(options)
}

/** Saves the changes since `stored`; changes of others meanwhile are kept. */
export async function saveWebhook(
  place: Place,
  form: WebhookForm,
  stored: WebhookForm,
  ask: Ask,
): Promise<Failure | null> {
  const mine = webhookOf(form)
  const base = webhookOf(stored)
  const isMoved = mine.url !== base.url
  if (!isMoved) {
    const failed = await putOptions(form, stored, ask)
    if (failed !== null) return failed
  }
  const isSwitched = SWITCH_NAMES.some((name) => mine[name] !== base[name])
  const failed = isMoved || isSwitched ? await putWebhook(place, (now) => mergeSwitches(base, mine, now)) : null
  if (failed !== null) return failed
  if (isMoved) {
    const options = await request('PUT', '/integration/webhook/options', webhookOptionsOf(form))
    if (!options.ok) return named(options)
  }
  void refreshOverview()
  return null
}

async function putOptions(form: WebhookForm, stored: WebhookForm, ask: Ask): Promise<Failure | null> {
  const base = webhookOptionsOf(stored)
  const mine = webhookOptionsOf(form)
  if (JSON.stringify(base) === JSON.stringify(mine)) return null
  const read = await request<WebhookOptions[]>('GET', '/integration/webhook/options')
  if (!read.ok) return read
  const theirs = read.result.find(({ url }) => url === base.url)
  if (theirs === undefined) return failure(GONE)
  const { merged, conflicts } = mergeOptions(base, mine, theirs)
  if (conflicts.length > 0 && !(await ask(conflicts))) return failure('Not saved.')
  const response = await request('PUT', '/integration/webhook/options', merged)
  return response.ok ? null : named(response)
}

/** Others may change the list again and again: after this many attempts something else is wrong. */
const MAX_ATTEMPTS = 5

/** Changes one webhook of the list on top of the list as it is stored now. */
async function putWebhook({ url, occurrence }: Place, change: (now: Webhook) => Webhook): Promise<Failure | null> {
  let last: Failure = failure(GONE)
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const read = await readList()
    if ('message' in read) return read
    const { list, etag } = read
    const place = list.flatMap((one, at) => (one.url === url ? [at] : []))[occurrence]
    const before = place === undefined ? undefined : list[place]
    if (place === undefined || before === undefined) return failure(GONE)
    const changed = list.with(place, change(before))
    const response = await request('PUT', '/integration/webhook', changed, etag === null ? {} : { 'if-match': etag })
    if (response.ok) return null
    last = { message: response.message, errors: response.errors.map(atWebhook(place)) }
    if (response.status !== 412) return last
  }
  return last
}

async function readList(): Promise<List | Failure> {
  const response = await request<Webhook[]>('GET', '/integration/webhook')
  return response.ok ? { list: response.result, etag: response.etag } : response
}

/** Returns the errors of one entry of the list as errors of the drawer. */
const atWebhook =
  (place: number) =>
  ({ path, message }: FieldError): FieldError =>
    sentence({ path: path.startsWith(`/${place}/`) ? path.slice(`/${place}`.length) : path, message })

/** The subjects of fields whose messages in the API are the ends of sentences. */
const SUBJECTS: Readonly<Record<string, string>> = {
  '/url': 'The address',
  '/discovery': 'Home Assistant',
  '/tls': 'A certificate',
  '/tls/certificate': 'The certificate',
  '/tls/key': 'The key',
  '/tls/ca': 'The text',
  '/authorization': 'The authorization',
  '/authorization/token_url': 'The token URL',
  '/authorization/client_id': 'The client id',
  '/authorization/client_secret': 'The client secret',
  '/authorization/refresh_token': 'The refresh token',
  '/authorization/request/url': 'The address of the log-in',
  '/authorization/request/body': 'The body',
  '/authorization/token': 'The pointer',
  '/authorization/expires_in': 'The time',
  '/authorization/header': 'The value',
}

const sentence = ({ path, message }: FieldError): FieldError => {
  const subject = SUBJECTS[path]
  return { path, message: subject === undefined ? message : `${subject} ${message}${message.endsWith('.') ? '' : '.'}` }
}

const named = (failed: Extract<ApiResult<unknown>, { ok: false }>): Failure => ({
  message: errorText(failed),
  errors: failed.errors.map(sentence),
})

const failure = (message: string): Failure => ({ message, errors: [] })
const failureAt = (path: string, message: string): Failure => ({ message, errors: [{ path, message }] })

/** Removes every entry with a URL. Returns the error, or `null`. */
export async function removeWebhook(url: string): Promise<string | null> {
  const response = await request('DELETE', withQuery('/integration/webhook/item', { url }))
  void refreshOverview()
  return response.ok ? null : errorText(response)
}

/** Pauses or resumes the webhooks with a URL. Returns the error, or `null`. */
export async function setPaused(url: string, paused: boolean): Promise<string | null> {
  const read = await request<WebhookOptions[]>('GET', '/integration/webhook/options')
  if (!read.ok) return errorText(read)
  const options = read.result.find((one) => one.url === url)
  if (options === undefined) return GONE
  const response = await request('PUT', '/integration/webhook/options', { ...options, paused })
  void refreshOverview()
  return response.ok ? null : errorText(response)
}

/** Sends one pending delivery of a webhook that is down, as its probe. Returns the error, or `null`. */
export async function probeNow(url: string): Promise<string | null> {
  const query = { state: 'pending', url, limit: '1' }
  const pending = await request<Page<Delivery>>('GET', withQuery('/integration/delivery', query))
  if (!pending.ok) return errorText(pending)
  const [delivery] = pending.result.items
  if (delivery === undefined) return 'There is no pending delivery. Send a test instead.'
  const response = await request('POST', `/integration/delivery/${delivery.id}/retry`)
  return response.ok ? null : errorText(response)
}
