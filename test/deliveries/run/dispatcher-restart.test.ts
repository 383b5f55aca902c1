import { expect, test } from 'bun:test'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import { createLog } from '../../../src/lib/log.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { ACCOUNT, newRig } from './rig.ts'

/** Errors of this program outside of an attempt: sending begins again from the store, and nothing is lost. */

/** Returns a function that throws when it is called once it is `armed`, once, as an assertion that fails would. */
function newBomb() {
  let isArmed = false
  return {
    arm(): void {
      isArmed = true
    },
    mayFail<Args extends unknown[], Result>(work: (...args: Args) => Result): (...args: Args) => Result {
      return (...args) => {
        if (!isArmed) return work(...args)
        isArmed = false
        throw new Error('an invariant does not hold')
      }
    },
  }
}

type Rig = Awaited<ReturnType<typeof newRig>>
type Bomb = ReturnType<typeof newBomb>

const PLACES: readonly [where: string, options: (bomb: Bomb) => Parameters<typeof newRig>[0]][] = [
  ['when attempts begin', ({ mayFail }) => ({ ownership: { ...OWNS_EVERYTHING, isTrusted: mayFail(() => true) } })],
  ['when an event arrives', ({ mayFail }) => ({ ownership: { ...OWNS_EVERYTHING, ownsAccount: mayFail(() => true) } })],
  ['when outcomes were recorded', () => ({})],
]

async function statesOf(rig: Rig): Promise<string[]> {
  return (await rig.deliveries.list(ACCOUNT, {}, 100)).items.map(({ state }) => state)
}

test.each(PLACES)('an error %s costs nothing: sending begins again from the store', async (where, optionsOf) => {
  const bomb = newBomb()
  const receiver = startReceiver()
  const logged: string[] = []
  const log = createLog('error', { readable: false, write: (line) => void logged.push(line) })
  const rig = await newRig({ ...optionsOf(bomb), log })
  if (where === 'when outcomes were recorded')
    rig.emitter.on(
      'deliveries',
      bomb.mayFail(() => {}),
    )
  await rig.setUrls(receiver.url)
  const before = await rig.emit('a', 'b')
  await until('the first are delivered', () => receiver.received.length === 2)
  bomb.arm()
  const ids = [...before, ...(await rig.emit('a', 'a', 'b', 'c', 'c'))]
  await until('all are delivered', async () => (await statesOf(rig)).every((state) => state === 'delivered'))
  await until('it has begun again', () => rig.dispatcher.restarts() === 1)
  expect(logged).toEqual([expect.stringContaining('an internal error stopped the sending of deliveries')])
  // The first request for each event, since those in flight may be repeated: all of them, each call's in its order.
  const firsts = [...new Set(receiver.received.map(({ id }) => id))]
  expect(firsts.toSorted()).toEqual(ids.toSorted())
  for (const call of ['a', 'b', 'c']) {
    const ofCall = receiver.received.map(({ body }) => JSON.parse(body).data).filter((data) => data.call === call)
    const order = [...new Set(ofCall.map(({ sequence }) => sequence))]
    expect(order).toEqual(order.toSorted((one, other) => one - other))
  }
  // The new run continues as before.
  const [later] = await rig.emit('d')
  await until('a later event is delivered', () => receiver.received.some(({ id }) => id === later))
  await rig[Symbol.asyncDispose]()
  await receiver.stop()
})

test('attempts in flight are aborted and made again, and stopping does not wait for attempts that cannot end', async () => {
  const bomb = newBomb()
  let answers = false
  const receiver = startReceiver(() => (answers ? new Response() : new Promise<Response>(() => {})))
  const rig = await newRig({ ownership: { ...OWNS_EVERYTHING, isTrusted: bomb.mayFail(() => true) } })
  await rig.setUrls(receiver.url)
  const [first] = await rig.emit('a')
  await until('it is in flight', () => receiver.received.length === 1)
  answers = true
  bomb.arm()
  await rig.emit('b')
  await until('both are delivered', async () => (await statesOf(rig)).every((state) => state === 'delivered'))
  expect(receiver.received.filter(({ id }) => id === first).length).toBe(2)
  answers = false
  bomb.arm()
  await rig.emit('c')
  await until('it failed again', () => rig.dispatcher.restarts() === 2)
  await rig[Symbol.asyncDispose]()
  await receiver.stop()
})
