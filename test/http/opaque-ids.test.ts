import { describe, expect, test } from 'bun:test'
import { deliveryIdText, openOpaqueIds, readDeliveryId } from '../../src/http/opaque-ids.ts'
import { seededRandom } from '../help/seed.ts'

const KEY = '00112233445566778899aabbccddeeff'
const idsUnder = (key: string) => openOpaqueIds({ publicIdKeyGet: async () => ({ key, plainTo: 7 }) })()
const ids = await idsUnder(KEY)
const KINDS = ['eventCursor', 'deliveryCursor', 'delivery'] as const

describe('an id or cursor', () => {
  test('is read as it was written, whatever it holds, and nothing else is', () => {
    const random = seededRandom(7)
    const numbers = (limit: number) => [0, 1, 255, 256, limit, ...Array.from({ length: 50 }, () => random.int(limit))]
    const written = new Set<string>()
    for (const kind of KINDS)
      for (const id of numbers(Number.MAX_SAFE_INTEGER))
        for (const accountId of [1, 2 ** 32 - 1])
          for (const history of [0, 2 ** 32 - 1]) {
            const text = ids.write(kind, { accountId, id, history })
            written.add(text)
            expect(ids.read(kind, text)).toEqual({ accountId, id, history })
            for (const other of KINDS) if (other !== kind) expect(ids.read(other, text)).toBeUndefined()
          }
    for (const text of [...written].slice(0, 50))
      for (const changed of [`${text}A`, text.slice(1), `A${text.slice(1)}`, text.toUpperCase(), `${text}=`])
        if (!written.has(changed)) expect(ids.read('eventCursor', changed)).toBeUndefined()
  })

  test('names nothing of this account if another store made it', async () => {
    const other = await idsUnder(KEY.replace('0', '1'))
    for (let id = 0; id < 1_000; id += 1)
      expect(other.read('eventCursor', ids.write('eventCursor', { accountId: 1, id }))?.accountId).not.toBe(1)
  })

  test('may be the plain number of a delivery where an earlier version gave it out', () => {
    const delivery = { accountId: 3, id: 9 * 128 + 5 }
    expect(readDeliveryId(ids, deliveryIdText(ids, delivery))).toBe(delivery.id)
    expect(readDeliveryId(ids, `${7 * 128 + 127}`)).toBe(7 * 128 + 127)
    for (const text of [`${8 * 128}`, '0', '01', '-1', '1.5', '', 'dlv_', 'dlv_x', '99999999999999999'])
      expect(readDeliveryId(ids, text)).toBeUndefined()
  })
})
