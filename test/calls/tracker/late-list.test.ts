import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CallEvent } from '../../../src/events/bodies.ts'
import { CONTINUES } from '../../help/continues.ts'
import { type Cut, inRecording, playCut, randomCut } from '../../help/cut.ts'
import { cutDifferences } from '../../help/cut-compare.ts'
import { tapeOf } from '../../help/dropped.ts'
import { createRandom } from '../../help/random.ts'
import { FIXTURES } from '../../help/recording.ts'
import { seedsOf } from '../../help/seed.ts'

// Each recording loses its connection as in cut.test.ts, and the first list after that is answered half a second later:
// the events that come before it are read after it. Calls are told as with a list that is answered at once.

const SEEDS = seedsOf(20_261_129, 4)
const ANSWER_US = 500_000

const nameOf = (file: string): string => file.replace(/\.\w+$/, '')

/** A recording that goes on in the middle of calls has no truth about their beginnings. */
const hasBeginning = (name: string): boolean =>
  !Object.values(CONTINUES).includes(name) && !/^(gap-(found|picked)|unseen-|t2-)/.test(name)

/** What a lost connection is known to change anyway: which field, by recording. */
const KNOWN: Readonly<Record<string, readonly string[]>> = JSON.parse(
  readFileSync(join(FIXTURES, 'known-cuts.json'), 'utf8'),
)
/** What no event shows: whom a leg rang before, if it goes elsewhere, and two bridges of one leg at the same time. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'freeswitch/loop-group-race',
  'freeswitch/fwd-302-in-group',
  'freeswitch/g-campon',
  'freeswitch/att-three-way',
])
/** Asterisk's events do not show what a call has dialled, and which group: of one that has ended, the list does not. */
const OF_LIST: readonly string[] = ['to', 'did', 'answered_by', 'parent', 'stage lost', 'stage extra']

const RECORDINGS = (['asterisk', 'freeswitch'] as const).flatMap((pbx) =>
  readdirSync(join(FIXTURES, pbx))
    .filter((file) => /\.(?:ami|esl)$/.test(file) && hasBeginning(nameOf(file)))
    .filter((file) => !LEFT_OUT.has(`${pbx}/${nameOf(file)}`))
    .toSorted()
    .map((file) => `${pbx}/${file}`),
)

/** Returns the fields that are not known of a call that ends before the list. */
const lostFields = (file: string, whole: readonly CallEvent[], { untilUs }: Cut): readonly string[] => {
  const isMeanwhile = (us: number): boolean => us >= untilUs && us <= untilUs + ANSWER_US
  const ends = whole.filter(({ name, body }) => name === 'call_ended' && isMeanwhile(inRecording(body.time) ?? 0))
  return file.startsWith('asterisk/') && ends.length > 0 ? OF_LIST : []
}

const fieldOf = (difference: string): string => difference.split(':')[0] ?? ''

test.each(RECORDINGS)('%s: a list that is answered late tells the same', (file) => {
  const tape = tapeOf(join(FIXTURES, file))
  const whole = playCut(tape)
  const differences = (gap: Cut): string[] => cutDifferences(whole, playCut(tape, gap), gap)
  const onlyLate = SEEDS.flatMap((seed) => {
    const gap = randomCut(createRandom(seed ^ Bun.hash.crc32(nameOf(file.slice(file.indexOf('/') + 1)))), tape)
    const lost = lostFields(file, whole, gap)
    const known = new Set([...(KNOWN[file] ?? []), ...differences(gap).map(fieldOf), ...lost])
    return differences({ ...gap, answerUs: ANSWER_US })
      .filter((one) => !known.has(fieldOf(one)))
      .map((one) => `TEST_SEED=${seed} ${gap.fromUs / 1e6} to ${gap.untilUs / 1e6} s: ${one}`)
  })
  expect(onlyLate).toEqual([])
})
