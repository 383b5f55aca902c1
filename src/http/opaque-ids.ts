import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { PublicIdKey } from '../store/operations/log.ts'
import { DELIVERIES_PER_EVENT } from '../store/operations/queue.ts'

/**
 * Ids and cursors as clients get them. Plain numbers would reveal the number of events of all accounts. So each id is
 * one block of AES-128 under the key of the store, which a client can neither read, nor change, nor make.
 *
 *     1 byte   its kind
 *     4 bytes  the history of the event, in a cursor of events; else 0
 *     4 bytes  the account
 *     7 bytes  the id of the event or the delivery
 */
export type OpaqueIds = {
  write(kind: OpaqueKind, id: OpaqueId): string
  /** Returns the id that `write` encoded; `undefined` if this store did not write the text. */
  read(kind: OpaqueKind, text: string): OpaqueId | undefined
  /** Returns whether an earlier version may have given out a plain id of this event, which stays valid. */
  wasPlain(eventId: number): boolean
}

type OpaqueKind = keyof typeof KINDS
type OpaqueId = { readonly accountId: number; readonly id: number; readonly history?: number }

const KINDS = { eventCursor: 1, deliveryCursor: 2, delivery: 3 } as const
const ALGORITHM = 'aes-128-ecb'
const BLOCK_BYTES = 16
const LOW_BYTES = 6
const HIGH = 2 ** 48

/** Creates the ids of a store. */
function createOpaqueIds({ key, plainTo }: PublicIdKey): OpaqueIds {
  const secret = Buffer.from(key, 'hex')
  // One block each, without padding: so both can be used again and again.
  const cipher = createCipheriv(ALGORITHM, secret, null).setAutoPadding(false)
  const decipher = createDecipheriv(ALGORITHM, secret, null).setAutoPadding(false)
  return {
    write(kind, { accountId, id, history = 0 }) {
      const block = Buffer.alloc(BLOCK_BYTES)
      block.writeUInt8(KINDS[kind], 0)
      block.writeUInt32BE(history, 1)
      block.writeUInt32BE(accountId, 5)
      block.writeUInt8(Math.floor(id / HIGH), 9)
      block.writeUIntBE(id % HIGH, 10, LOW_BYTES)
      return cipher.update(block).toString('base64url')
    },
    read(kind, text) {
      const bytes = Buffer.from(text, 'base64url')
      if (bytes.length !== BLOCK_BYTES || bytes.toString('base64url') !== text) return undefined
      const block = decipher.update(bytes)
      if (block.readUInt8(0) !== KINDS[kind]) return undefined
      const id = block.readUInt8(9) * HIGH + block.readUIntBE(10, LOW_BYTES)
      return { accountId: block.readUInt32BE(5), id, history: block.readUInt32BE(1) }
    },
    wasPlain: (eventId) => eventId <= plainTo,
  }
}

/**
 * Returns a function that reads the key of the store at its first call. That throws Fault `unavailable` if it fails.
 */
export function openOpaqueIds(log: { publicIdKeyGet(): Promise<PublicIdKey> }): () => Promise<OpaqueIds> {
  let ids: OpaqueIds | undefined
  return async () => {
    ids ??= createOpaqueIds(await log.publicIdKeyGet())
    return ids
  }
}

/** Returns the id of a delivery as clients get it. */
export const deliveryIdText = (ids: OpaqueIds, delivery: { readonly accountId: number; readonly id: number }): string =>
  `${DELIVERY_PREFIX}${ids.write('delivery', delivery)}`

/** Returns the id of a delivery that a client sent, `undefined` if it cannot be one. The caller checks its account. */
export function readDeliveryId(ids: OpaqueIds, text: string): number | undefined {
  if (text.startsWith(DELIVERY_PREFIX)) return ids.read('delivery', text.slice(DELIVERY_PREFIX.length))?.id
  if (!/^[1-9]\d{0,15}$/.test(text)) return undefined
  const id = Number(text)
  return ids.wasPlain(Math.floor(id / DELIVERIES_PER_EVENT)) ? id : undefined
}

const DELIVERY_PREFIX = 'dlv_'
