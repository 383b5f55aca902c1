import { expect } from 'bun:test'
import type { TrackerState } from '../../src/calls/tracker/state/state.ts'
import type { CallEvent } from '../../src/events/bodies.ts'
import { GROUP_SHOWN_LATE } from './call-rules/exceptions.ts'
import { differences } from './expected-compare.ts'
import { createLedger, leftover } from './ledger.ts'

/**
 * A situation at a PBX, how it is played, the lines of its calls, and the names of the rules for every list of events that
 * do not hold in it.
 */
export type SceneCase<Scene> = [
  what: string,
  play: (pbx: Scene) => void,
  expected: string,
  exceptions?: readonly string[],
]

type Played = { readonly bodies: readonly CallEvent['body'][]; readonly state: TrackerState }

/**
 * Checks that a scene gave the expected events, that they keep the promises about every call, and that the memory is
 * empty.
 */
export function checkScene({ bodies, state }: Played, expectedText: string, exceptions: readonly string[] = []): void {
  expect(differences(bodies, expectedText).join('\n')).toBe('')
  const ledger = createLedger(exceptions.concat(GROUP_SHOWN_LATE))
  ledger.take(
    bodies.map((body) => {
      const { id, name, call, sequence } = body.data
      return { id, name, callId: call.id, sequence, atUs: 0, body }
    }),
  )
  ledger.finish()
  expect(leftover(state)).toBeUndefined()
}
