import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { playCut } from '../../help/cut.ts'
import { tapeOf } from '../../help/dropped.ts'
import { wordsOf } from '../../help/emitted-words.ts'
import { createRandom } from '../../help/random.ts'
import { FIXTURES } from '../../help/recording.ts'
import { seedsOf } from '../../help/seed.ts'

// A list that comes while the connection stands adds nothing: the events have told all of it. A service asks for one
// 2 s after each connection, and for calls that have been silent for long.

const SEEDS = seedsOf(20_261_129, 4)
/** Their caller is in no event that can be trusted: a list shows more. */
const UNSEEN = /^unseen-caller/
const RECORDINGS = (['asterisk', 'freeswitch'] as const).flatMap((pbx) =>
  readdirSync(join(FIXTURES, pbx))
    .filter((file) => /\.(?:ami|esl)$/.test(file) && !UNSEEN.test(file))
    .toSorted()
    .map((file) => `${pbx}/${file}`),
)

test.each(RECORDINGS)('%s: a list between two events changes nothing that is emitted', (name) => {
  const tape = tapeOf(join(FIXTURES, name))
  const whole = wordsOf(playCut(tape)).join('\n')
  for (const seed of SEEDS) {
    const step = createRandom(seed ^ Bun.hash.crc32(name)).int(Math.max(1, tape.steps))
    const words = wordsOf(playCut(tape, undefined, step)).join('\n')
    expect(words, `TEST_SEED=${seed}, a list before event ${step}`).toBe(whole)
  }
})

test('a list that lags behind shows no leg of FreeSWITCH that has ended', () => {
  const tape = tapeOf(join(FIXTURES, 'freeswitch/inbound-answered.esl'))
  const atUs = (step: number): number => 1_795_213_000_000_000 + tape.atUs(step)
  const [middle, last] = [Math.floor(tape.steps / 2), tape.steps - 1]
  const listedAfter = (steps: number): number => {
    const connection = tape.connect()
    for (let step = 0; step < steps; step += 1) connection.signals(step, atUs(step))
    const [list] = connection.snapshot(middle, atUs(last) + 1_000_000)
    return list?.kind === 'snapshot' ? list.channels.length : -1
  }
  expect([listedAfter(middle), listedAfter(tape.steps)]).toEqual([2, 0])
})
