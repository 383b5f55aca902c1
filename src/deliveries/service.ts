import { PAGE_SIZE, readCursor, writeCursor } from '../http/paging.ts'
import { Fault } from '../lib/fault.ts'
import { nextTurn } from '../lib/slices.ts'
import { steadyUs as monotonicUs, type NowUs, parseTime, rfc3339, nowUs as wallUs } from '../lib/time.ts'
import type {
  AttemptRow,
  BodyOption,
  DeliveryPart,
  DeliveryRow,
  DeliveryFilter as LogFilter,
} from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { createRenderer } from '../webhooks/options/body-renderer.ts'
import { cancelPending } from './expiry.ts'
import type { Delivery, DeliveryDetail, DeliveryFilter, DeliveryPage, LoggedAttempt } from './model.ts'

export type DeliveryService = ReturnType<typeof createDeliveryService>

type Dependencies = {
  readonly store: Store
  /** Called after deliveries were made due, with the id of one that was asked for by itself. */
  readonly onDue?: (ids: readonly number[]) => void
  /** Told of deliveries that were cancelled before others could be retried. */
  readonly onCancelled?: (ids: readonly number[]) => void
  /** Returns the ids of the calls from or to a number, the newest ones if there are many; without it a number matches no call. */
  readonly callsOfNumber?: (accountId: number, number: string) => Promise<readonly string[]>
  /** How long a page may be looked for: what a filter leaves out may be millions. */
  readonly patienceMs?: number
  readonly nowUs?: NowUs
  /** The dispatcher's, where there is one; else it is reckoned from the wall clock and what the store says of it. */
  readonly steadyUs?: NowUs
}

/** Whose; `null`: everybody's, for the operator. */
type Account = number | null

/** A client waits so long for a page, and gets what was found. */
const PATIENCE_MS = 2_000
/** One step of retrying many: small enough that nobody waits for it. */
const STEP = 500
/** Above every id. */
const NEWEST = Number.MAX_SAFE_INTEGER
/** The end of a call's id: the page shows the last 8 characters. */
const SHORT_ID = /^[0-9a-f-]{8,35}$/i
const ABOVE_ALL_IDS = '~'
type CallIdPart = { ids: string[]; nextId: string | null }

/** The log of deliveries, and what can be sent again. */
export function createDeliveryService(deps: Dependencies) {
  const { store, onDue = () => {}, onCancelled = () => {}, patienceMs = PATIENCE_MS, nowUs = wallUs } = deps
  const { steadyUs, callsOfNumber = async () => [] } = deps
  const nowSteadyUs = async () => steadyUs?.() ?? nowUs() - (await store.maintenance.clockGet()).steppedUs

  /** Asks until no webhook has to finish its leaving first. */
  async function unlessLeaving<T>(ask: () => Promise<T | number>): Promise<T> {
    for (;;) {
      const answer = await ask()
      if (typeof answer !== 'number') return answer
      await cancelPending(store.queue, answer, { nowUs, onCancelled })
    }
  }

  /** Rows from below an id on until there are enough, and where the rest begins. Between two parts others have their turn. */
  async function look(filter: LogFilter, beforeId: number, enough: number) {
    const rows: DeliveryRow[] = []
    const endMs = performance.now() + patienceMs
    let nextId: number | null = beforeId
    while (nextId !== null && rows.length < enough) {
      const part: DeliveryPart = await store.log.deliveryList({
        filter,
        fromId: nextId,
        limit: enough - rows.length,
        order: 'newest',
      })
      rows.push(...part.rows)
      nextId = part.nextId
      if (performance.now() > endMs) break
      if (nextId !== null && rows.length < enough) await nextTurn()
    }
    return { rows, nextId }
  }

  /** Returns the filter with the calls that it names, by their short id or a number. */
  async function resolved(accountId: Account, filter: DeliveryFilter): Promise<LogFilter> {
    const plain = logFilter(accountId, filter)
    const { call_id: callId, number } = filter
    const byId = callId === undefined ? undefined : await callsOfId(callId)
    const byNumber = number === undefined ? undefined : accountId === null ? [] : await callsOfNumber(accountId, number)
    if (byId === undefined || byNumber === undefined) return { ...plain, callIds: byId ?? byNumber }
    return { ...plain, callIds: byId.filter((id) => byNumber.includes(id)) }
  }

  async function callsOfId(callId: string): Promise<string[]> {
    if (!SHORT_ID.test(callId)) return [callId]
    const endMs = performance.now() + patienceMs
    let beforeId: string | null = ABOVE_ALL_IDS
    while (beforeId !== null && performance.now() < endMs) {
      const part: CallIdPart = await store.calls.callIdListEndingIn({ ending: callId, beforeId })
      if (part.ids.length > 0) return part.ids
      beforeId = part.nextId
      await nextTurn()
    }
    return []
  }

  /** What the options of its webhook make of a body now, where they change it. */
  async function renderedOf({ accountId, url, body }: DeliveryRow & { body: string }) {
    const option = (await store.webhooks.webhookGetByUrl(accountId, url))?.options?.body ?? null
    if (option === null || body.startsWith('{"erased"')) return {}
    return { rendered: renderedOrNull(option, body) }
  }

  return {
    /** A page may be shorter than its limit though it is not the last: when finding its rows took too long. */
    async list(accountId: Account, filter: DeliveryFilter, limit = PAGE_SIZE, cursor?: string): Promise<DeliveryPage> {
      const [before] = cursor === undefined ? [NEWEST] : readCursor(cursor, ['number'])
      const { rows, nextId } = await look(await resolved(accountId, filter), Number(before), limit + 1)
      const shown = rows.slice(0, limit)
      const rest = rows.length > limit ? (shown.at(-1)?.id ?? null) : nextId
      return { items: shown.map(deliveryOf), next_cursor: rest === null ? null : writeCursor([rest]) }
    },

    /** @throws Fault 404 when there is none of this id. */
    async show(accountId: Account, id: string, { probes = false } = {}): Promise<DeliveryDetail> {
      const row = await store.log.deliveryGet(accountId, idOf(id))
      if (row === undefined) throw unknown()
      return {
        ...deliveryOf(row),
        body: row.body,
        ...(await renderedOf(row)),
        attempts: row.attempts.map((one) => ({ ...attemptOf(one), ...(probes ? { probe: one.probe } : {}) })),
      }
    },

    /** @throws Fault 404, or 422 when its URL has left the list, or its body was erased. */
    async retry(accountId: Account, id: string): Promise<Delivery> {
      const meant = { accountId, id: idOf(id) }
      const retried = await unlessLeaving(async () =>
        store.queue.deliveryRetry({ ...meant, nowSteadyUs: await nowSteadyUs() }),
      )
      if (retried === 'unknown') throw unknown()
      if (retried === 'erased')
        throw new Fault('invalid', 'What this delivery told was erased: it cannot be sent again.', {
          errors: [{ path: '', message: 'is of an event whose body was erased' }],
        })
      if (retried === 'unlisted')
        throw new Fault('invalid', 'The URL of this delivery has left the list: put it back to send this again.', {
          errors: [{ path: '', message: 'is for a URL that has left the list' }],
        })
      onDue([meant.id])
      return this.show(accountId, id)
    },

    /** Retries all that match, failed ones unless the filter says otherwise. @returns how many. */
    async retryAll(accountId: Account, filter: DeliveryFilter): Promise<number> {
      const meant = await resolved(accountId, filter)
      const wanted: LogFilter = { ...meant, state: meant.state ?? 'failed', untilUs: meant.untilUs ?? nowUs() }
      const next = (fromId: number) =>
        unlessLeaving(async () =>
          store.queue.deliveryRetryMatching({ filter: wanted, fromId, nowSteadyUs: await nowSteadyUs(), limit: STEP }),
        )
      let all = 0
      for (let step = await next(0); ; step = await next(step.nextId)) {
        all += step.queued
        if (step.queued > 0) onDue([])
        if (step.nextId === null) break
      }
      return all
    },
  }
}

const unknown = () => new Fault('not_found', 'There is no delivery with this id.')

/** @throws Fault 404 for what cannot be an id. */
function idOf(text: string): number {
  if (!/^[1-9]\d{0,15}$/.test(text)) throw unknown()
  return Number(text)
}

export function logFilter(accountId: Account, filter: DeliveryFilter): LogFilter {
  const { state, event, url, call_id: callId, since, until } = filter
  const sinceUs = since === undefined ? undefined : parseTime(since)
  const untilUs = until === undefined ? undefined : parseTime(until)
  return { accountId, state, event, url, callIds: callId === undefined ? undefined : [callId], sinceUs, untilUs }
}

export function deliveryOf(row: DeliveryRow): Delivery {
  const { state } = row
  const timeOf = (atUs: number | null) => (atUs === null ? null : rfc3339(atUs))
  return {
    id: String(row.id),
    event_id: row.uuid,
    event: row.event,
    call_id: row.callId,
    url: row.url,
    state,
    attempts_made: row.attemptsMade,
    next_attempt_at: state === 'pending' ? rfc3339(row.dueUs ?? row.createdUs) : null,
    created_at: rfc3339(row.createdUs),
    delivered_at: state === 'delivered' ? timeOf(row.endedUs) : null,
  }
}

const attemptOf = ({ atUs, status, durationMs, error, address, response }: AttemptRow): LoggedAttempt => ({
  at: rfc3339(atUs),
  status,
  duration_ms: durationMs,
  error,
  address,
  response,
})

function renderedOrNull(option: BodyOption, body: string): string | null {
  try {
    return createRenderer(option, monotonicUs)(body).text
  } catch {
    return null
  }
}
