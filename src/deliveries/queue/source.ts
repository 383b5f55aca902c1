import type { PendingDelivery } from '../../store/records.ts'
import type { Item } from './webhook-queue.ts'

/** What is known of the pending deliveries of one webhook: which are in memory, and which are in the store alone. */
export type Source = {
  readonly webhookId: number
  cursor: number
  more: boolean
  /** In steady time; `undefined`: none waits on disk alone. */
  retryUs: number | undefined
  /** Retries in memory that are not due yet. */
  later: Item[]
  /** Its items in memory: those that wait, and those under way. */
  held: number
  /** What happened since its reading began, which what was read may not know of; `undefined`: it is not being read. */
  loading: Loading | undefined
}

/** A reading of the store that is under way. */
export type Loading = {
  /** What was read cannot be believed. */
  stale: boolean
  /** Something was stored beyond what was read. */
  moreStored: boolean
  /** Items whose outcome went to the disk. */
  readonly released: Set<number>
}

/** Makes an item of a delivery that was read. */
export const itemOf = ({ sinceSteadyUs: sinceUs, dueSteadyUs: dueUs, ...pending }: PendingDelivery): Item => ({
  ...pending,
  sinceUs,
  dueUs,
  unrecorded: 0,
  leaving: false,
})
