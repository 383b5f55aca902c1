import { afterEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { startIngest } from '../../../src/calls/ingest/ingest.ts'
import type { ChannelSignal, Signal } from '../../../src/calls/signal.ts'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import type { ContactDirectory } from '../../../src/contacts/directory.ts'
import { readCallEventBody, readCallRecord } from '../../../src/events/stored-json.ts'
import { createLog } from '../../../src/lib/log.ts'
import { openClock } from '../../../src/store/clock.ts'
import type { StoredEvent } from '../../../src/store/operations/calls.ts'
import { emptyFolder } from '../../help/app.ts'
import { until } from '../../help/receiver.ts'
import { playCase, seedsOf } from '../../help/seed.ts'
import { type OpenStore, openStore as openStoreAt } from '../../help/store.ts'

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

type Found = { id: string; name: string; company: null; url: null; owner: null }
const contactOf = (number: string): Found => ({
  id: number,
  name: `N ${number}`,
  company: null,
  url: null,
  owner: null,
})

/** A directory whose look-ups end when the test says so. */
function startDirectory(waitMs = 3_600_000) {
  const asked = new Map<string, (contact: Found | null) => void>()
  const directory: Pick<ContactDirectory, 'looksUp' | 'begin'> = {
    looksUp: () => true,
    begin(_, { number }) {
      const { promise, resolve } = Promise.withResolvers<Found | null>()
      asked.set(number, resolve)
      return { contact: promise, waitMs }
    },
  }
  return {
    asked,
    directory: directory as ContactDirectory,
    find: (number: string) => asked.get(number)?.(contactOf(number)),
  }
}

const at = (signal: ChannelSignal): Signal => ({ atUs: Date.now() * 1_000, arrivedUs: 0, ...signal })
const end = { code: 16, result: 'no_answer', withdrawn: true, mayTransfer: false, forwardedTo: null } as const

/** An inbound call of a number to 101. */
function call(id: string, number: string) {
  const outside = { kind: 'external', number, name: null } as const
  const phone = { kind: 'extension', number: '101', name: null } as const
  const channel = { kind: 'channel', linkedId: id, originated: false, shown: null } as const
  const begin: ChannelSignal[] = [
    { ...channel, id, endpoint: outside, dialledNumber: '3020001' },
    { ...channel, id: `${id}b`, endpoint: phone, dialledNumber: null },
    { kind: 'dial_begin', source: id, dest: `${id}b`, endpoint: phone, shown: null },
    { kind: 'ringing', id: `${id}b` },
  ]
  const finish: ChannelSignal[] = [
    { kind: 'dial_end', source: id, dest: `${id}b`, result: 'answered', forwardedTo: null },
    { kind: 'hangup_requested', id },
    { kind: 'hangup', id, end },
    { kind: 'hangup', id: `${id}b`, end },
  ]
  return { begin: begin.map(at), finish: finish.map(at) }
}
const ALL = ['call_started', 'dial_started', 'dial_answered', 'dial_ended', 'call_ended', 'call_saved']

async function start(store: OpenStore, options: Partial<Parameters<typeof startIngest>[0]> = {}) {
  const stored: StoredEvent[] = []
  const ingest = await startIngest({
    calls: store.calls,
    history: store.log,
    ownership: OWNS_EVERYTHING,
    clock: await openClock({ maintenance: store.maintenance, log }),
    pbx: 'office',
    account: 'default',
    accountId: 1,
    onStored: (more) => void stored.push(...more),
    onMissed: () => {},
    onFault: () => {},
    log,
    ...options,
  })
  const bodies = () => stored.map(({ body }) => readCallEventBody(body))
  const seen = () =>
    bodies().map(({ data }) => [data.call.from.number, data.name, data.call.from.contact?.name ?? null])
  return { ...ingest, stored, bodies, seen }
}

test('a call waits for its contact, in its order, and no other call does', async () => {
  const store = openStore()
  const { directory, asked, find } = startDirectory()
  const ingest = await start(store, { contacts: directory })
  undo.push(ingest.stop)
  const [slow, quick] = [call('a', '15551230001'), call('c', '15551230002')]
  ingest.feed([...slow.begin, ...quick.begin])
  expect([...asked.keys()]).toEqual(['15551230001', '15551230002'])
  find('15551230002')
  await until('the other call is stored', () => ingest.stored.length === 2)
  ingest.feed(quick.finish)
  ingest.feed(slow.finish)
  await until('all of it is stored', () => ingest.stored.length === 6)
  expect(ingest.seen()).toEqual(ALL.map((name) => ['15551230002', name, 'N 15551230002']))
  find('15551230001')
  await until('both are stored', () => ingest.stored.length === 12)
  expect(ingest.seen().slice(6)).toEqual(ALL.map((name) => ['15551230001', name, 'N 15551230001']))
  // Only the number from outside was looked up, once.
  expect(asked.size).toBe(2)
  expect(ingest.bodies().every(({ data }) => data.call.to.contact === null)).toBe(true)
  const wanted = { accountId: 1, filter: {}, limit: 10, after: undefined }
  const saved = (await store.calls.callList(wanted)).map(({ record }) => readCallRecord(record).call.from.contact?.id)
  expect(saved.toSorted()).toEqual(['15551230001', '15551230002'])
  expect(await store.maintenance.verify()).toEqual([])
})

test('a contact that is not found in time is in later events', async () => {
  const store = openStore()
  const { directory, find } = startDirectory(5)
  const ingest = await start(store, { contacts: directory })
  undo.push(ingest.stop)
  const { begin, finish } = call('a', '15551230001')
  ingest.feed(begin)
  await until('it waits no more', () => ingest.stored.length === 2)
  expect(ingest.seen().map(([, , name]) => name)).toEqual([null, null])
  find('15551230001')
  await Bun.sleep(0)
  const [live] = [...ingest.liveCalls(1)]
  expect(live?.call.from.contact?.name).toBe('N 15551230001')
  ingest.feed(finish)
  await until('it is saved', () => ingest.stored.length === 6)
  expect(ingest.seen().map(([, , name]) => name)).toEqual([null, null, ...ALL.slice(2).map(() => 'N 15551230001')])
})

test('nothing waits where there is nothing to wait for', async () => {
  const store = openStore()
  const known = { looksUp: () => true, begin: (_: number, { number }: { number: string }) => contactOf(number) }
  const ingest = await start(store, { contacts: known as unknown as ContactDirectory })
  undo.push(ingest.stop)
  ingest.feed(call('a', '15551230001').begin)
  await until('it is stored', () => ingest.stored.length === 2)
  expect(ingest.seen().map(([, , name]) => name)).toEqual(['N 15551230001', 'N 15551230001'])
})

test('a stop waits for no contact', async () => {
  const store = openStore()
  const { directory } = startDirectory()
  const ingest = await start(store, { contacts: directory })
  ingest.feed(call('a', '15551230001').begin)
  expect(ingest.pendingEvents()).toBe(2)
  await ingest.stop()
  expect(ingest.stored.map(({ name }) => name)).toEqual(['call_started', 'dial_started'])
})

test('a call that waits when the process dies has no part of itself in the store', async () => {
  const store = openStore()
  const { directory, find } = startDirectory()
  const ingest = await start(store, { contacts: directory })
  undo.push(ingest.stop)
  ingest.feed([...call('a', '15551230001').begin, ...call('c', '15551230002').begin])
  find('15551230002')
  await until('the other call is stored', () => ingest.stored.length === 2)
  const rows = await store.calls.liveCallList('office')
  expect(rows.map(({ id }) => id)).toEqual(ingest.stored.slice(0, 1).map(({ callId }) => callId))
})

for (const seed of seedsOf(1_501, 12))
  test(`calls wait, end and are killed in any order: nothing is missing, twice or out of order (seed ${seed})`, () =>
    playCase(seed, async (random) => {
      const store = openStore()
      let isDead = false
      let last: Promise<unknown> | undefined
      const never = new Promise<never>(() => {})
      const calls: typeof store.calls = {
        ...store.calls,
        batchStore(batch) {
          if (isDead) return never
          const storing = store.calls.batchStore(batch)
          last = storing
          return storing
        },
      }
      const { directory, asked, find } = startDirectory(random.chance(0.3) ? 3 : 3_600_000)
      const first = await start(store, { contacts: directory, calls })
      const all = Array.from({ length: 8 }, (_, index) => call(`c${index}`, `1555123000${index}`))
      const steps = all
        .flatMap(({ begin, finish }) => {
          const beginsAt = random.next()
          return [
            { at: beginsAt, signals: begin },
            { at: beginsAt + random.next(), signals: finish },
          ]
        })
        .toSorted((one, other) => one.at - other.at)
      const diesAt = random.chance(0.5) ? random.int(steps.length) : steps.length
      for (const [place, step] of steps.entries()) {
        if (place === diesAt) break
        first.feed(step.signals)
        if (random.chance(0.5)) find(random.pick([...asked.keys()]))
        if (random.chance(0.5)) await Bun.sleep(random.int(3))
      }
      isDead = diesAt < steps.length
      // All signals that were fed before are stored.
      await last
      if (!isDead) {
        for (const number of asked.keys()) find(number)
        await until('all is stored', () => first.stored.length >= all.length * ALL.length)
        expect(first.stored).toHaveLength(all.length * ALL.length)
        await first.stop()
      }
      // The next process asks the PBX, which has no calls now.
      const next = await start(store)
      undo.push(next.stop)
      const now = { atUs: Date.now() * 1_000, arrivedUs: 0 }
      next.feed([
        { ...now, kind: 'connected', first: true, boot: null },
        { ...now, kind: 'snapshot', channels: [] },
      ])
      await until('every call has ended', () => next.open() === 0 && next.pendingEvents() === 0)
      const sequences = Map.groupBy([...first.stored, ...next.stored], ({ callId }) => callId)
      for (const found of sequences.values())
        expect(found.map(({ sequence }) => sequence)).toEqual(found.map((_, index) => index + 1))
      expect(await store.maintenance.verify()).toEqual([])
    }))
