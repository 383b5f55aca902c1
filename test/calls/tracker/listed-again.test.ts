import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { tapeOf } from '../../help/dropped.ts'
import { wordsOf } from '../../help/emitted-words.ts'
import { listedAgain } from '../../help/listed-again.ts'
import { createRandom } from '../../help/random.ts'
import { FIXTURES } from '../../help/recording.ts'
import { seedsOf } from '../../help/seed.ts'

// A list that comes while the connection stands adds nothing: the events have told all of it. A service asks for one
// 2 s after each connection, and for calls that have been silent for long.

const SEEDS = seedsOf(20_261_129, 4)
const RECORDINGS = readdirSync(join(FIXTURES, 'asterisk'))
  .filter((file) => file.endsWith('.ami'))
  .toSorted()

test.each(RECORDINGS)('%s: a list between two events changes nothing that is emitted', (file) => {
  const tape = tapeOf(join(FIXTURES, 'asterisk', file))
  const whole = wordsOf(listedAgain(tape)).join('\n')
  for (const seed of SEEDS) {
    const step = createRandom(seed ^ Bun.hash.crc32(file)).int(Math.max(1, tape.steps))
    const words = wordsOf(listedAgain(tape, step)).join('\n')
    expect(words, `TEST_SEED=${seed}, a list before event ${step}`).toBe(whole)
  }
})
