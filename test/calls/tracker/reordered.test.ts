import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { CallEvent } from '../../../src/calls/event.ts'
import { EslDecoder, type EslFrame } from '../../../src/pbx/esl/decoder.ts'
import { createEslTranslator } from '../../../src/pbx/esl/translator/translator.ts'
import { CONTINUES } from '../../help/continues.ts'
import { lineOf } from '../../help/expected.ts'
import { createLedger } from '../../help/ledger.ts'
import { player } from '../../help/play.ts'
import { createRandom, type Random } from '../../help/random.ts'
import { FIXTURES, readRecording } from '../../help/recording.ts'
import { reorder, type TimedFrame } from '../../help/reorder.ts'
import { playCase, seedsOf } from '../../help/seed.ts'

// FreeSWITCH sends the events of each leg from a thread of its own: on a busy machine they overtake those of other legs.

const SEEDS = seedsOf(20_261_122, 20)

const START_US = 1_795_213_000_000_000
const MILLISECOND = 1_000
const SECOND = 1_000_000
/** By how much events of different legs may overtake each other. */
const MAX_DELAY_US = 100 * MILLISECOND
/** Events of a call that are further apart than delays and settling can move them keep their order. */
const APART_MS = 400

function framesOf(name: string): TimedFrame[] {
  const decoder = new EslDecoder()
  return readRecording(`freeswitch/${name}`).flatMap(({ bytes, atMs }) =>
    decoder.push(bytes).map((frame) => ({ frame, atUs: START_US + Math.round(atMs * MILLISECOND) })),
  )
}

function eventsOf(frames: readonly TimedFrame[]): CallEvent[] {
  const played = player()
  const signals = createEslTranslator({ trunks: [], extensions: [], variables: [] })
  played.play([{ kind: 'connected', first: true, boot: null, atUs: START_US, arrivedUs: START_US }])
  let lists: EslFrame[] = []
  for (const { frame, atUs } of frames) {
    if (frame.contentType !== 'api/response') {
      played.play(signals.event(frame, atUs))
      continue
    }
    lists.push(frame)
    if (lists.length < 2) continue
    played.play(signals.snapshot(lists, atUs))
    lists = []
  }
  const endUs = (frames.at(-1)?.atUs ?? START_US) + 5 * SECOND
  const late = signals.release?.(endUs) ?? []
  played.play(late.map((signal) => ({ ...signal, arrivedUs: Math.max(signal.arrivedUs, played.state.nowUs) })))
  played.rest(20 * SECOND)
  return played.events
}

/** An event of a call: its line, which of the same lines of the call it is, and when it happened. */
type Line = { readonly text: string; readonly atMs: number }

function callsOf(events: readonly CallEvent[]): Line[][] {
  return [...Map.groupBy(events, ({ callId }) => callId).values()].map((own) => {
    const counts = new Map<string, number>()
    return own.map(({ body }) => {
      // Who is rung together with others is rung in any order.
      const line = body.data.name === 'call_missed' ? lineOf(body).split(' ').toSorted().join(' ') : lineOf(body)
      const count = (counts.get(line) ?? 0) + 1
      counts.set(line, count)
      return { text: count === 1 ? line : `${line} (${count})`, atMs: Date.parse(body.time) }
    })
  })
}

const linesOf = (call: readonly Line[]): string =>
  call
    .map(({ text }) => text)
    .toSorted()
    .join('\n')

/** Returns what comes before what although it happened well after it, or although a transfer explains it. */
function disorderOf(call: readonly Line[], original: readonly Line[]): string[] {
  const before = new Map(original.map((line, place) => [line.text, { place, atMs: line.atMs }]))
  return call.flatMap(({ text }, place) =>
    call.slice(place + 1).flatMap((later) => {
      const [one, other] = [before.get(text), before.get(later.text)]
      if (one === undefined || other === undefined || one.place < other.place) return []
      const isApart = one.atMs > other.atMs + APART_MS
      return isApart || later.text.includes('_transferred') ? [`${text} comes before ${later.text}`] : []
    }),
  )
}

const second = new Set(Object.values(CONTINUES))
const names = readdirSync(join(FIXTURES, 'freeswitch'))
  .filter((file) => file.endsWith('.expected'))
  .map((file) => file.replace('.expected', ''))
  .filter((name) => CONTINUES[name] === undefined && !second.has(name))

/** Plays a recording in another order and holds what comes of it against what came of its own. */
function expectSame(frames: readonly TimedFrame[], original: readonly Line[][], random: Random): void {
  const events = eventsOf(reorder(frames, random, MAX_DELAY_US))
  const ledger = createLedger()
  ledger.take(events)
  ledger.finish()
  const calls = inOrder(callsOf(events))
  expect(calls.map(linesOf).join('\n\n')).toBe(original.map(linesOf).join('\n\n'))
  expect(calls.flatMap((call, place) => disorderOf(call, original[place] ?? []))).toEqual([])
}

const inOrder = (calls: readonly Line[][]): Line[][] => calls.toSorted((a, b) => linesOf(a).localeCompare(linesOf(b)))

test.each(names)(`%s gives the same in ${SEEDS.length} other orders`, (name) => {
  const frames = framesOf(name)
  const original = inOrder(callsOf(eventsOf(frames)))
  for (const seed of SEEDS) playCase(seed, (random) => expectSame(frames, original, random))
})

test.each([
  ['the member of a second queue is made before its caller is known to be in it', 'queue-to-queue', 535_203_447],
  ['the update of a leg that is handed over overtakes its bridge', 'att-older-consult', 3_189_639_208],
])('%s (%s)', (_, name, seed) => {
  const frames = framesOf(name)
  expectSame(frames, inOrder(callsOf(eventsOf(frames))), createRandom(seed))
})
