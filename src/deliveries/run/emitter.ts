import { EventEmitter } from 'node:events'
import type { StoredEvent } from '../../store/operations/calls.ts'

/**
 * The notifications inside the process, each after the commit that made it true. A notification may be lost: every
 * listener must also find the change in the store, only later.
 */
type Notifications = {
  /** Events that are in the store, with their deliveries. */
  stored: [readonly StoredEvent[]]
  /** The ids of deliveries that changed, for clients that show them; all of one account if it is known. */
  deliveries: [ids: readonly number[], accountId?: number]
  /** Deliveries were retried by hand and are due; the ids of single retries. */
  due: [ids?: readonly number[]]
  /** The webhook list, a secret or options of an account changed. */
  webhooks: [accountId: number]
  /** Another process wrote to the store: data that was read before may be out of date. */
  foreign: []
  /** A user was added by this process, perhaps with an account. */
  accounts: []
}

export type Emitter = EventEmitter<Notifications>

/** Creates an emitter without listeners. */
export const newEmitter = (): Emitter => new EventEmitter<Notifications>({ captureRejections: false })
