import type { NowUs } from '../../lib/time.ts'
import type { WebhookRecord } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { type Signer, signerOf } from '../../webhooks/signature.ts'
import { type Target, targetOf } from '../sending/target.ts'

/** A webhook as the dispatcher knows it: where it is, and how to sign for it. */
export type Receiver = {
  readonly id: number
  readonly accountId: number
  readonly url: string
  readonly listed: boolean
  /** Of a URL that left the list: pending deliveries up to this id are still to be cancelled. */
  readonly cancelledTo: number
  readonly target: Target
  readonly sign: Signer
  /** Until when `sign` holds: then the previous secret stops signing. */
  readonly signUntilUs: number
}

/** Returns a webhook with its URL taken apart, and its signer at a time. */
export function receiverOf(webhook: WebhookRecord, nowUs: number): Receiver {
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

export type Receivers = ReturnType<typeof createReceivers>

/** The webhooks as they were last read. Those that are sent to are here: `load` comes before. */
export function createReceivers(webhooks: Store['webhooks'], nowUs: NowUs) {
  const known = new Map<number, { readonly webhook: WebhookRecord; receiver: Receiver }>()

  async function load(ids: readonly number[]): Promise<void> {
    const atUs = nowUs()
    const found = new Map((await webhooks.webhookGetMany(ids)).map((webhook) => [webhook.id, webhook]))
    for (const id of ids) {
      const webhook = found.get(id)
      if (webhook === undefined) known.delete(id)
      else known.set(id, { webhook, receiver: receiverOf(webhook, atUs) })
    }
  }

  return {
    /** Returns a webhook that was loaded, or `undefined`. */
    get(webhookId: number): Receiver | undefined {
      const entry = known.get(webhookId)
      if (entry === undefined) return undefined
      if (entry.receiver.signUntilUs !== Number.POSITIVE_INFINITY && nowUs() >= entry.receiver.signUntilUs)
        entry.receiver = receiverOf(entry.webhook, nowUs())
      return entry.receiver
    },
    /** Reads webhooks anew. */
    load,
    /** Reads anew all that are known, and these: a list or a secret may have changed. */
    refresh: (ids: readonly number[]) => load([...new Set([...known.keys(), ...ids])]),
    forget: (webhookId: number) => void known.delete(webhookId),
  }
}
