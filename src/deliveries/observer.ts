import type { Attempted } from './attempt.ts'
import type { Item } from './line.ts'
import type { State } from './record-store.ts'

/**
 * Who watches the dispatcher: the metrics. Called for every attempt, so it must be quick. `waitedUs`: since its schedule began, so since
 * it was stored or sent again by hand; its event may have happened hours before, and only be learnt after a reconnect.
 */
export type Observer = {
  started(item: Item, waitedUs: number): void
  ended(item: Item, attempted: Attempted, state: State, probe: boolean, atUs: number, waitedUs: number): void
  /** So many ended without an attempt: by age while their webhook was down, or because its URL left the list. */
  dropped(count: number, state: 'failed' | 'cancelled'): void
  /** Its URL has left the list and nothing of it is under way: what is known of it can be forgotten. */
  left(webhookId: number): void
}

export const silent: Observer = { started: () => {}, ended: () => {}, dropped: () => {}, left: () => {} }
