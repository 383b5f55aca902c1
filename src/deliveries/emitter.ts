import { EventEmitter } from 'node:events'
import type { StoredEvent } from '../store/records.ts'

/**
 * What is told inside the process, after the commit that made it true. A nudge may be lost: whoever listens must find the same in
 * the store, only later.
 */
export type Nudges = {
  /** Events that are on disk, with their deliveries. */
  stored: [readonly StoredEvent[]]
  /** Deliveries that changed: ids, for whoever shows them. */
  deliveries: [readonly number[]]
  /** Deliveries were made due by hand: look at the table. Those that are named were asked for one by one. */
  due: [ids?: readonly number[]]
  /** The webhook list or a secret of an account changed. */
  webhooks: []
  /** Another process wrote to the store: drop what was read before. */
  foreign: []
}

export type Emitter = EventEmitter<Nudges>

export const newEmitter = (): Emitter => new EventEmitter<Nudges>({ captureRejections: false })
