import { afterEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import { newAccountDirectory } from '../../../src/calls/ingest/account-directory.ts'
import { startIngest } from '../../../src/calls/ingest/ingest.ts'
import { openTracker } from '../../../src/calls/ingest/open-tracker.ts'
import type { ChannelSignal, Signal } from '../../../src/calls/signal.ts'
import { rebuildCall } from '../../../src/calls/tracker/resync/rebuilt-call.ts'
import { takeOverLiveCalls } from '../../../src/calls/tracker/resync/takeover.ts'
import { newCall } from '../../../src/calls/tracker/state/initial-state.ts'
import { newTracker, track } from '../../../src/calls/tracker/tracker.ts'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import { BODIES } from '../../../src/events/bodies.ts'
import { Fault } from '../../../src/lib/fault.ts'
import { createLog } from '../../../src/lib/log.ts'
import { nowUs } from '../../../src/lib/time.ts'
import { openClock } from '../../../src/store/clock.ts'
import type { StoredEvent } from '../../../src/store/operations/calls.ts'
import type { Store } from '../../../src/store/store.ts'
import { createWebhookService } from '../../../src/webhooks/service.ts'
import { emptyFolder } from '../../help/app.ts'
import { webhook } from '../../help/client.ts'
import { until } from '../../help/receiver.ts'
import { batch, type OpenStore, openStore as openStoreAt } from '../../help/store.ts'

const log = createLog('silent')
const undo: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

function openStore(): OpenStore {
  const folder = emptyFolder()
  const store = openStoreAt(join(folder.path, 'hookswitch.db'))
  undo.push(
    () => folder[Symbol.dispose](),
    () => store.stop(),
  )
  return store
}

const at = (signal: ChannelSignal): Signal => ({ atUs: Date.now() * 1_000, arrivedUs: 0, ...signal })
const outside = { kind: 'external', number: '15551230001', name: null } as const
const phone = { kind: 'extension', number: '101', name: null } as const
const end = { code: 16, result: 'no_answer', withdrawn: true, mayTransfer: false, forwardedTo: null } as const

const BEGIN: readonly ChannelSignal[] = [
  { kind: 'channel', id: 'a', linkedId: 'a', endpoint: outside, dialledNumber: '200', originated: false, shown: null },
  { kind: 'channel', id: 'b', linkedId: 'a', endpoint: phone, dialledNumber: null, originated: false, shown: null },
  { kind: 'dial_begin', source: 'a', dest: 'b', endpoint: phone, shown: null },
  { kind: 'ringing', id: 'b' },
]
const FINISH: readonly ChannelSignal[] = [
  { kind: 'dial_end', source: 'a', dest: 'b', result: 'answered', forwardedTo: null },
  { kind: 'hangup_requested', id: 'a' },
  { kind: 'hangup', id: 'a', end },
  { kind: 'hangup', id: 'b', end },
]
const ALL = ['call_started', 'dial_started', 'dial_answered', 'dial_ended', 'call_ended', 'call_saved']

/** Starts an ingest; `stored` collects the events that it reports as stored, in order. */
async function start(
  store: Pick<Store, 'calls' | 'maintenance' | 'log'>,
  options: Partial<Parameters<typeof startIngest>[0]> = {},
) {
  const stored: StoredEvent[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  const onStored = (more: readonly StoredEvent[]) => {
    stored.push(...more)
    for (const one of waiting) if (stored.length >= one.count) one.resolve()
  }
  const { nowUs: wallUs = nowUs } = options
  const ingest = await startIngest({
    calls: store.calls,
    history: store.log,
    ownership: OWNS_EVERYTHING,
    clock: await openClock({ maintenance: store.maintenance, log, nowUs: wallUs }),
    pbx: 'office',
    account: 'default',
    accountId: 1,
    onStored,
    onMissed: () => {},
    onFault: () => {},
    log,
    ...options,
  })
  const has = (count: number) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (stored.length >= count) resolve()
    else waiting.push({ count, resolve })
    return promise
  }
  return { ...ingest, stored, has, names: (): string[] => stored.map((event) => event.name) }
}

test('a call is stored with its events, and its record once it is saved', async () => {
  const store = openStore()
  const ingest = await start(store)
  undo.push(ingest.stop)
  ingest.feed([...BEGIN, ...FINISH].map(at))
  await ingest.has(6)
  expect(ingest.names()).toEqual(ALL)
  expect(ingest.stored.map((event) => event.sequence)).toEqual([1, 2, 3, 4, 5, 6])
  const wanted = { accountId: 1, filter: { number: '15551230001' }, limit: 10, after: undefined }
  const [saved] = await store.calls.callList(wanted)
  expect(saved?.id).toBe(ingest.stored[0]?.callId ?? '')
  expect(await store.calls.liveCallList('office')).toEqual([])
})

test('events are stored once, also when the one that is notified of it fails', async () => {
  const store = openStore()
  const failing = () => {
    throw new Error('a listener is broken')
  }
  const ingest = await start(store, { onStored: failing })
  undo.push(ingest.stop)
  ingest.feed([...BEGIN, ...FINISH].map(at))
  await until('it is saved', () => ingest.open() === 0 && ingest.pendingEvents() === 0)
  await ingest.stop()
  expect(await store.maintenance.verify()).toEqual([])
})

test('a call goes on under its id after a restart, and counts on', async () => {
  const store = openStore()
  const first = await start(store)
  first.feed(BEGIN.map(at))
  await first.has(2)
  await first.stop()
  const second = await start(store)
  undo.push(second.stop)
  second.feed(FINISH.map(at))
  await second.has(4)
  expect([...first.names(), ...second.names()]).toEqual(ALL)
  expect(new Set([...first.stored, ...second.stored].map((event) => event.callId)).size).toBe(1)
  expect([...first.stored, ...second.stored].map((event) => event.sequence)).toEqual([1, 2, 3, 4, 5, 6])
})

test('a call comes to its end in time when the clock is set back before a restart', async () => {
  const store = openStore()
  await createWebhookService({ webhooks: store.webhooks }).replace(1, [webhook('http://127.0.0.1:9/')], null)
  const first = await start(store)
  first.feed([...BEGIN, ...FINISH].map(at))
  await first.has(2)
  await first.stop()
  expect(first.names()).not.toContain('call_saved')
  const second = await start(store, { nowUs: () => nowUs() - 86_400_000_000 })
  undo.push(second.stop)
  await second.has(ALL.length - first.stored.length)
  expect([...first.names(), ...second.names()]).toEqual(ALL)
})

test('a call that an earlier process left open is closed by the first list that lacks it', async () => {
  const store = openStore()
  const first = await start(store)
  first.feed(BEGIN.map(at))
  await first.has(2)
  await first.stop()
  const second = await start(store)
  undo.push(second.stop)
  const now = { atUs: Date.now() * 1_000, arrivedUs: 0 }
  second.feed([
    { ...now, kind: 'connected', first: true, boot: null },
    { ...now, kind: 'snapshot', channels: [] },
  ])
  await second.has(2)
  const bodies = second.stored.map((event) => JSON.parse(event.body).data)
  expect(bodies.map((data) => [data.name, data.call.partial])).toEqual([
    ['dial_ended', true],
    ['call_ended', true],
  ])
  expect(bodies[1].call.hangup).toEqual({ cause: 'unknown', code: null, by: 'unknown' })
  expect(bodies[1].call.result).toBe('no_answer')
  expect(bodies[0].stage.result).toBe('other')
})

test('a call that was up when the PBX was given to another account stays with the account that got its start', async () => {
  const store = openStore()
  const webhooks = createWebhookService({ webhooks: store.webhooks })
  const user = { type: 1, name: 'New', email: 'new@example.com', passwordHash: '', atUs: 0 }
  await store.accounts.userCreate({ ...user, account: 'default', email: 'old@example.com' })
  await store.accounts.userCreate({ ...user, account: 'new' })
  const newId = (await store.accounts.accountGetId('new')) ?? 0
  await webhooks.replace(1, [webhook('http://127.0.0.1:9/old')], null)
  await webhooks.replace(newId, [webhook('http://127.0.0.1:9/new')], null)
  const first = await start(store)
  first.feed(BEGIN.map(at))
  await first.has(2)
  await first.stop()
  const second = await start(store, { account: 'new', accountId: newId })
  undo.push(second.stop)
  expect([...second.liveCalls(1)].map(({ account }) => account)).toEqual(['default'])
  expect([...second.liveCalls(newId)]).toEqual([])
  const others = BEGIN.map((signal): ChannelSignal => JSON.parse(JSON.stringify(signal).replace(/"([ab])"/g, '"$1$1"')))
  second.feed([...others, ...FINISH].map(at))
  await second.has(6)
  const bodies = second.stored.map(({ accountId, body }) => ({ accountId, ...JSON.parse(body).data }))
  const named = bodies.map(({ name, account, accountId }) => `${name} ${account} ${accountId}`)
  const old = ['dial_answered', 'dial_ended', 'call_ended', 'call_saved'].map((name) => `${name} default 1`)
  expect(named.toSorted()).toEqual([...old, `call_started new ${newId}`, `dial_started new ${newId}`].toSorted())
  const all = { filter: {}, limit: 9, after: undefined }
  const saved = await Promise.all([1, newId].map((accountId) => store.calls.callList({ accountId, ...all })))
  expect(saved.map((calls) => calls.length)).toEqual([1, 0])
  expect(second.stored.map(({ deliveries }) => deliveries.length)).toEqual([1, 1, 1, 1, 1, 1])
})

test('a call of a customer that was merged into before it was emitted stays with that customer after a takeover', async () => {
  const store = openStore()
  const user = { type: 1, name: 'A', passwordHash: '', atUs: 0 }
  for (const account of ['main', 'Acme']) await store.accounts.userCreate({ ...user, account, email: account })
  const { directory, set } = newAccountDirectory()
  set(await store.accounts.accountList())
  const call = newCall({ id: 'a', account: 'Acme', boot: null, pbxId: 'a', startedUs: 0 })
  const state = JSON.stringify({ call: { ...call, mergedFrom: ['b'] }, channels: [] })
  await store.calls.batchStore(batch({}, { live: [{ id: 'a', state }] }))
  const { state: taken, accountIdOf } = await openTracker({
    calls: store.calls,
    history: store.log,
    pbx: 'office',
    account: 'main',
    accountId: directory.get('main') ?? null,
    log,
    tenants: { accounts: directory, isOnEveryChannel: false },
    newId: String,
  })
  const { account } = taken.calls.get('a') ?? {}
  expect([account, accountIdOf(account ?? '')]).toEqual(['Acme', directory.get('Acme')])
})

test.each([1, 2, 3, 4, 5])('a live call that cannot be read is ended by its first %d events', async (count) => {
  const store = openStore()
  const before = await start(store)
  before.feed([...BEGIN, ...FINISH].map(at))
  await before.has(ALL.length)
  await before.stop()
  const callId = before.stored[0]?.callId ?? ''
  const events = await store.log.eventListOfCall(1, callId)
  const past = events.slice(0, count).map(({ name, sequence, body }) => ({ name, sequence, body: JSON.parse(body) }))
  const state = newTracker('office', 'default', String)
  takeOverLiveCalls(state, [rebuildCall(callId, 'default', past)])
  const tick = (arrivedUs: number) => track(state, { kind: 'tick', atUs: nowUs(), arrivedUs })
  const ended = [...tick(1).events, ...tick(10_000_000).events].filter(({ name }) => name !== 'call_missed')
  const open = count === 2 || count === 3 ? ['dial_ended'] : []
  const names = [...open, ...(count === 5 ? [] : ['call_ended']), 'call_saved']
  expect(ended.map(({ name }): string => name)).toEqual(names)
  expect(ended.map(({ sequence }) => sequence)).toEqual(names.map((_, at) => count + 1 + at))
  for (const { name, body } of ended) {
    expect([...Value.Errors(BODIES[name], body)]).toEqual([])
    expect(body.data.call).toMatchObject({ id: callId, from: { number: '15551230001' }, partial: true })
  }
  expect(state.calls.size).toBe(0)
  expect([...state.removed]).toEqual([callId])
})

test('live calls that cannot be read are logged with their ids, and ended or forgotten', async () => {
  const store = openStore()
  const before = await start(store)
  before.feed(BEGIN.map(at))
  await before.has(2)
  await before.stop()
  const callId = before.stored[0]?.callId ?? ''
  const live = [
    { id: callId, state: '{"call":{"id"' },
    { id: 'unheard', state: '{"call":{},"channels":[]}' },
  ]
  await store.calls.batchStore(batch({}, { live }))
  const lines: string[] = []
  const after = await start(store, {
    log: createLog('error', { readable: false, write: (line) => void lines.push(line) }),
  })
  undo.push(after.stop)
  await after.has(3)
  await until('both are gone', async () => (await store.calls.liveCallList('office')).length === 0)
  const names = (await store.log.eventListOfCall(1, callId)).map(({ name }) => name)
  expect(names).toEqual(['call_started', 'dial_started', 'dial_ended', 'call_ended', 'call_saved'])
  expect(await store.maintenance.verify()).toEqual([])
  const logged = lines.map((line) => JSON.parse(line)).map(({ call, msg }) => `${call}: ${msg}`)
  expect(logged.toSorted()).toEqual(
    [
      `${callId}: a live call in the store cannot be read: it ends as unknown, with the facts that its events have`,
      'unheard: a live call in the store cannot be read, and its events are gone: it is dropped',
    ].toSorted(),
  )
})

/** A store whose disk is full until it is released. */
function fullDisk({ calls, maintenance, log: events }: Store) {
  const state = { full: true }
  const batchStore: Store['calls']['batchStore'] = (batch) =>
    state.full ? Promise.reject(new Fault('unavailable', 'the disk is full')) : calls.batchStore(batch)
  return { state, store: { calls: { ...calls, batchStore }, maintenance, log: events } }
}

test('while the store cannot be written events wait in memory, and then come in order', async () => {
  const disk = fullDisk(openStore())
  const ingest = await start(disk.store)
  undo.push(ingest.stop)
  ingest.feed(BEGIN.map(at))
  ingest.feed(FINISH.map(at))
  expect(ingest.stored).toEqual([])
  disk.state.full = false
  await ingest.has(6)
  expect(ingest.names()).toEqual(ALL)
})

test('a signal on which the tracker fails is lost alone, and the PBX is asked for its channels', async () => {
  const store = openStore()
  let faults = 0
  const ingest = await start(store, { onFault: () => (faults += 1) })
  undo.push(ingest.stop)
  const other = {
    ...at(BEGIN[0] ?? { kind: 'up', id: 'x' }),
    id: 'other',
    linkedId: 'other',
    atUs: Number.NaN,
  } as Signal
  expect(ingest.feed([...BEGIN.map(at), other, ...FINISH.map(at)])).toBe(true)
  await ingest.has(6)
  expect(faults).toBeGreaterThan(0)
  expect(ingest.names()).toEqual(ALL)
})

test('without space in memory signals are dropped, and the PBX is asked for its channels afterwards', async () => {
  const disk = fullDisk(openStore())
  const missed = Promise.withResolvers<void>()
  const ingest = await start(disk.store, { onMissed: missed.resolve, maxPending: 10_000 })
  undo.push(ingest.stop)
  const calls = Array.from({ length: 6_000 }, (_, index) =>
    BEGIN.map((signal) =>
      at(JSON.parse(JSON.stringify(signal).replaceAll('"a"', `"a${index}"`).replaceAll('"b"', `"b${index}"`))),
    ),
  )
  const taken = calls.map((signals) => ingest.feed(signals))
  expect(taken[0]).toBe(true)
  expect(taken.at(-1)).toBe(false)
  disk.state.full = false
  await missed.promise
  expect(ingest.feed([])).toBe(true)
})

test('a PBX that is faster than the store is not read on, unless the store may be away', async () => {
  const store = openStore()
  const gate = Promise.withResolvers<void>()
  let isOpen = true
  const calls: Store['calls'] = {
    ...store.calls,
    async batchStore(given, fence) {
      if (!isOpen) await gate.promise
      return store.calls.batchStore(given, fence)
    },
  }
  const ingest = await start({ ...store, calls }, { writesWithinMs: 600_000 })
  undo.push(ingest.stop)
  const begin = (from: number, count: number) => {
    for (let call = from; call < from + count; call += 1) ingest.feed(ofCall(call, BEGIN))
  }
  begin(0, 3_000)
  expect(ingest.pendingEvents()).toBeGreaterThan(4_000)
  expect(ingest.caughtUp()).toBeUndefined()
  await ingest.has(5_000)
  begin(3_000, 2_000)
  isOpen = false
  const caughtUp = ingest.caughtUp()
  expect(caughtUp).toBeInstanceOf(Promise)
  isOpen = true
  gate.resolve()
  await caughtUp
  expect(ingest.pendingEvents()).toBeLessThan(4_000)
})

/** Returns the signals of the call with a number. */
const ofCall = (call: number, signals: readonly ChannelSignal[]): Signal[] =>
  JSON.parse(JSON.stringify(signals.map(at)), (key, value) =>
    ['id', 'linkedId', 'source', 'dest'].includes(key) ? `${value}${call}` : value,
  )
const CALLS = 400

test('a backlog is stored in small batches, each of whole calls, so that other PBXs have a turn between them', async () => {
  const store = openStore()
  await createWebhookService({ webhooks: store.webhooks }).replace(1, [webhook('http://127.0.0.1:9/')], null)
  const sizes: number[] = []
  const killedAfter = 2
  const calls: Store['calls'] = {
    ...store.calls,
    batchStore(given, fence) {
      const size = given.parts.flatMap(({ events }) => events).length
      if (sizes.length === killedAfter) return new Promise(() => {})
      if (size > 0) sizes.push(size)
      return store.calls.batchStore(given, fence)
    },
  }
  const first = await start({ ...store, calls })
  // The first event is stored alone, and all others wait meanwhile.
  first.feed(ofCall(0, BEGIN))
  first.feed(Array.from({ length: CALLS }, (_, call) => ofCall(call + 1, BEGIN)).flat())
  await until('some batches are stored', () => sizes.length === killedAfter)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(257)

  await until('the batches are in the store', async () => (await store.calls.liveCallList('office')).length > 1)
  const second = await start(store)
  undo.push(second.stop)
  const live = (await store.calls.liveCallList('office')).length
  expect(live).toBeLessThan(CALLS)
  await first.has(live * 2)
  second.feed(Array.from({ length: CALLS + 1 }, (_, call) => ofCall(call, FINISH)).flat())
  await second.has(live * 4)
  const sequences = Map.groupBy([...first.stored, ...second.stored], ({ callId }) => callId)
  for (const [, events] of sequences) expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6])
  expect(sequences.size).toBe(live)
})

test('a takeover of many calls lets others have their turns, and what the PBX reports meanwhile comes after it', async () => {
  const MANY = 1_000
  const store = openStore()
  const first = await start(store)
  for (let call = 0; call < MANY; call += 1) first.feed(ofCall(call, BEGIN))
  await first.has(MANY * 2)
  await first.stop()

  let turns = 0
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const second = await start(store)
  undo.push(second.stop)
  for (let call = 0; call < MANY; call += 1) second.feed(ofCall(call, FINISH))
  await second.caughtUp()
  isOver = true
  expect(turns).toBeGreaterThan(5)
  await second.has(MANY * 4)
  const ofEach = Map.groupBy(second.stored, ({ callId }) => callId)
  expect(ofEach.size).toBe(MANY)
  for (const [, events] of ofEach) expect(events.map(({ sequence }) => sequence)).toEqual([3, 4, 5, 6])
})

test('calls beyond the setting are not followed; when there is room again the list of the PBX is asked for', async () => {
  const room = Promise.withResolvers<void>()
  const ingest = await start(openStore(), { maxCalls: 2, onRoom: room.resolve })
  undo.push(ingest.stop)
  const caller = (id: string): Signal =>
    at({ kind: 'channel', id, linkedId: id, endpoint: outside, dialledNumber: '200', originated: false, shown: null })
  ingest.feed(['a', 'b', 'c', 'd'].map(caller))
  expect([ingest.open(), ingest.isFull(), ingest.notFollowed()]).toEqual([2, true, { ever: 2, now: 2 }])
  ingest.feed(['a', 'b', 'c'].map((id) => at({ kind: 'hangup', id, end })))
  await room.promise
  expect([ingest.isFull(), ingest.notFollowed()]).toEqual([false, { ever: 2, now: 0 }])
})
