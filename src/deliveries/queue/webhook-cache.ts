import type { NowUs } from '../../lib/time.ts'
import type { WebhookRecord } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { type Signer, signerOf } from '../../webhooks/signature.ts'
import { type Target, targetOf } from '../sending/target.ts'

/** A webhook as attempts need it: its URL taken apart, and its signer. */
export type CachedWebhook = {
  readonly id: number
  readonly accountId: number
  readonly url: string
  readonly listed: boolean
  /** Of a URL that left the list: pending deliveries up to this id are still to be cancelled. */
  readonly cancelledTo: number
  readonly target: Target
  readonly sign: Signer
  /** Until when `sign` may be used: then the previous secret no longer signs. */
  readonly signUntilUs: number
}

/** Returns a webhook with its URL taken apart, and its signer at a time (wall clock). */
export function cachedWebhookOf(webhook: WebhookRecord, nowUs: number): CachedWebhook {
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
  }
}

export type WebhookCache = ReturnType<typeof createWebhookCache>

/** Caches webhooks as they were last read, so that an attempt begins without a read: `load` has to come before. */
export function createWebhookCache(webhooks: Store['webhooks'], nowUs: NowUs) {
  const entries = new Map<number, { readonly record: WebhookRecord; webhook: CachedWebhook }>()

  async function load(ids: readonly number[]): Promise<void> {
    const atUs = nowUs()
    const found = new Map((await webhooks.webhookGetMany(ids)).map((record) => [record.id, record]))
    for (const id of ids) {
      const record = found.get(id)
      if (record === undefined) entries.delete(id)
      else entries.set(id, { record, webhook: cachedWebhookOf(record, atUs) })
    }
  }

  function get(webhookId: number): CachedWebhook | undefined {
    const entry = entries.get(webhookId)
    if (entry === undefined) return undefined
    if (entry.webhook.signUntilUs !== Number.POSITIVE_INFINITY && nowUs() >= entry.webhook.signUntilUs)
      entry.webhook = cachedWebhookOf(entry.record, nowUs())
    return entry.webhook
  }

  return {
    /** Returns a webhook that was loaded, or `undefined`. */
    get,
    /** Returns the URL of a webhook without credentials, for logs; empty if it was not loaded. */
    urlOf: (webhookId: number): string => get(webhookId)?.target.plain ?? '',
    /** Reads webhooks; those that are unknown are removed. @throws Fault `unavailable`. */
    load,
    /** Reads all that are cached, and these: a list or a secret may have changed. @throws Fault `unavailable`. */
    refresh: (ids: readonly number[]) => load([...new Set([...entries.keys(), ...ids])]),
    remove: (webhookId: number): void => void entries.delete(webhookId),
  }
}
