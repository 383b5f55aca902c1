import { asc, inArray, lt } from 'drizzle-orm'
import type { OwnerRequest } from '../operations/queue.ts'
import { mutation, type Tx } from './engine/mutation.ts'
import { ownerRequests } from './engine/schema.ts'

const FORGET_AFTER_US = 3_600_000_000

export const addOwnerRequest = mutation(
  'queue.ownerRequestAdd',
  (tx: Tx, { webhookId, deliveryId, nowUs }: OwnerRequest & { nowUs: number }): void => {
    tx.delete(ownerRequests)
      .where(lt(ownerRequests.at, nowUs - FORGET_AFTER_US))
      .run()
    tx.insert(ownerRequests).values({ at: nowUs, webhookId, deliveryId }).run()
  },
)

export const takeOwnerRequests = mutation(
  'queue.ownerRequestTake',
  (tx: Tx, webhookIds: readonly number[]): OwnerRequest[] => {
    const { id, webhookId, deliveryId } = ownerRequests
    const wanted = new Set(webhookIds)
    const rows = tx.select({ id, webhookId, deliveryId }).from(ownerRequests).orderBy(asc(id)).all()
    const taken = rows.filter((row) => wanted.has(row.webhookId))
    const ids = taken.map((row) => row.id)
    tx.delete(ownerRequests).where(inArray(id, ids)).run()
    return taken.map((row) => ({ webhookId: row.webhookId, deliveryId: row.deliveryId }))
  },
)

/** Returns whether anything is asked of anyone: this is checked after every change by another process. */
export const isAnyOwnerAsked = (read: Tx): boolean =>
  read.select({ id: ownerRequests.id }).from(ownerRequests).limit(1).get() !== undefined
