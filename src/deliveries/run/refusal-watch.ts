import type { Ownership } from '../../cluster/cluster.ts'
import type { Log } from '../../lib/log.ts'
import { startPeriodic } from '../../lib/periodic.ts'
import type { NowUs } from '../../lib/time.ts'
import type { Outcome } from '../../outbound/outcome.ts'
import { targetOf } from '../../outbound/target.ts'
import type { AttemptRow, DeliveryRow } from '../../store/operations/log.ts'
import type { WebhookRecord } from '../../store/operations/webhooks.ts'
import type { Store } from '../../store/store.ts'
import { isMessageRefused } from '../mqtt/reason-codes.ts'
import {
  type AnswerKind,
  isRefusal,
  newRefusals,
  noteAnswer,
  type Refusals,
  refusingSinceUs,
  restoreRefusing,
} from '../queue/refusals.ts'
import { type Observer, silent } from '../sending/observer.ts'

/** Called when a webhook refuses, and when it accepts again; `ended`: why it is no longer watched. */
type OnRefusal = (url: string, state: 'refuses' | 'accepts', ended?: string) => void

type RefusalWatchOptions = {
  readonly store: Pick<Store, 'outages' | 'log'> & { readonly webhooks: Pick<Store['webhooks'], 'webhookGetMany'> }
  readonly ownership: Pick<Ownership, 'ownsAccount'>
  readonly nowUs: NowUs
  readonly log: Log
  readonly onRefusal: OnRefusal
  readonly everyMs?: number
}

export type RefusalWatch = {
  /** Gets the outcome of each attempt. */
  readonly observer: Observer
  /** Returns since when a webhook of this node refuses (wall clock); `null` if it does not. */
  sinceUs(webhookId: number): number | null
  refusing(): readonly WatchedWebhook[]
  stop(): Promise<void>
}

type WatchedWebhook = { readonly webhookId: number; readonly accountId: number }
type Watched = WatchedWebhook & { readonly refusals: Refusals }

const CHECK_MS = 5_000
const LEFT = 'its URL has left the list'

/**
 * Watches which webhooks refuse, and reports the beginning and the end once. The store keeps which ones were reported,
 * so that the next process, or another node, goes on: it reads from the log since when.
 */
export function startRefusalWatch(options: RefusalWatchOptions): RefusalWatch {
  const { store, ownership, nowUs, log, onRefusal, everyMs = CHECK_MS } = options
  const { outages, webhooks } = store
  const watched = new Map<number, Watched>()

  const refusing = () => [...watched.values()].filter(({ refusals }) => refusingSinceUs(refusals) !== null)

  function watch({ webhookId, accountId }: WatchedWebhook): Watched {
    const known = watched.get(webhookId)
    if (known !== undefined) return known
    const begun = { webhookId, accountId, refusals: newRefusals() }
    watched.set(webhookId, begun)
    return begun
  }
  async function begin(webhookId: number, url: string): Promise<void> {
    if (!(await outages.outageAdd({ what: 'refusal', key: String(webhookId), name: url }))) return
    log.warn({ webhook: webhookId, url }, 'webhook refuses: its receiver answers, and accepts nothing')
    onRefusal(url, 'refuses')
  }
  async function end(webhookId: number, url: string, reason?: string): Promise<void> {
    if (!(await outages.outageRemove({ what: 'refusal', key: String(webhookId) }))) return
    log.info({ webhook: webhookId, url }, 'webhook refuses no longer')
    onRefusal(url, 'accepts', reason)
  }

  async function check(): Promise<void> {
    // Another node sends for an account that was lost, and knows better.
    for (const [webhookId, { accountId }] of watched) if (!ownership.ownsAccount(accountId)) watched.delete(webhookId)
    const reported = new Map((await outages.outageList('refusal')).map(({ key, name }) => [Number(key), name]))
    const begun = refusing().filter(({ webhookId }) => !reported.has(webhookId))
    const ids = [...reported.keys(), ...begun.map(({ webhookId }) => webhookId)]
    if (ids.length === 0) return
    const records = new Map((await webhooks.webhookGetMany(ids)).map((record) => [record.id, record]))
    for (const { webhookId } of begun) {
      const record = records.get(webhookId)
      if (record?.listed === true) await begin(webhookId, targetOf(record.url).logged)
    }
    for (const [webhookId, url] of reported) {
      const record = records.get(webhookId)
      if (record !== undefined && !ownership.ownsAccount(record.accountId)) continue
      if (record?.listed !== true) await end(webhookId, url, LEFT)
      else if (watched.get(webhookId)?.refusals.accepted === true) await end(webhookId, url)
      else if (watched.get(webhookId) === undefined || !isRefusing(webhookId)) {
        const sinceUs = await readRefusingSince(store.log, record)
        const { refusals } = watch({ webhookId, accountId: record.accountId })
        // It may have accepted something meanwhile.
        if (!refusals.accepted) restoreRefusing(refusals, sinceUs ?? nowUs())
      }
    }
  }
  const isRefusing = (webhookId: number) => sinceUs(webhookId) !== null
  const sinceUs = (webhookId: number) => {
    const refusals = watched.get(webhookId)?.refusals
    return refusals === undefined ? null : refusingSinceUs(refusals)
  }

  const periodic = startPeriodic(everyMs, async () => {
    try {
      await check()
    } catch (err) {
      log.debug({ err }, 'cannot note which webhooks refuse, will retry')
    }
  })

  return {
    observer: {
      ...silent,
      ended({ delivery: { webhookId, accountId }, attempted: { outcome, turn }, state, atUs }) {
        const kind = answerOf(outcome, { isEndOfFlow: turn !== undefined && state === 'delivered' })
        if (kind !== 'none') noteAnswer(watch({ webhookId, accountId }).refusals, kind, atUs)
      },
      webhookRemoved: (webhookId) => void watched.delete(webhookId),
    },
    sinceUs,
    refusing,
    stop: periodic.stop,
  }
}

/** Returns the kind of answer that the outcome of an attempt shows. */
function answerOf(outcome: Outcome, { isEndOfFlow }: { isEndOfFlow: boolean }): AnswerKind {
  switch (outcome.kind) {
    case 'delivered':
      return 'accepted'
    case 'rejected':
      return 'refused'
    case 'refused':
    case 'ruled':
      return isRefusal(outcome.status) ? 'refused' : 'other'
    case 'skipped':
      return isEndOfFlow ? 'accepted' : 'none'
    case 'unreachable':
    case 'unsent':
    case 'unrendered':
    case 'aborted':
    case 'advanced':
    case 'deferred':
      return 'none'
    default:
      return outcome satisfies never
  }
}

type Attempts = Pick<Store['log'], 'deliveryList' | 'deliveryGet'>

/** The parts of the log that are read: some milliseconds each. Of a longer outage the beginning is not found. */
const MAX_PARTS = 20
const PART = 100
/** The deliveries whose attempts are read, the oldest first. */
const MAX_READ = 20

/**
 * Returns since when a webhook refuses, as the log has it: its first refusal after its last success, at most some 2,000
 * deliveries back; `undefined`: the log has none.
 */
async function readRefusingSince(log: Attempts, { accountId, url }: WebhookRecord): Promise<number | undefined> {
  const { undelivered, successUs } = await readBackToSuccess(log, { accountId, url })
  const times: number[] = []
  for (const { id } of undelivered.slice(-MAX_READ)) {
    const attempts = (await log.deliveryGet(accountId, id))?.attempts ?? []
    times.push(...attempts.filter((one) => one.atUs > successUs && isRefused(one)).map(({ atUs }) => atUs))
  }
  return times.length === 0 ? undefined : Math.min(...times)
}

async function readBackToSuccess(log: Attempts, filter: { readonly accountId: number; readonly url: string }) {
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
