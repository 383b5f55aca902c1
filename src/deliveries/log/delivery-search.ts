import { Fault } from '../../lib/fault.ts'
import { nextTurn } from '../../lib/slices.ts'
import { parseTime } from '../../lib/time.ts'
import { SHORT_ID_LENGTH } from '../../store/operations/calls.ts'
import type { DeliveryPart, DeliveryRow, LogFilter } from '../../store/operations/log.ts'
import { eventIdOf } from '../../store/operations/queue.ts'
import type { Store } from '../../store/store.ts'
import { type BodyFilter, matchesBody } from './body-filter.ts'
import type { DeliveryFilter } from './model.ts'

/** The account whose deliveries are meant; `null`: all accounts, for the operator. */
export type AccountScope = number | null

type Dependencies = {
  readonly store: Pick<Store, 'log' | 'calls'>
  /** Returns the ids of the calls from or to a number, the newest ones if there are many. */
  readonly callsOfNumber: (accountId: number, number: string) => Promise<readonly string[]>
  /** The time limit of one search: a filter may exclude millions of rows. */
  readonly patienceMs: number
  /** The rows that one search reads at most. */
  readonly maxExamined: number
}

/** How long bodies are searched, and how many at a time, so that nobody waits for them. */
const BODY_PATIENCE_MS = 5_000
const BODIES_A_STEP = 100

const tooSlow = (): Fault =>
  new Fault('invalid', 'Searching the bodies took too long.', {
    errors: [{ path: '/since', message: 'is needed, or a later one: the bodies of fewer events are then searched' }],
  })

/** The end of a call's id, as the page shows it. */
const SHORT_ID = new RegExp(`^[0-9a-f-]{${SHORT_ID_LENGTH},35}$`, 'i')

/** Creates the search in the log of deliveries. It reads page by page, and lets other work run in between. */
export function createDeliverySearch({ store, callsOfNumber, patienceMs, maxExamined }: Dependencies) {
  const callsOfId = async (accountId: AccountScope, callId: string): Promise<string[]> =>
    SHORT_ID.test(callId) ? await store.calls.callIdListEndingIn({ accountId, ending: callId }) : [callId]

  async function withBody(rows: readonly DeliveryRow[], filter: BodyFilter): Promise<DeliveryRow[]> {
    const bodies = await store.log.eventGetBodies([...new Set(rows.map(({ id }) => eventIdOf(id)))])
    const matching = new Set(bodies.flatMap(({ id, body }) => (matchesBody(filter, body) ? id : [])))
    return rows.filter(({ id }) => matching.has(eventIdOf(id)))
  }

  return {
    /**
     * Returns matching rows below an id, newest first, and the id at which the next search continues (`null`: the end).
     * Finds `enough` rows unless the log ends, the time is up, or it has read the most rows.
     */
    async find(filter: LogFilter, beforeId: number, enough: number, body?: BodyFilter) {
      const rows: DeliveryRow[] = []
      const startMs = performance.now()
      const endMs = startMs + (body === undefined ? patienceMs : BODY_PATIENCE_MS)
      let nextId: number | null = beforeId
      let examined = 0
      while (nextId !== null && rows.length < enough) {
        const limit = body === undefined ? enough - rows.length : BODIES_A_STEP
        const part: DeliveryPart = await store.log.deliveryList({ filter, fromId: nextId, limit, order: 'newest' })
        rows.push(...(body === undefined ? part.rows : await withBody(part.rows, body)))
        nextId = part.nextId
        examined += part.examined
        if (body !== undefined && performance.now() > endMs) throw tooSlow()
        if (examined >= maxExamined || performance.now() > endMs) break
        if (nextId !== null && rows.length < enough) await nextTurn()
      }
      return { rows, nextId }
    },

    /** Returns the filter of the log; a short call id or a number becomes the ids of its calls. */
    async resolve(accountId: AccountScope, filter: DeliveryFilter): Promise<LogFilter> {
      const plain = logFilterOf(accountId, filter)
      const { call_id: callId, number } = filter
      const byId = callId === undefined ? undefined : await callsOfId(accountId, callId)
      const byNumber =
        number === undefined ? undefined : accountId === null ? [] : await callsOfNumber(accountId, number)
      if (byId === undefined || byNumber === undefined) return { ...plain, callIds: byId ?? byNumber }
      return { ...plain, callIds: byId.filter((id) => byNumber.includes(id)) }
    },
  }
}

function logFilterOf(accountId: AccountScope, filter: DeliveryFilter): LogFilter {
  const { state, event, url, call_id: callId, since, until } = filter
  const sinceUs = since === undefined ? undefined : parseTime(since)
  const untilUs = until === undefined ? undefined : parseTime(until)
  return { accountId, state, event, url, callIds: callId === undefined ? undefined : [callId], sinceUs, untilUs }
}
