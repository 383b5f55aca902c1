import { test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { CONTINUES } from '../../help/continues.ts'
import { callsOf, expectSameCalls, type Line } from '../../help/other-orders.ts'
import { createRandom, type Random } from '../../help/random.ts'
import { FIXTURES } from '../../help/recording.ts'
import type { TimedFrame } from '../../help/reorder.ts'
import { eventsOf, framesOf, reorderedFrames } from '../../help/reordered-freeswitch.ts'
import { playCase, seedsOf } from '../../help/seed.ts'

const SEEDS = seedsOf(20_261_122, 20)

const second = new Set(Object.values(CONTINUES))
const names = readdirSync(join(FIXTURES, 'freeswitch'))
  .filter((file) => file.endsWith('.expected'))
  .map((file) => file.replace('.expected', ''))
  .filter((name) => CONTINUES[name] === undefined && !second.has(name))

/** Plays a recording in another order and compares its events with the original's. */
const expectSame = (frames: readonly TimedFrame[], original: readonly Line[][], random: Random): void =>
  expectSameCalls(eventsOf(reorderedFrames(frames, random)), original)

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
