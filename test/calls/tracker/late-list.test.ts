import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CONTINUES } from '../../help/continues.ts'
import { type Cut, playCut, randomCut } from '../../help/cut.ts'
import { cutDifferences } from '../../help/cut-compare.ts'
import { tapeOf } from '../../help/dropped.ts'
import { createRandom } from '../../help/random.ts'
import { FIXTURES } from '../../help/recording.ts'
import { seedsOf } from '../../help/seed.ts'

// Each recording loses its connection as in cut.test.ts, and the first list after that is answered half a second later:
// the events that come before it are read after it. Calls are told as with a list that is answered at once.

const SEEDS = seedsOf(20_261_129, 4)
const ANSWER_US = 500_000

/** A recording that goes on in the middle of calls has no truth about their beginnings. */
const hasBeginning = (name: string): boolean =>
  !Object.values(CONTINUES).includes(name) && !/^gap-(found|picked)/.test(name)

/** What a lost connection is known to change anyway: which field, by recording. */
const KNOWN: Readonly<Record<string, readonly string[]>> = JSON.parse(
  readFileSync(join(FIXTURES, 'known-cuts.json'), 'utf8'),
)
/** What no event shows: whom a leg rang before, if it goes elsewhere, and two bridges of one leg at the same time. */
const LEFT_OUT: ReadonlySet<string> = new Set(['loop-group-race', 'fwd-302-in-group', 'g-campon', 'att-three-way'])

const RECORDINGS = readdirSync(join(FIXTURES, 'freeswitch'))
  .flatMap((file) => (file.endsWith('.esl') ? [file.slice(0, -'.esl'.length)] : []))
  .filter((name) => hasBeginning(name) && !LEFT_OUT.has(name))
  .toSorted()

const fieldOf = (difference: string): string => difference.split(':')[0] ?? ''

test.each(RECORDINGS)('%s: a list that is answered late tells the same', (name) => {
  const tape = tapeOf(join(FIXTURES, 'freeswitch', `${name}.esl`))
  const whole = playCut(tape)
  const differences = (gap: Cut): string[] => cutDifferences(whole, playCut(tape, gap), gap)
  const onlyLate = SEEDS.flatMap((seed) => {
    const gap = randomCut(createRandom(seed ^ Bun.hash.crc32(name)), tape)
    const known = new Set([...(KNOWN[`freeswitch/${name}.esl`] ?? []), ...differences(gap).map(fieldOf)])
    return differences({ ...gap, answerUs: ANSWER_US })
      .filter((one) => !known.has(fieldOf(one)))
      .map((one) => `TEST_SEED=${seed} ${gap.fromUs / 1e6} to ${gap.untilUs / 1e6} s: ${one}`)
  })
  expect(onlyLate).toEqual([])
})
