import { createRandom, type Random } from './random.ts'

// The seed of every property test. `TEST_SEED` sets another one; `TEST_SCALE` multiplies the usual number of cases, and
// `TEST_SCALE=0` plays only the seed's own case, printed in full where a test can, so that a failure can be repeated.
// The fast lane plays a tenth of the cases.

const GIVEN = process.env.TEST_SEED
const SCALE = Number(process.env.TEST_SCALE ?? (process.env.HOOKSWITCH_TEST_LANE === 'fast' ? 0.1 : 1))
const LARGEST = 2 ** 32

if (GIVEN !== undefined && !/^\d+$/.test(GIVEN)) throw new Error(`TEST_SEED=${GIVEN} is not a whole number`)
if (!(SCALE >= 0)) throw new Error(`TEST_SCALE=${process.env.TEST_SCALE} is not a number from 0 on`)
if (GIVEN !== undefined) console.log(`TEST_SEED=${GIVEN} TEST_SCALE=${SCALE}`)

/** Whether one case is played, as after a failure. */
export const isOneCase = SCALE === 0

/** Returns `TEST_SEED`, or the usual seed of a test. */
export const seedOf = (usual: number): number => (GIVEN === undefined ? usual : Number(GIVEN) % LARGEST)

/** Returns the random numbers of a test that is one case. */
export const seededRandom = (usual: number): Random => createRandom(seedOf(usual))

/** Returns how many cases a test plays, at least one. */
export const scaled = (usual: number): number => Math.max(1, Math.round(usual * SCALE))

/** Returns a seed for each case of a test, beginning with the seed of the test. */
export const seedsOf = (usual: number, cases: number): number[] =>
  Array.from({ length: scaled(cases) }, (_, index) => (seedOf(usual) + index) % LARGEST)

/** Plays a case; its error says how the case is played again. */
export function playCase<Result>(seed: number, play: (random: Random) => Result): Result {
  try {
    return play(createRandom(seed))
  } catch (error) {
    const why = error instanceof Error ? error.stack : String(error)
    throw new Error(`TEST_SEED=${seed} TEST_SCALE=0: ${why}`)
  }
}
