import type { Tx } from '../db/mutation.ts'
import { prepared } from '../db/prepared.ts'
import { type Signer, signerOf } from '../webhooks/signature.ts'
import { type Target, targetOf } from './target.ts'

/** What the dispatcher knows of a webhook: where it is, and how to sign for it. */
export type Receiver = {
  readonly id: number
  readonly accountId: number
  readonly url: string
  readonly listed: boolean
  /** What waited when the URL last left the list and is not cancelled yet: deliveries up to this id. */
  readonly cancelledTo: number
  readonly target: Target
  readonly sign: Signer
  /** Until when `sign` holds: then the previous secret stops signing. */
  readonly signUntilUs: number
}

type Row = {
  id: number
  accountId: number
  url: string
  position: number | null
  cancelledTo: number
  secret: string | null
  previous: string | null
  previousUntil: number | null
}

/** @returns `undefined` for an id that is unknown. */
export function readReceiver(tx: Tx, webhookId: number, nowUs: number): Receiver | undefined {
  const row = prepared<Row, [number]>(
    tx,
    `SELECT w.id, w.account_id AS accountId, w.url, w.position, w.cancelled_to AS cancelledTo,
       s.secret, s.previous, s.previous_until AS previousUntil
     FROM webhooks w LEFT JOIN secrets s ON s.account_id = w.account_id AND s.url = w.url WHERE w.id = ?`,
  ).get(webhookId)
  if (row === null) return undefined
  const { id, accountId, url, position, cancelledTo, secret, previous, previousUntil } = row
  const both = previous !== null && previousUntil !== null && previousUntil > nowUs
  const secrets = [secret, both ? previous : null].filter((one) => one !== null)
  return {
    id,
    accountId,
    url,
    listed: position !== null,
    cancelledTo,
    target: targetOf(url),
    sign: signerOf(secrets),
    signUntilUs: both ? previousUntil : Number.POSITIVE_INFINITY,
  }
}

/** The first webhook of an account's list with this URL. */
export function readListed(tx: Tx, accountId: number, url: string, nowUs: number): Receiver | undefined {
  const row = prepared<{ id: number }, [number, string]>(
    tx,
    'SELECT id FROM webhooks WHERE account_id = ? AND url = ? AND position IS NOT NULL ORDER BY position LIMIT 1',
  ).get(accountId, url)
  return row === null ? undefined : readReceiver(tx, row.id, nowUs)
}

export function accountName(tx: Tx, id: number): string | null {
  return prepared<{ name: string }, [number]>(tx, 'SELECT name FROM accounts WHERE id = ?').get(id)?.name ?? null
}
