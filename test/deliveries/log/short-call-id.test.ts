import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createDeliveryService } from '../../../src/deliveries/log/service.ts'
import { DELIVERIES_PER_EVENT } from '../../../src/store/operations/queue.ts'
import { mutation, type Tx } from '../../../src/store/sqlite/engine/mutation.ts'
import { prepared } from '../../../src/store/sqlite/engine/prepared.ts'
import { createWebhookService } from '../../../src/webhooks/service.ts'
import { emptyFolder } from '../../help/app.ts'
import { type OpenStore, openStore } from '../../help/store.ts'
import { TEMPLATES } from '../../help/templates.ts'
import { ACCOUNT, listed } from '../run/rig.ts'

/** More calls than one part of a search has. */
const CALLS = 45_000
const OTHER_ACCOUNT = 2
const hex = (number: number, digits: number) => number.toString(16).padStart(digits, '0')
const callId = (call: number) =>
  `01a1f900-${hex(call >> 16, 4)}-7000-8000-${hex(call, 4)}${hex((call * 7_919) % 2 ** 31, 8)}`

const fill = mutation('test.fillCalls', (tx: Tx, webhookId: number): void => {
  const event = prepared<never, [number, string, number, string]>(
    tx,
    "INSERT INTO events (id, uuid, account_id, call_id, name, sequence, at, body) VALUES (?, ?, ?, ?, 'call_started', 1, 1, '{}')",
  )
  const delivery = prepared<never, [number, number]>(
    tx,
    'INSERT INTO deliveries (id, webhook_id, state, since, created_at, ended_at) VALUES (?, ?, 1, 1, 1, 1)',
  )
  for (let call = 1; call <= CALLS; call += 1) {
    event.run(call, `e${call}`, call % 2 === 0 ? ACCOUNT : OTHER_ACCOUNT, callId(call))
    delivery.run(call * DELIVERIES_PER_EVENT, webhookId)
  }
})

let folder: ReturnType<typeof emptyFolder>
let store: OpenStore
beforeAll(async () => {
  folder = emptyFolder()
  store = openStore(join(folder.path, 'hookswitch.db'))
  await createWebhookService({ webhooks: store.webhooks }).replace(ACCOUNT, [listed('http://a.example/')], null)
  await store.db.commit(fill, 1)
})
afterAll(async () => {
  await store.stop()
  folder[Symbol.dispose]()
})

const found = async (filter: { call_id: string }) => {
  const { items, next_cursor } = await createDeliveryService({ templates: TEMPLATES, store }).list(ACCOUNT, filter)
  expect(next_cursor).toBeNull()
  return items.map((item) => item.call_id)
}

test.each([
  ['the newest call', CALLS, 8],
  ['a call in the middle', 22_222, 8],
  ['the oldest call', 2, 8],
  ['a longer end of the id', 22_222, 20],
  ['the whole id', 22_222, 36],
])('%s is found by the end of its id', async (_, call, characters) =>
  expect(await found({ call_id: callId(call).slice(-characters) })).toEqual([callId(call)]),
)

test('case does not matter', async () =>
  expect(await found({ call_id: callId(22_222).slice(-10).toUpperCase() })).toEqual([callId(22_222)]))

test.each([
  ['an id that is nowhere', 'ffffffff'],
  ['the beginning of an id', callId(2).slice(0, 13)],
  ['too few characters', callId(2).slice(-7)],
  ['a pattern', '%%%%%%%%'],
])('%s finds nothing', async (_, text) => expect(await found({ call_id: text })).toEqual([]))

test('a call of another account is not found', async () =>
  expect(await found({ call_id: callId(22_221).slice(-8) })).toEqual([]))
