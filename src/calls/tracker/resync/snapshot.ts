import type { Signal } from '../../signal.ts'
import { purgeEarlyEnds } from '../rules/channels.ts'
import { joinDueLinks } from '../rules/linked-calls.ts'
import type { TrackerState } from '../state/state.ts'
import { closeMissingChannels, markMissing } from './missing-channels.ts'
import { resync } from './resync.ts'

/**
 * Changes the state by a snapshot in small steps: other work may run in between, but no other signal. Emits nothing, so
 * that a call is emitted with all that the snapshot has of it.
 */
export function* applySnapshot(state: TrackerState, signal: Extract<Signal, { kind: 'snapshot' }>): Generator<void> {
  if (state.pendingLinks.length > 0) joinDueLinks(state)
  purgeEarlyEnds(state)
  yield* markMissing(state, signal, signal)
  yield* resync(state, signal, signal.channels)
  yield* closeMissingChannels(state, signal, signal)
}
