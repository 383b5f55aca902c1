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
/** Where a list still changes the first second of a FreeSWITCH leg. Whoever mends it removes the entry. */
const KNOWN: ReadonlySet<string> = new Set([
  'click-to-call-queue.esl',
  'g-offline-mobile.esl',
  'gap-delayed-member-2.esl',
  'gap-list-is-late-2.esl',
  'gap-queue-member-missing-2.esl',
  'gap-two-queues-2.esl',
  'lf-fusion-forward-all-outside.esl',
  'lf-fusion-intercom.esl',
  'page-by-conference.esl',
  'w-unreach-internal-mobile.esl',
])
const RECORDINGS = (['asterisk', 'freeswitch'] as const).flatMap((pbx) =>
  readdirSync(join(FIXTURES, pbx))
    .filter((file) => /\.(?:ami|esl)$/.test(file) && !KNOWN.has(file))
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
