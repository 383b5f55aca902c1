import type { AttemptRow, DeliveryRow } from '../../store/operations/log.ts'
import type { WebhookRecord } from '../../store/operations/webhooks.ts'
import type { Store } from '../../store/store.ts'
import { isMessageRefused } from '../mqtt/reason-codes.ts'
import { isRefusal } from '../policy/refusals.ts'

type Log = Pick<Store['log'], 'deliveryList' | 'deliveryGet'>

/** The parts of the log that are read: some milliseconds each. Of a longer outage the beginning is not found. */
const MAX_PARTS = 20
const PART = 100
/** The deliveries whose attempts are read, the oldest first. */
const MAX_READ = 20

/**
 * Returns since when a webhook refuses, as the log has it: its first refusal after its last success, at most some 2,000
 * deliveries back; `undefined`: the log has none.
 */
export async function readRefusingSince(log: Log, { accountId, url }: WebhookRecord): Promise<number | undefined> {
  const { undelivered, successUs } = await readBackToSuccess(log, { accountId, url })
  const times: number[] = []
  for (const { id } of undelivered.slice(-MAX_READ)) {
    const attempts = (await log.deliveryGet(accountId, id))?.attempts ?? []
    times.push(...attempts.filter((one) => one.atUs > successUs && isRefused(one)).map(({ atUs }) => atUs))
  }
  return times.length === 0 ? undefined : Math.min(...times)
}

async function readBackToSuccess(log: Log, filter: { readonly accountId: number; readonly url: string }) {
  const undelivered: DeliveryRow[] = []
  let successUs = Number.NEGATIVE_INFINITY
  let fromId: number | null = Number.MAX_SAFE_INTEGER
  for (let part = 0; part < MAX_PARTS && fromId !== null && successUs < 0; part += 1) {
    const read = await log.deliveryList({ filter, fromId, limit: PART, order: 'newest' })
    for (const row of read.rows) {
      if (row.state === 'delivered') successUs = Math.max(successUs, row.endedUs ?? successUs)
      else if (row.attemptsMade > 0) undelivered.push(row)
    }
    fromId = read.nextId
  }
  return { undelivered, successUs }
}

const isRefused = ({ status, error }: AttemptRow): boolean =>
  status === null ? error !== null && isMessageRefused(error) : isRefusal(status)
