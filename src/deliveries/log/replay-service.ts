import { compileFilter, type EventFacts } from '../../events/filter.ts'
import { type EventKind, isOfState, SWITCH_NAMES } from '../../events/kinds.ts'
import { INVALID } from '../../http/validation.ts'
import { Fault, type FieldError } from '../../lib/fault.ts'
import { nextTurn } from '../../lib/slices.ts'
import { type NowUs, parseTime } from '../../lib/time.ts'
import type { ReplayedEvent, ReplayQuery } from '../../store/operations/replays.ts'
import type { Store } from '../../store/store.ts'
import type { NewReplay } from './model.ts'

export type ReplayService = ReturnType<typeof createReplayService>

type Dependencies = {
  readonly store: { readonly [group in 'replays' | 'webhooks']: Store[group] }
  readonly wantedOf: WantedOf
  readonly nowUs: NowUs
  /** Called after a replay was added. */
  readonly onAdded?: () => void
}

const MAX_REPLAYED = 1_000_000
/** The events after which a call is over: a card of a past call would be shown to somebody. */
const KINDS_OF_THE_END: readonly string[] = ['call_missed', 'call_ended', 'call_saved', 'recording_saved']

/** Creates the service that sends past events to a webhook. */
export function createReplayService({ store, wantedOf, nowUs, onAdded = () => {} }: Dependencies) {
  /** Returns the kinds that the webhook asks for; for a preset, the kinds of the end of a call. */
  async function kindsOf(accountId: number, url: string): Promise<readonly string[]> {
    const entry = (await store.webhooks.listGet(accountId)).find((one) => one.url === url)
    const options = (await store.webhooks.optionsList(accountId)).find((one) => one.url === url)?.options
    const asked = [...SWITCH_NAMES.filter((name) => entry?.[name] === true), ...(options?.events ?? [])]
    const ofEnd = asked.filter((name) => KINDS_OF_THE_END.includes(name))
    return typeof options?.flow?.preset === 'string' && ofEnd.length > 0 ? ofEnd : asked
  }

  /** Counts the events that are to be sent, in steps. */
  async function count(query: ReplayQuery, { firstId, endId }: { firstId: number; endId: number }): Promise<number> {
    let found = 0
    for (let afterId = firstId - 1; ; ) {
      const part = await store.replays.replayRead({ ...query, afterId, endId })
      const unsent = part.events.filter(({ pendingId }) => pendingId === null)
      found += (await wantedOf(query.webhookId, unsent)).length
      if (part.isEnd) return found
      afterId = part.lastId
      await nextTurn()
    }
  }

  return {
    /**
     * Queues the past events of a time for a webhook. Returns how many.
     * @throws Fault 422 when the URL is not in the list, the time is wrong or has more than 1,000,000 of them; 409
     * while an earlier replay goes on.
     */
    async add(accountId: number, { url, since, until, events, again = false }: NewReplay): Promise<number> {
      const sinceUs = parseTime(since) ?? 0
      const untilUs = until === undefined ? nowUs() : (parseTime(until) ?? 0)
      if (sinceUs >= untilUs)
        throw invalid([
          { path: '/since', message: until === undefined ? 'is in the future' : 'must be earlier than until' },
        ])
      const webhook = await store.webhooks.webhookGetByUrl(accountId, url)
      if (webhook === undefined || !webhook.listed) throw invalid([{ path: '/url', message: 'is not in the list' }])
      const kinds = [...(events ?? (await kindsOf(accountId, url)))]
        .flatMap(kindsOfSwitch)
        .filter((one) => !isOfState(one))
      const query = { accountId, webhookId: webhook.id, sinceUs, untilUs, kinds, again, createdUs: nowUs() }
      const bounds = await store.replays.replayGetBounds(query)
      if ((await store.replays.replayList()).some(({ webhookId }) => webhookId === webhook.id)) throw underWay()
      const queued = await count(query, bounds)
      if (queued > MAX_REPLAYED)
        throw invalid([
          {
            path: '/since',
            message: `has ${queued} events: at most ${MAX_REPLAYED} are sent at a time, so choose a later one`,
          },
        ])
      if (queued === 0) return 0
      const { firstId, endId } = bounds
      if (!(await store.replays.replayAdd({ ...query, nextEventId: firstId, endEventId: endId }))) throw underWay()
      onAdded()
      return queued
    },
  }
}

/** The two kinds of transfer have one switch. */
const kindsOfSwitch = (name: string): EventKind[] =>
  name === 'call_transferred' ? ['call_blind_transferred', 'call_attended_transferred'] : [name as EventKind]

const invalid = (errors: readonly FieldError[]): Fault => new Fault('invalid', INVALID, { errors })
const underWay = () =>
  new Fault('conflict', 'Past events are being sent to this webhook: wait until all of them have been delivered.')

/** An event with the facts that a filter compares. */
type FilterParts = {
  readonly webhooks: Pick<Store['webhooks'], 'webhookGetMany'>
  /** Returns the facts of a stored event, `undefined` if it was deleted. */
  readonly factsOf: (accountId: number, event: ReplayedEvent) => Promise<EventFacts | undefined>
}

/** Returns the events that the filter of a webhook, as it is now, lets through. */
type WantedOf = (webhookId: number, events: readonly ReplayedEvent[]) => Promise<readonly ReplayedEvent[]>

/** Makes the function that filters past events. */
export function createReplayFilter({ webhooks, factsOf }: FilterParts): WantedOf {
  return async (webhookId, events) => {
    const [webhook] = events.length === 0 ? [] : await webhooks.webhookGetMany([webhookId])
    const filter = webhook?.options?.filter ?? null
    if (webhook === undefined || filter === null) return webhook === undefined ? [] : events
    const matches = compileFilter(filter)
    const wanted: ReplayedEvent[] = []
    for (const event of events) {
      const facts = await factsOf(webhook.accountId, event)
      if (facts !== undefined && matches(facts)) wanted.push(event)
    }
    return wanted
  }
}
