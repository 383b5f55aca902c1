import { callIdOf } from '../../events/kinds.ts'
import { deliveryIdText, type OpaqueIds, openOpaqueIds, readDeliveryId } from '../../http/opaque-ids.ts'
import { notOfThisList, PAGE_SIZE, readCursor } from '../../http/paging.ts'
import { Fault } from '../../lib/fault.ts'
import { type NowUs, rfc3339, nowUs as wallUs } from '../../lib/time.ts'
import { type AttemptRow, type DeliveryRow, ERASED_START, type LogFilter } from '../../store/operations/log.ts'
import { eventIdOf } from '../../store/operations/queue.ts'
import type { Store } from '../../store/store.ts'
import type { TemplateRenderer } from '../../templates/templates.ts'
import { createBodyRenderer } from '../../webhooks/webhooks.ts'
import { cancelPending } from '../run/expiry.ts'
import type { BodyFilter } from './body-filter.ts'
import { type AccountScope, createDeliverySearch } from './delivery-search.ts'
import type { Delivery, DeliveryDetail, DeliveryFilter, DeliveryPage, LoggedAttempt } from './model.ts'
import { readSubjects } from './subject.ts'

export type DeliveryService = ReturnType<typeof createDeliveryService>

type Dependencies = {
  readonly store: Store
  readonly templates: TemplateRenderer
  /** Called after deliveries were made due, with the id if a single one was retried. */
  readonly onDue?: (ids: readonly number[]) => void
  /** Returns whether this process sends the deliveries of an account; without it another one does. */
  readonly isOwner?: (accountId: number) => boolean
  /** Called with deliveries that were cancelled before others could be retried. */
  readonly onCancelled?: (ids: readonly number[]) => void
  /** Returns the ids of the calls from or to a number, the newest ones if there are many; without it none match. */
  readonly callsOfNumber?: (accountId: number, number: string) => Promise<readonly string[]>
  /** The time limit of one search: a filter may exclude millions of rows. */
  readonly patienceMs?: number
  /** The rows that one search reads at most. */
  readonly maxExamined?: number
  readonly nowUs?: NowUs
  /** The steady clock of the dispatcher; without one it is computed from the wall clock and the stored steps. */
  readonly steadyUs?: NowUs
}

/** A client waits at most this long for a page, and gets the deliveries found so far. */
const PATIENCE_MS = 2_000
/** A filter that excludes nearly everything gives a shorter page: so no page takes others' time for long. */
const MAX_EXAMINED = 20_000
/** Rows per step of a bulk retry, few enough that no other write waits long. */
const STEP = 500
/** Above every id. */
const NEWEST = Number.MAX_SAFE_INTEGER

/** Creates the service for the log of deliveries and retries by hand. */
export function createDeliveryService(deps: Dependencies) {
  const { store, callsOfNumber = async () => [], patienceMs = PATIENCE_MS, maxExamined = MAX_EXAMINED } = deps
  const search = createDeliverySearch({ store, callsOfNumber, patienceMs, maxExamined })
  const retries = createRetries(deps)
  const openIds = openOpaqueIds(store.log)

  /** Returns what adds the account to a delivery, where all accounts are meant. */
  async function withAccount(scope: AccountScope): Promise<(row: DeliveryRow, delivery: Delivery) => Delivery> {
    if (scope !== null) return (_, delivery) => delivery
    const names = new Map((await store.accounts.accountList()).map(({ id, name }) => [id, name]))
    return ({ accountId }, delivery) => ({ ...delivery, account: names.get(accountId) ?? '' })
  }

  /** @throws Fault 404 when there is no delivery of this id. */
  async function show(accountId: AccountScope, id: string, { probes = false } = {}): Promise<DeliveryDetail> {
    const ids = await openIds()
    const row = await store.log.deliveryGet(accountId, idOf(ids, id))
    if (row === undefined) throw unknown()
    const subjectOf = await readSubjects(store.log, [row])
    return {
      ...(await withAccount(accountId))(row, deliveryOf(ids, row, subjectOf(row))),
      body: row.body,
      ...(await renderedOf(deps, row)),
      attempts: row.attempts.map((one) => ({ ...attemptOf(one), ...(probes ? { probe: one.probe } : {}) })),
    }
  }

  return {
    show,

    /**
     * Returns a page, newest first. It may be shorter than its limit though it is not the last: a search ends after
     * 20,000 rows or 2 s.
     */
    async list(
      accountId: AccountScope,
      filter: DeliveryFilter,
      limit = PAGE_SIZE,
      cursor?: string,
      body?: BodyFilter,
    ): Promise<DeliveryPage> {
      const ids = await openIds()
      const before = cursor === undefined ? NEWEST : readPosition(ids, accountId, cursor)
      const { rows, nextId } = await search.find(await search.resolve(accountId, filter), before, limit + 1, body)
      const shown = rows.slice(0, limit)
      const rest = rows.length > limit ? (shown.at(-1)?.id ?? null) : nextId
      const [subjectOf, complete] = await Promise.all([readSubjects(store.log, shown), withAccount(accountId)])
      const items = shown.map((row) => complete(row, deliveryOf(ids, row, subjectOf(row))))
      return { items, next_cursor: rest === null ? null : cursorOf(ids, accountId, rest) }
    },

    /** Sends a delivery again. @throws Fault 404, or 422 when its URL has left the list or its body was erased. */
    async retry(accountId: AccountScope, id: string): Promise<Delivery> {
      await retries.one(accountId, idOf(await openIds(), id))
      return show(accountId, id)
    },

    /** Sends all matching deliveries again, failed ones unless the filter has another state. Returns how many. */
    retryAll: async (accountId: AccountScope, filter: DeliveryFilter): Promise<number> =>
      retries.matching(await search.resolve(accountId, filter)),
  }
}

function createRetries(deps: Dependencies) {
  const { store, onDue = () => {}, isOwner = () => false, onCancelled = () => {}, nowUs = wallUs, steadyUs } = deps
  const nowSteadyUs = async () => steadyUs?.() ?? nowUs() - (await store.maintenance.clockGet()).steppedUs

  /** Repeats a retry until all cancellations that must precede it are complete. */
  async function afterCancellation<T>(retry: () => Promise<T | number>): Promise<T> {
    for (;;) {
      const result = await retry()
      if (typeof result !== 'number') return result
      await cancelPending(store.queue, result, { nowUs, onCancelled })
    }
  }

  /** Asks the owner of the account to send a delivery next, even if its webhook is down. */
  async function askOwner(deliveryId: number): Promise<void> {
    const webhookId = (await store.queue.deliveryGetPending(deliveryId))?.webhookId
    if (webhookId !== undefined) await store.queue.ownerRequestAdd({ webhookId, deliveryId, nowUs: nowUs() })
  }

  return {
    async one(accountId: AccountScope, id: number): Promise<void> {
      const retried = await afterCancellation(async () =>
        store.queue.deliveryRetry({ accountId, id, nowSteadyUs: await nowSteadyUs() }),
      )
      if (retried === 'unknown') throw unknown()
      if (retried === 'erased')
        throw new Fault('invalid', 'The event of this delivery was erased: it cannot be sent again.', {
          errors: [{ path: '', message: 'the body of its event was erased' }],
        })
      if (retried === 'unlisted')
        throw new Fault('invalid', 'The URL of this delivery has left the list: put it back to send this again.', {
          errors: [{ path: '', message: 'its URL has left the list' }],
        })
      onDue([id])
      if (accountId === null || !isOwner(accountId)) await askOwner(id)
    },

    async matching(filter: LogFilter): Promise<number> {
      const wanted: LogFilter = { ...filter, state: filter.state ?? 'failed', untilUs: filter.untilUs ?? nowUs() }
      const next = (fromId: number) =>
        afterCancellation(async () =>
          store.queue.deliveryRetryMatching({ filter: wanted, fromId, nowSteadyUs: await nowSteadyUs(), limit: STEP }),
        )
      let queued = 0
      for (let step = await next(0); ; step = await next(step.nextId)) {
        queued += step.queued
        if (step.queued > 0) onDue([])
        if (step.nextId === null) return queued
      }
    },
  }
}

const unknown = () => new Fault('not_found', 'There is no delivery with this id.')

/** @throws Fault 404 for a text that cannot be an id. */
function idOf(ids: OpaqueIds, text: string): number {
  const id = readDeliveryId(ids, text)
  if (id === undefined) throw unknown()
  return id
}

/** The account in the operator's cursors. */
const ALL_ACCOUNTS = 0

const cursorOf = (ids: OpaqueIds, accountId: AccountScope, id: number): string =>
  ids.write('deliveryCursor', { accountId: accountId ?? ALL_ACCOUNTS, id })

/** Returns the position of a cursor. @throws Fault 422 for a text that is no cursor of this account. */
function readPosition(ids: OpaqueIds, accountId: AccountScope, cursor: string): number {
  const found = ids.read('deliveryCursor', cursor)
  if (found !== undefined && found.accountId === (accountId ?? ALL_ACCOUNTS)) return found.id
  // A cursor of an earlier version.
  const [id] = found === undefined ? readCursor(cursor, ['number']).map(Number) : []
  if (id === undefined || !ids.wasPlain(eventIdOf(id))) throw notOfThisList()
  return id
}

/** Returns a delivery as clients get it. `subject`: what its event is about, as a sentence. */
export function deliveryOf(ids: OpaqueIds, row: DeliveryRow, subject: string): Delivery {
  const { state } = row
  const timeOf = (atUs: number | null) => (atUs === null ? null : rfc3339(atUs))
  return {
    id: deliveryIdText(ids, row),
    event_id: row.uuid,
    event: row.event,
    call_id: callIdOf({ name: row.event, callId: row.callId }),
    subject,
    url: row.url,
    state,
    attempts_made: row.attemptsMade,
    next_attempt_at: state === 'pending' ? rfc3339(row.dueUs ?? row.createdUs) : null,
    created_at: rfc3339(row.createdUs),
    delivered_at: state === 'delivered' ? timeOf(row.endedUs) : null,
  }
}

function attemptOf({ atUs, status, durationMs, error, address, response, step }: AttemptRow): LoggedAttempt {
  const attempt = { at: rfc3339(atUs), status, duration_ms: durationMs, error, address, response }
  if (step === undefined) return attempt
  const { name, method, url, kept } = step
  return { ...attempt, step: name, method, url, kept: [...kept] }
}

/** Returns the body rendered by the present options of the webhook, if they change it. */
async function renderedOf(
  { store, templates }: Pick<Dependencies, 'store' | 'templates'>,
  { accountId, url, body }: DeliveryRow & { body: string },
): Promise<{ rendered?: string | null }> {
  const option = (await store.webhooks.webhookGetByUrl(accountId, url))?.options?.body ?? null
  if (option === null || body.startsWith(ERASED_START)) return {}
  const render = createBodyRenderer(option, { templates, accountId, purpose: 'reading' })
  const rendered = await render(body)
  return { rendered: 'problem' in rendered ? null : rendered.text }
}
