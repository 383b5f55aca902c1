import { createStepRenderer, type FlowWebhook, flowOf } from '../../flows/flows.ts'
import type { NowUs } from '../../lib/time.ts'
import { type Signer, signerOf, streamSignerOf } from '../../outbound/signature.ts'
import { type Target, targetOf } from '../../outbound/target.ts'
import type { AccountVersion, WebhookRecord } from '../../store/operations/webhooks.ts'
import type { Store } from '../../store/store.ts'
import type { TemplateRenderer } from '../../templates/templates.ts'
import { type AccountTemplates, clientTlsOf } from '../../webhooks/webhooks.ts'
import type { WebhookTiming } from '../queue/pace.ts'
import { type CustomRequest, customRequestOf } from './custom-attempt.ts'

/** A webhook prepared for attempts: its parsed URL and its signer. */
type CachedWebhook = {
  readonly id: number
  readonly accountId: number
  readonly url: string
  readonly listed: boolean
  /** After a URL left the list: pending deliveries up to this id are still to be cancelled. */
  readonly cancelledTo: number
  readonly target: Target
  readonly sign: Signer
  /** The time until which `sign` is valid: then the previous secret stops signing. */
  readonly signUntilUs: number
  /** Its own headers and body; `undefined`: it gets the default request. */
  readonly custom: CustomRequest | undefined
  /** Its flow; `undefined`: it gets one request for an event. */
  readonly flow: FlowWebhook | undefined
  /** The order is strict: an event of a call waits for the end of the previous one. */
  readonly isStrict: boolean
  /** A broker keeps the newest message of each topic for later subscribers. */
  readonly retain: boolean
}

/** How the requests of a webhook differ from the default. */
type OwnRequests = {
  readonly custom: CustomRequest | undefined
  /** Its flow, before it can be signed. */
  readonly flow: FlowPart | undefined
}
type FlowPart = Omit<FlowWebhook, 'id' | 'accountId' | 'url' | 'sign' | 'signStream'>

/** Returns how the requests to a webhook differ from the default. */
export function ownRequestsOf({ options, accountId, url }: WebhookRecord, rendering: Rendering): OwnRequests {
  if (options === null) return DEFAULT_REQUESTS
  const { headers } = options
  const flow = flowOf(options)
  if (flow === null) return { custom: customRequestOf({ url, options }, { ...rendering, accountId }), flow: undefined }
  const renderer = createStepRenderer(rendering.templates, { accountId, purpose: rendering.purpose })
  const secrets = [...Object.values(options.flowSecrets), ...Object.values(headers)]
  return { custom: undefined, flow: { flow, renderer, headers, secrets, tls: clientTlsOf(options) } }
}

type Rendering = Omit<AccountTemplates, 'accountId'>
const DEFAULT_REQUESTS: OwnRequests = { custom: undefined, flow: undefined }

/** Prepares a webhook for attempts at a time (wall clock). */
export function cachedWebhookOf(webhook: WebhookRecord, nowUs: number, { custom, flow }: OwnRequests): CachedWebhook {
  const { id, accountId, url, listed, cancelledTo, secret, previous, previousUntilUs } = webhook
  const both = previous !== null && previousUntilUs !== null && previousUntilUs > nowUs
  const secrets = [secret, both ? previous : null].filter((one) => one !== null)
  const sign = signerOf(secrets)
  return {
    id,
    accountId,
    url,
    listed,
    cancelledTo,
    target: targetOf(url),
    sign,
    signUntilUs: both ? previousUntilUs : Number.POSITIVE_INFINITY,
    custom,
    flow: flow && { ...flow, id, accountId, url, sign, signStream: streamSignerOf(secrets) },
    isStrict: flow !== undefined || webhook.options?.order === 'strict',
    retain: webhook.options?.retain ?? false,
  }
}

export type WebhookCache = ReturnType<typeof createWebhookCache>

type WebhookCacheOptions = {
  readonly webhooks: Store['webhooks']
  readonly templates: TemplateRenderer
  readonly nowUs: NowUs
  /** Called when a webhook was read. */
  readonly onLoaded: (webhookId: number, timing: WebhookTiming) => void
}

type Entry = { readonly record: WebhookRecord; readonly own: OwnRequests; webhook: CachedWebhook }

/** Creates the cache of webhooks as they were last read, so that an attempt begins without a read after `load`. */
export function createWebhookCache({ webhooks, templates, nowUs, onLoaded }: WebhookCacheOptions) {
  const entries = new Map<number, Entry>()

  /** The versions of the accounts whose active webhooks are all cached, as they were before these were read. */
  const versions = new Map<number, number>()

  function put(record: WebhookRecord, atUs: number): void {
    const own = ownRequestsOf(record, { templates, purpose: 'sending' })
    entries.set(record.id, { record, own, webhook: cachedWebhookOf(record, atUs, own) })
    onLoaded(record.id, timingOf(record, own))
  }

  async function load(ids: readonly number[]): Promise<void> {
    const atUs = nowUs()
    const found = new Map((await webhooks.webhookGetMany(ids)).map((record) => [record.id, record]))
    for (const id of ids) {
      const record = found.get(id)
      if (record === undefined) entries.delete(id)
      else put(record, atUs)
    }
  }

  /** All accounts as they were last read: of thousands, a row of each is read only after a change. */
  let all: { readonly mark: string; readonly accountIds: readonly number[] } = { mark: '', accountIds: [] }

  /** Returns the versions of the accounts of this node; none if all of them are known. */
  async function readVersions(owns: (accountId: number) => boolean): Promise<readonly AccountVersion[]> {
    // Read first: a later change is noticed the next time.
    const mark = await webhooks.webhookGetVersionsMark()
    const isKnown = mark === all.mark && all.accountIds.every((id) => !owns(id) || versions.has(id))
    if (isKnown) return []
    const now = await webhooks.webhookListVersions()
    all = { mark, accountIds: now.map(({ accountId }) => accountId) }
    return now
  }

  /** Reads the webhooks of accounts that have changed. Returns whether one of them was cached before. */
  async function readChanged(owns: (accountId: number) => boolean, only?: number): Promise<boolean> {
    const atUs = nowUs()
    const found = only === undefined ? await readVersions(owns) : await webhooks.webhookListVersions(only)
    const now = found.filter(({ accountId }) => owns(accountId))
    for (const accountId of versions.keys()) if (!owns(accountId)) versions.delete(accountId)
    const changed = now.filter(({ accountId, version }) => versions.get(accountId) !== version)
    if (changed.length === 0) return false
    const accounts = new Set(changed.map(({ accountId }) => accountId))
    const isKnown = changed.some(({ accountId }) => versions.has(accountId))
    const records = await webhooks.webhookListOfAccounts([...accounts])
    const read = new Set(records.map(({ id }) => id))
    for (const record of records) put(record, atUs)
    // These have left their list, and may have deliveries in memory.
    const left = [...entries].filter(([id, { record }]) => accounts.has(record.accountId) && !read.has(id))
    if (left.length > 0) await load(left.map(([id]) => id))
    for (const { accountId, version } of changed) versions.set(accountId, version)
    return isKnown
  }

  let reading: Promise<unknown> = Promise.resolve()

  function get(webhookId: number): CachedWebhook | undefined {
    const entry = entries.get(webhookId)
    if (entry === undefined) return undefined
    if (entry.webhook.signUntilUs !== Number.POSITIVE_INFINITY && nowUs() >= entry.webhook.signUntilUs)
      entry.webhook = cachedWebhookOf(entry.record, nowUs(), entry.own)
    return entry.webhook
  }

  return {
    /** Returns a webhook that was loaded, or `undefined`. */
    get,
    /** Returns the redacted URL of a webhook; empty if it is not loaded. */
    urlOf: (webhookId: number): string => get(webhookId)?.target.logged ?? '',
    /** Returns the end of the last pause of a webhook (steady time); ages count from it. */
    resumedUs: (webhookId: number): number =>
      entries.get(webhookId)?.record.options?.resumedSteadyUs ?? Number.NEGATIVE_INFINITY,
    /** Reads webhooks, and removes unknown ones. @throws Fault `unavailable`. */
    load,
    /**
     * Reads the webhooks of the accounts for which `owns` is true, of `only` one account if it is given, as far as they
     * have changed. Returns whether there was a change of webhooks that were known.
     * @throws Fault `unavailable`.
     */
    refresh(owns: (accountId: number) => boolean, only?: number): Promise<boolean> {
      // One at a time: an earlier read must not replace the list of a later one.
      const next = reading.then(() => readChanged(owns, only))
      reading = next.catch(() => undefined)
      return next
    },
    /** Returns the cached webhooks that may have pending deliveries; of one account if it is given. */
    activeIds: (only?: number): number[] =>
      [...entries].flatMap(([id, { webhook }]) =>
        (webhook.listed || webhook.cancelledTo > 0) && (only === undefined || only === webhook.accountId) ? id : [],
      ),
    remove(webhookId: number): void {
      const entry = entries.get(webhookId)
      // All of them are read again if the account comes back.
      if (entry !== undefined) versions.delete(entry.record.accountId)
      entries.delete(webhookId)
    },
  }
}

/** Returns when a webhook may be sent to. */
function timingOf({ accountId, url, options }: WebhookRecord, { flow }: OwnRequests): WebhookTiming {
  const timing = { paused: options?.paused ?? false, maxPerSecond: options?.maxPerSecond ?? null }
  if (flow === undefined && options?.sharePace !== true) return timing
  const made = flow !== undefined && 'steps' in flow.flow ? flow.flow : undefined
  const limits = [timing.maxPerSecond, made?.maxPerSecond ?? null].filter((one) => one !== null)
  return {
    ...timing,
    // The limit that a preset names holds whatever the option says.
    maxPerSecond: limits.length === 0 ? null : Math.min(...limits),
    parallel: made?.parallel,
    hasFlow: flow !== undefined,
    sharedPace: options?.sharePace === true ? `${accountId} ${new URL(url).host}` : undefined,
  }
}
