import { expect, test } from 'bun:test'
import type { Signal } from '../../../src/calls/signal.ts'
import type { CallEvent } from '../../../src/events/bodies.ts'
import { isOnlyOnRequest } from '../../../src/events/kinds.ts'
import { lineOf } from '../../help/expected.ts'
import { contradiction, createLedger, leftover } from '../../help/ledger.ts'
import { type LiveCalls, player, saveChanges } from '../../help/play.ts'
import { createRandom, type Random } from '../../help/random.ts'
import { createUp } from '../../help/scenario-pbx.ts'
import { scenario } from '../../help/scenarios.ts'
import { isOneCase, playCase, seedsOf } from '../../help/seed.ts'

// The events of random scenarios are exactly what happened in them, line by line for each call, and keep the promises
// of the guide.

const SEEDS = seedsOf(20_261_121, 1_000)

/** What the tracker is known to get wrong when a part of a call was not seen. */
const UNSEEN = [
  'a stage stays in its group',
  'durations of a call',
  'stages are within their call',
  'calls that were merged',
]

const START_US = 1_795_213_000_000_000
const SECOND = 1_000_000

/** Feeds signals to a tracker that is stored and read back now and then. */
type Gap = { readonly fromUs: number; readonly untilUs: number }

function eventsOf(signals: readonly Signal[], random: Random, gap?: Gap): CallEvent[] {
  const ledger = createLedger(UNSEEN)
  const up = createUp()
  const store: LiveCalls = new Map()
  const played = player({
    onTracked({ events }, signal, state) {
      if (isOneCase && signal.kind !== 'tick') trace(signal, events)
      ledger.take(events)
      const wrong = contradiction(state)
      if (wrong !== undefined) throw new Error(wrong)
      saveChanges(state, store)
    },
  })
  const { feed, tickUntil: wait } = played
  /** Restarts the process, if every live call is stored: a call is stored with its first event. */
  const restart = (): void => {
    const { calls, pendingLinks } = played.state
    if (store.size === calls.size && pendingLinks.length === 0) played.restart(store)
  }
  feed({ kind: 'connected', first: true, boot: null, atUs: START_US, arrivedUs: START_US })
  const list = (atUs: number): void =>
    feed({ kind: 'snapshot', channels: [...up.rows.values()], atUs, arrivedUs: atUs })
  let lists = gap === undefined ? [] : [gap.untilUs, gap.untilUs + 2 * SECOND, gap.untilUs + 7 * SECOND]
  const catchUp = (untilUs: number): void => {
    for (const atUs of lists.filter((one) => one <= untilUs)) {
      wait(atUs)
      if (atUs === gap?.untilUs) feed({ kind: 'connected', first: false, boot: null, atUs, arrivedUs: atUs })
      list(atUs)
    }
    lists = lists.filter((one) => one > untilUs)
  }
  for (const signal of signals) {
    catchUp(signal.arrivedUs)
    if (gap !== undefined && signal.arrivedUs >= gap.fromUs && signal.arrivedUs < gap.untilUs) {
      up.follow(signal)
      continue
    }
    wait(signal.arrivedUs)
    if (gap === undefined && random.chance(0.02)) restart()
    feed(signal)
    up.follow(signal)
    // An unnecessary list does no harm.
    if (gap === undefined && random.chance(0.01)) list(signal.arrivedUs)
  }
  catchUp(Number.POSITIVE_INFINITY)
  played.rest(30 * SECOND)
  ledger.finish()
  const left = leftover(played.state)
  if (left !== undefined) throw new Error(`nothing is up, and there is still: ${left}`)
  return played.events
}

function trace(signal: Signal, events: readonly CallEvent[]): void {
  const { atUs, arrivedUs: _, ...what } = signal
  console.log(((atUs - START_US) / SECOND).toFixed(3), JSON.stringify(what))
  for (const { callId, body } of events) console.log('      ', callId, lineOf(body))
}

const blocksOf = (events: readonly CallEvent[]): string[] => {
  const calls = Map.groupBy(
    events.filter(({ name }) => !isOnlyOnRequest(name)),
    ({ callId }) => callId,
  )
  return [...calls.values()].map((own) =>
    own
      .map(({ body }) => lineOf(body))
      .toSorted()
      .join('\n'),
  )
}

/** Plays some scenarios at the same time, and compares their events with what happened. */
function playScenarios(random: Random): void {
  const scenarios = Array.from({ length: 1 + random.int(3) }, (_, place) =>
    scenario(random, place, START_US + random.int(5) * SECOND),
  )
  const signals = scenarios.flatMap((one) => one.signals).toSorted((a, b) => a.arrivedUs - b.arrivedUs)
  const truth = scenarios.flatMap((one) => one.truth).toSorted()
  const got = blocksOf(eventsOf(signals, random)).toSorted()
  if (got.join('\n\n') !== truth.join('\n\n')) expect(got.join('\n\n')).toBe(truth.join('\n\n'))
}

test(`${SEEDS.length} made-up scenarios give the events of what happened`, () => {
  for (const seed of SEEDS) playCase(seed, playScenarios)
}, 3_600_000)

/**
 * Plays a scenario and hides a part of it. Returns the owners of its calls if none of them is in the last conversation.
 */
function wrongOwners(random: Random): string[] {
  const { signals, last } = scenario(random, 0, START_US)
  const endUs = signals.at(-1)?.arrivedUs ?? START_US
  const fromUs = START_US + random.int(Math.max(1, endUs - START_US))
  const gap = { fromUs, untilUs: fromUs + random.pick([0, 0.01, 1, 4]) * SECOND }
  const owners = ownersOf(eventsOf(signals, random, gap))
  if (last === undefined || gap.untilUs > last.fromUs + SECOND) return []
  const { handlers } = last
  if (handlers.length === 0 || handlers.some((one) => owners.includes(one))) return []
  return [`${owners} own, not ${handlers}`]
}

test(`${SEEDS.length} made-up scenarios with a gap keep the promises, and who is in the last conversation owns the call`, () => {
  for (const seed of SEEDS) playCase(seed, (random) => expect(wrongOwners(random)).toEqual([]))
}, 3_600_000)

test.each([
  ['whom a party that left unseen had asked comes back to the first party after a consultation', 1_532_435_510],
  ['whom a party that left unseen had asked comes back to the first party, through several halves', 1_628_109_694],
  ['whom a party that left unseen had asked comes back in a click-to-call', 3_937_674_067],
  ['two parties that talked with each other left unseen, and the rest before the next list', 431_024_242],
  ['the party that an agent calls by click-to-call is rung unseen, and makes the call outbound', 20_261_244],
])('a gap: %s', (_, seed) => expect(wrongOwners(createRandom(seed))).toEqual([]))

/** Who owned the calls at their ends. */
function ownersOf(events: readonly CallEvent[]): string[] {
  const ends = events.filter(({ name, body }) => name === 'call_ended' && body.data.call.merged_into === null)
  return ends.flatMap(({ body }) => body.data.call.handled_by.at(-1)?.extension ?? [])
}
