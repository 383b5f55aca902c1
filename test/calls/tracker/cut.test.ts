import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { playCut, randomCut } from '../../help/cut.ts'
import { cutDifferences } from '../../help/cut-compare.ts'
import { tapeOf } from '../../help/dropped.ts'
import { createRandom } from '../../help/random.ts'
import { FIXTURES } from '../../help/recording.ts'
import { seedsOf } from '../../help/seed.ts'

// Each recording loses its connection for 1 to 4 s at random moments, and finds its calls in the PBX's list: the record
// of a call is the one without the loss, but for what nobody saw.

const SEEDS = seedsOf(20_261_128, 3)
const RECORDINGS = (['asterisk', 'freeswitch'] as const).flatMap((pbx) =>
  readdirSync(join(FIXTURES, pbx))
    .filter((file) => /\.(?:ami|esl)$/.test(file))
    .toSorted()
    .map((file) => `${pbx}/${file}`),
)

/** What a lost connection is known to change: which field, by recording. Whoever mends it removes the entry. */
const KNOWN: Readonly<Record<string, readonly string[]>> = JSON.parse(
  readFileSync(join(FIXTURES, 'known-cuts.json'), 'utf8'),
)

const fieldOf = (difference: string): string => difference.split(':')[0] ?? ''

/** Returns the differences of a recording with random losses that are not known. */
function unknownDifferences(name: string): string[] {
  const tape = tapeOf(join(FIXTURES, name))
  const whole = playCut(tape)
  return SEEDS.flatMap((seed) => {
    const gap = randomCut(createRandom(seed ^ Bun.hash.crc32(name)), tape)
    const known = KNOWN[name] ?? []
    return cutDifferences(whole, playCut(tape, gap), gap)
      .filter((one) => !known.includes(fieldOf(one)))
      .map((one) => `TEST_SEED=${seed} ${gap.fromUs / 1e6} to ${gap.untilUs / 1e6} s: ${one}`)
  })
}

test.each(RECORDINGS)('%s: the record is the same after a lost connection, but for what nobody saw', (name) => {
  expect(unknownDifferences(name)).toEqual([])
})

test('the comparison finds a call of its own, a lost stage and another parent', () => {
  const tape = tapeOf(join(FIXTURES, 'asterisk/h-ring-group.ami'))
  const whole = playCut(tape)
  const gap = { fromUs: 0, untilUs: 0 }
  const edited = structuredClone(whole).map((event) => {
    const { data } = event.body
    if (data.name === 'call_saved') for (const stage of data.stages) stage.parent_id = null
    return event
  })
  expect(cutDifferences(whole, whole, gap)).toEqual([])
  expect(cutDifferences(whole, [], gap).map(fieldOf)).toEqual(['lost call', 'not emitted'])
  expect(new Set(cutDifferences(whole, edited, gap).map(fieldOf))).toEqual(new Set(['parent']))
})
