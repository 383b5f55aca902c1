import type { NowUs } from '../../lib/time.ts'
import type { WebhookRecord } from '../../store/operations/webhooks.ts'
import type { Store } from '../../store/store.ts'
import { type Signer, signerOf } from '../../webhooks/signature.ts'
import type { TemplateRenderer } from '../../webhooks/templates/renderer.ts'
import type { WebhookTiming } from '../queue/pace.ts'
import { type CustomRequest, customRequestOf } from './custom-attempt.ts'
import { type Target, targetOf } from './target.ts'

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
  /** The order is strict: an event of a call waits for the end of the previous one. */
  readonly isStrict: boolean
  /** A broker keeps the newest message of each topic for later subscribers. */
  readonly retain: boolean
}

/** Prepares a webhook for attempts at a time (wall clock). */
export function cachedWebhookOf(
  webhook: WebhookRecord,
  nowUs: number,
  custom: CustomRequest | undefined,
): CachedWebhook {
  const { id, accountId, url, listed, cancelledTo, secret, previous, previousUntilUs } = webhook
  const both = previous !== null && previousUntilUs !== null && previousUntilUs > nowUs
  const secrets = [secret, both ? previous : null].filter((one) => one !== null)
  return {
    id,
    accountId,
    url,
    listed,
    cancelledTo,
    target: targetOf(url),
    sign: signerOf(secrets),
    signUntilUs: both ? previousUntilUs : Number.POSITIVE_INFINITY,
    custom,
    isStrict: webhook.options?.order === 'strict',
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

type Entry = { readonly record: WebhookRecord; webhook: CachedWebhook }

/** Creates the cache of webhooks as they were last read, so that an attempt begins without a read after `load`. */
export function createWebhookCache({ webhooks, templates, nowUs, onLoaded }: WebhookCacheOptions) {
  const entries = new Map<number, Entry>()

  const customOf = ({ accountId, options }: WebhookRecord): CustomRequest | undefined =>
    options === null ? undefined : customRequestOf(options, { templates, accountId, purpose: 'sending' })

  async function load(ids: readonly number[]): Promise<void> {
    const atUs = nowUs()
    const found = new Map((await webhooks.webhookGetMany(ids)).map((record) => [record.id, record]))
    for (const id of ids) {
      const record = found.get(id)
      if (record === undefined) {
        entries.delete(id)
        continue
      }
      entries.set(id, { record, webhook: cachedWebhookOf(record, atUs, customOf(record)) })
      onLoaded(id, { paused: record.options?.paused ?? false, maxPerSecond: record.options?.maxPerSecond ?? null })
    }
  }

  function get(webhookId: number): CachedWebhook | undefined {
    const entry = entries.get(webhookId)
    if (entry === undefined) return undefined
    if (entry.webhook.signUntilUs !== Number.POSITIVE_INFINITY && nowUs() >= entry.webhook.signUntilUs)
      entry.webhook = cachedWebhookOf(entry.record, nowUs(), entry.webhook.custom)
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
    /** Reads all cached webhooks and these: a list or a secret may have changed. @throws Fault `unavailable`. */
    refresh: (ids: readonly number[]) => load([...new Set([...entries.keys(), ...ids])]),
    remove: (webhookId: number): void => void entries.delete(webhookId),
  }
}
