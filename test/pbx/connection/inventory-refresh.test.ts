import { afterEach, expect, test } from 'bun:test'
import { createLog } from '../../../src/lib/log.ts'
import { createInventoryRefresh, type InventoryReply } from '../../../src/pbx/connection/inventory-refresh.ts'
import { createEndpoints, type Inventory } from '../../../src/pbx/endpoints/endpoints.ts'
import { until } from '../../help/receiver.ts'

const log = createLog('silent')
const inventory = (...trunks: readonly string[]): Inventory => ({
  endpoints: Object.fromEntries(trunks.map((name) => [name, { registers: true }])),
  mailboxes: {},
})

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

function learn(
  answers: readonly (InventoryReply | Error)[],
  timeouts = { reloadMs: 1, inventoryMinMs: 1, inventoryMaxMs: 60_000 },
) {
  const endpoints = createEndpoints({ trunks: [], extensions: [] })
  let asked = 0
  const learning = createInventoryRefresh({
    pbx: 'office',
    endpoints,
    log,
    timeouts,
    async request() {
      const answer = answers[Math.min(asked++, answers.length - 1)]
      if (answer === undefined || answer instanceof Error) throw answer
      return answer
    },
  })
  stops.push(learning.stop)
  return { ...learning, endpoints, asked: () => asked, trunks: () => endpoints.list().map(({ name }) => name) }
}

test('the present configuration replaces the earlier one', async () => {
  const it = learn([
    { inventory: inventory('PJSIP/one', 'PJSIP/two'), denied: [] },
    { inventory: inventory('PJSIP/two'), denied: [] },
  ])
  await it.refresh()
  expect(it.trunks()).toEqual(['PJSIP/one', 'PJSIP/two'])
  it.schedule()
  await until('it is asked again', () => it.trunks().length === 1)
})

test('a reload of many parts asks once, and not all the time', async () => {
  const it = learn([{ inventory: inventory(), denied: [] }], {
    reloadMs: 1,
    inventoryMinMs: 60_000,
    inventoryMaxMs: 60_000,
  })
  for (let part = 0; part < 20; part++) it.schedule()
  expect(it.asked()).toBe(0)
  await it.refresh()
  for (let part = 0; part < 20; part++) it.schedule()
  expect(it.asked()).toBe(1)
})

test.each([
  ['a PBX that stops answering', { inventory: undefined, denied: [] }],
  ['one that now denies all', { inventory: inventory(), denied: ['ExtensionStateList'] }],
  ['a fault of ours', new Error('a fault')],
])('%s leaves what is known', async (_, answer) => {
  const it = learn([{ inventory: inventory('PJSIP/one'), denied: [] }, answer])
  await it.refresh()
  await it.refresh()
  expect([it.asked(), it.trunks()]).toEqual([2, ['PJSIP/one']])
})

test('it is asked again from time to time', async () => {
  const it = learn([{ inventory: inventory(), denied: [] }], {
    reloadMs: 60_000,
    inventoryMinMs: 60_000,
    inventoryMaxMs: 1,
  })
  await it.refresh()
  await until('the third time', () => it.asked() >= 3)
})

test('nothing is learnt, or asked, once it is over', async () => {
  const it = learn([{ inventory: inventory('PJSIP/one'), denied: [] }])
  const learning = it.refresh()
  it.stop()
  await learning
  it.schedule()
  expect([it.trunks(), it.asked()]).toEqual([[], 1])
})
