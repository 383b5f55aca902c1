import type { DeliveryState } from '../store/records.ts'
import type { LoadedDelivery } from './queue/delivery.ts'
import type { Attempted } from './sending/attempt.ts'

/** An attempt that ended. `waitedUs`: since its schedule began; `url` is without credentials. */
export type EndedAttempt = {
  readonly delivery: LoadedDelivery
  readonly url: string
  readonly attempted: Attempted
  readonly state: DeliveryState
  readonly probe: boolean
  readonly atUs: number
  readonly waitedUs: number
}

/**
 * Who watches the dispatcher: the metrics. Called for every attempt, so it must be quick. `waitedUs`: since its schedule began, so since
 * it was stored or sent again by hand; its event may have happened hours before, and only be learnt after a reconnect.
 */
export type Observer = {
  started(item: LoadedDelivery, waitedUs: number): void
  ended(attempt: EndedAttempt): void
  /** So many ended without an attempt: by age while their webhook was down, or because its URL left the list. */
  dropped(count: number, state: 'failed' | 'cancelled'): void
  /** Its URL has left the list and nothing of it is under way: what is known of it can be forgotten. */
  left(webhookId: number): void
}

export const silent: Observer = { started: () => {}, ended: () => {}, dropped: () => {}, left: () => {} }
