import { describe, expect, test } from 'bun:test'
import { startArrivalHints, startArrivals } from '../../../src/deliveries/run/arrivals.ts'
import { newEmitter } from '../../../src/deliveries/run/emitter.ts'
import type { StoredEvent } from '../../../src/store/operations/calls.ts'
import { newClient } from '../../../src/store/postgres/engine/client.ts'
import { openHints } from '../../../src/store/postgres/engine/hints.ts'
import { createStatusStore } from '../../../src/store/postgres/statuses.ts'
import { LOG } from '../../deliveries/run/rig.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { until } from '../../help/receiver.ts'

/** How a node notices what another has stored for its accounts, between two nodes on a real server. */

const MINE = 1
const THEIRS = 2

const storedFor = (accountId: number): StoredEvent => ({
  id: 1,
  accountId,
  uuid: 'u',
  callId: 'c',
  name: 'call_started',
  sequence: 1,
  atUs: 0,
  body: '{}',
  sinceSteadyUs: 0,
  deliveries: [{ id: 128, webhookId: 1 }],
})

/** A node that stores events for an account that is not its own, and the owner of that account. */
async function startNodes() {
  const cleaning = new AsyncDisposableStack()
  const database = cleaning.use(await migratedDatabase())
  const source = databaseSource(database.url)
  const open = () => {
    const hints = openHints(source)
    const client = newClient(source, { role: 'status', connections: 1, statementMs: 30_000 })
    cleaning.defer(hints.stop)
    cleaning.defer(client.stop)
    return createStatusStore(client, hints)
  }
  const [writer, owner] = [open(), open()]
  let sent = 0
  const emitter = newEmitter()
  const hinting = startArrivalHints({
    hints: {
      arrivalHint(accountIds) {
        sent += 1
        return writer.arrivalHint(accountIds)
      },
    },
    emitter,
    log: LOG,
    ownership: { ownsAccount: (accountId) => accountId === MINE },
  })
  const arrived: number[] = []
  const arrivals = startArrivals({
    // The poll never ends: every arrival has come by a hint.
    store: { eventGetNewest: () => new Promise(() => {}), eventGetNewestAbove: () => new Promise(() => {}) },
    hints: owner,
    log: LOG,
    accountIds: () => [THEIRS],
    onArrived: (ids) => void arrived.push(...ids),
  })
  cleaning.defer(() => arrivals.stop())
  cleaning.defer(() => hinting.stop())
  return {
    arrived,
    sent: () => sent,
    store: (...accountIds: number[]) => emitter.emit('stored', accountIds.map(storedFor)),
    [Symbol.asyncDispose]: () => cleaning.disposeAsync(),
  }
}

describe.skipIf(POSTGRES_MISSING !== undefined)('events for the accounts of another node', () => {
  test('are noticed by their owner before its next poll, and only those', async () => {
    await using nodes = await startNodes()
    await until('a hint has come', () => {
      nodes.store(MINE, THEIRS, 3)
      return nodes.arrived.length > 0
    })
    expect(new Set(nodes.arrived)).toEqual(new Set([THEIRS]))
  })

  test('take one hint for all that is stored while the one before is sent; its own accounts take none', async () => {
    await using nodes = await startNodes()
    nodes.store(MINE)
    expect(nodes.sent()).toBe(0)
    await until('the owner listens', () => {
      nodes.store(THEIRS)
      return nodes.arrived.length > 0
    })
    const before = nodes.sent()
    for (let n = 0; n < 1_000; n += 1) nodes.store(THEIRS)
    const arrived = nodes.arrived.length
    await until('the last has come', () => nodes.arrived.length > arrived)
    expect(nodes.sent() - before).toBeLessThan(5)
  })
})

test('with many accounts the newest events of the store are read, and now and then all accounts are compared', async () => {
  const accounts = Array.from({ length: 101 }, (_, at) => at + 1)
  const events = new Map(accounts.map((accountId) => [accountId, accountId]))
  const above: number[] = []
  let compared = 0
  const arrived: (readonly number[])[] = []
  let isHidden = false
  const arrivals = startArrivals({
    store: {
      async eventGetNewest(wanted) {
        compared += 1
        return new Map([...events].filter(([accountId]) => wanted.includes(accountId)))
      },
      async eventGetNewestAbove(id) {
        above.push(id)
        return new Map([...events].filter(([, newest]) => newest > id && !(isHidden && newest === 202)))
      },
    },
    accountIds: () => accounts,
    onArrived: (ids) => void arrived.push([...ids]),
    log: LOG,
    pollMs: 20,
    compareMs: 3_000,
  })
  await until('what is newest is read', () => above.length > 2)
  expect(above[0]).toBe(101)
  expect(arrived).toEqual([accounts])
  events.set(7, 201)
  events.set(999, 300)
  await until('it is found', () => arrived.length > 1)
  expect(arrived[1]).toEqual([7])
  // The commit of an event takes so long that the polls have gone on to later ones.
  isHidden = true
  const before = compared
  events.set(8, 202)
  await until('all are compared', () => compared > before && arrived.length > 2)
  expect(arrived[2]).toEqual([8])
  accounts.push(102)
  events.set(102, 5)
  await until('an account is compared that was not there before', () => arrived.length > 3)
  expect(arrived[3]).toEqual([102])
  arrivals.stop()
})
