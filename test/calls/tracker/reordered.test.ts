import { test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { CallEvent } from '../../../src/calls/event.ts'
import { EslDecoder, type EslFrame } from '../../../src/pbx/esl/decoder.ts'
import { createEslTranslator } from '../../../src/pbx/esl/translator/translator.ts'
import { CONTINUES } from '../../help/continues.ts'
import { callsOf, expectSameCalls, type Line } from '../../help/other-orders.ts'
import { player } from '../../help/play.ts'
import { createRandom, type Random } from '../../help/random.ts'
import { FIXTURES, readRecording } from '../../help/recording.ts'
import { reorder, type TimedFrame } from '../../help/reorder.ts'
import { playCase, seedsOf } from '../../help/seed.ts'

// FreeSWITCH sends the events of each leg from its own thread: on a busy machine they overtake other legs' events.

const SEEDS = seedsOf(20_261_122, 20)

const START_US = 1_795_213_000_000_000
const MILLISECOND = 1_000
const SECOND = 1_000_000
/** The longest time by which events of different legs overtake each other. */
const MAX_DELAY_US = 100 * MILLISECOND

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

const second = new Set(Object.values(CONTINUES))
const names = readdirSync(join(FIXTURES, 'freeswitch'))
  .filter((file) => file.endsWith('.expected'))
  .map((file) => file.replace('.expected', ''))
  .filter((name) => CONTINUES[name] === undefined && !second.has(name))

/** Plays a recording in another order and compares its events with the original's. */
const expectSame = (frames: readonly TimedFrame[], original: readonly Line[][], random: Random): void =>
  expectSameCalls(eventsOf(reorder(frames, random, MAX_DELAY_US)), original)

test.each(names)(`%s gives the same in ${SEEDS.length} other orders`, (name) => {
  const frames = framesOf(name)
  const original = callsOf(eventsOf(frames))
  for (const seed of SEEDS) playCase(seed, (random) => expectSame(frames, original, random))
})

test.each([
  ['the member of a second queue is made before its caller is known to be in it', 'queue-to-queue', 535_203_447],
  ['the update of a leg that is handed over overtakes its bridge', 'att-older-consult', 3_189_639_208],
])('%s (%s)', (_, name, seed) => {
  const frames = framesOf(name)
  expectSame(frames, callsOf(eventsOf(frames)), createRandom(seed))
})
