import { expect, test } from 'bun:test'
import { startReceiver, until } from '../../help/receiver.ts'
import { ACCOUNT, newRig } from '../run/rig.ts'

const EVENTS = 1_200
/** One call has an event in every step of a bulk retry. */
const EVERY = 100

test('a bulk retry sends the events of a call that lies across its steps in their order', async () => {
  const receiver = startReceiver(() => new Response('', { status: 410 }))
  await using rig = await newRig()
  await rig.setUrls(receiver.url)
  await rig.emit(...Array.from({ length: EVENTS }, (_, n) => (n % EVERY === 0 ? 'long' : `call ${n}`)))
  const count = async (state: 'failed' | 'delivered') => {
    const { items } = await rig.deliveries.list(ACCOUNT, { state, call_id: 'long' }, 200)
    return items.length
  }
  await until('all are refused for good', () => receiver.received.length === EVENTS)
  await until('that is written down', async () => (await count('failed')) === EVENTS / EVERY)
  receiver.received.length = 0
  receiver.answerWith(() => new Response())
  expect(await rig.deliveries.retryAll(ACCOUNT, {})).toBe(EVENTS)
  await until('all came again', () => receiver.received.length === EVENTS)
  const sent = receiver.received.map(({ body }) => JSON.parse(body).data).filter(({ call }) => call === 'long')
  expect(sent.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 12 }, (_, n) => n * EVERY + 1))
  await receiver.stop()
})
