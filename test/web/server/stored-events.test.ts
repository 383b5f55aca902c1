import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createLog } from '../../../src/lib/log.ts'
import { followAllEvents } from '../../../src/web/server/stored-events.ts'
import { emptyFolder } from '../../help/app.ts'
import { until } from '../../help/receiver.ts'
import { openStore, storeEvents } from '../../help/store.ts'

test('what any process stores is followed in order, from when a client begins to follow', async () => {
  using folder = emptyFolder()
  const store = openStore(join(folder.path, 'hookswitch.db'))
  let sequence = 0
  const put = async () => {
    sequence += 1
    const event = { uuid: `u${sequence}`, callId: 'a', name: 'call_started' as const, sequence, atUs: sequence }
    await storeEvents(store, [{ ...event, body: `${sequence}` }], { nowSteadyUs: 1 })
  }
  const got: string[] = []
  let isOpen = false
  const following = followAllEvents(store.log, createLog('silent'))(
    () => (isOpen ? [1] : []),
    (events) => void got.push(...events.map(({ body }) => body)),
  )
  await put()
  await following.begin(1)
  isOpen = true
  await put()
  await put()
  await until('both are there', () => got.length === 2)
  // Another reader of the account: nothing comes twice.
  await following.begin(1)
  await put()
  await until('the next is there', () => got.length === 3)
  isOpen = false
  await put()
  await following.begin(1)
  isOpen = true
  await put()
  await until('the last is there', () => got.length === 4)
  expect(got).toEqual(['2', '3', '4', '6'])
  following.stop()
  await store.stop()
})
