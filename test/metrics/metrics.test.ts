import { afterEach, expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { Fault } from '../../src/lib/fault.ts'
import { SECOND } from '../../src/lib/time.ts'
import { createMetrics } from '../../src/metrics/measurement.ts'
import { metricsRoutes } from '../../src/metrics/routes.ts'
import type { WatchedStatus } from '../../src/pbx/watch/watched-pbx.ts'
import type { Present } from '../../src/states/board/subject.ts'
import { type DiskWatch, NO_DISK } from '../../src/store/sqlite/engine/disk-space.ts'
import { newRig } from '../deliveries/run/rig.ts'
import { startApi } from '../help/api.ts'
import { readScrape, type Sample, sumOf } from '../help/prometheus.ts'
import { startReceiver, until } from '../help/receiver.ts'

/** The metrics of a store, a dispatcher and receivers that are real. The receiver answers by path: /200, /418, /500, or not at all. */

const unanswered: ((response: Response) => void)[] = []
const receiver = startReceiver(({ path }) =>
  path === '/hang'
    ? new Promise<Response>((resolve) => unanswered.push(resolve))
    : new Response('', { status: Number(path.slice(1)) }),
)
const url = (path: string) => `${receiver.url}/${path}`
afterEach(() => {
  receiver.received.length = 0
})

const since = '2026-11-20T21:50:00.104118Z'
const STATES: ReadonlyMap<string, readonly Present[]> = new Map([
  [
    'office',
    [
      {
        kind: 'phone',
        state: { extension: '101', name: null, state: 'registered', since, device: 'idle', contacts: 1 },
      },
      {
        kind: 'phone',
        state: { extension: '102', name: null, state: 'registered', since, device: 'idle', contacts: 1 },
      },
      { kind: 'trunk', state: { trunk: 'carrier', state: 'rejected', since, reason: null } },
      { kind: 'agent', state: { extension: '101', queue: 'support', state: 'paused', reason: null, since } },
      {
        kind: 'queue',
        state: { queue: 'support', waiting: 3, longest_wait: 0, available: 0, busy: 0, paused: 1 },
        waitingSinceUs: 0,
      },
    ],
  ],
])

const PBX: WatchedStatus = {
  name: 'of"fice',
  account: 'default',
  kind: 'asterisk',
  state: 'up',
  sinceUs: 0,
  lastError: null,
  eventsPerSecond: 0,
  events: 7,
  taints: 3,
  longLines: 4,
  overruns: 0,
  faults: 2,
  callsEndedEarly: 0,
  callsNotFollowed: { ever: 6, now: 5 },
  callsWithoutAccount: 5,
}

const DISK: DiskWatch = { freeBytes: () => 1e9, nearlyFull: () => false, stop: async () => {} }

/** Returns a clock that is a step further each time that it is read. */
function createSteps(fromUs: number, stepUs: number) {
  let atUs = fromUs
  return () => {
    atUs += stepUs
    return atUs
  }
}

/** A rig that is measured. */
async function measured(options: Parameters<typeof newRig>[0] = {}, disk: DiskWatch = DISK) {
  const metrics = createMetrics()
  const rig = await newRig({ scheduleMs: [], observer: metrics.observer, ...options })
  const { store, dispatcher } = rig
  metrics.watch({
    store,
    dispatcher,
    refusals: { refusing: () => [{ webhookId: 7, accountId: 1 }] },
    contacts: { outcomes: () => new Map([['found', 2]]), openBreakers: () => 0 },
    disk,
    pbxs: () => [PBX],
    states: () => STATES,
    unstored: () => 3,
    steadyUs: rig.clock.steadyUs,
  })
  const scrape = async () => readScrape(await metrics.text())
  return {
    rig,
    metrics,
    scrape,
    /** Waits until a sample has a value. */
    async reaches(name: string, value: number, labels: Record<string, string> = {}): Promise<Sample[]> {
      await until(`${name} is ${value}`, async () => sumOf(await scrape(), name, labels) === value)
      return scrape()
    },
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  }
}

test('attempts are counted by outcome, deliveries by state, and each is timed once', async () => {
  await using all = await measured()
  await all.rig.setUrls(url('200'), url('418'), 'http://127.0.0.1:1/')
  await all.rig.emit('a', 'b')
  const samples = await all.reaches('hookswitch_attempts_total', 6)
  const attempts = (outcome: string) => sumOf(samples, 'hookswitch_attempts_total', { outcome, probe: 'false' })
  expect(['delivered', 'refused', 'unreachable'].map(attempts)).toEqual([2, 2, 2])
  const ended = (state: string) => sumOf(samples, 'hookswitch_deliveries_total', { state })
  expect(['delivered', 'failed', 'cancelled'].map(ended)).toEqual([2, 4, undefined])
  const counts = ['first_attempt', 'delivered', 'attempt'].map((of) => sumOf(samples, `hookswitch_${of}_seconds_count`))
  expect(counts).toEqual([6, 2, 6])
})

test('phones, trunks and agents are counted by state, and the callers who wait', async () => {
  await using all = await measured()
  const samples = await all.scrape()
  const count = (name: string, labels: Record<string, string> = {}) => sumOf(samples, name, labels)
  expect(count('hookswitch_phones', { pbx: 'office', state: 'registered' })).toBe(2)
  expect(count('hookswitch_phones', { pbx: 'office', state: 'unreachable' })).toBe(0)
  expect(count('hookswitch_trunks', { pbx: 'office', state: 'rejected' })).toBe(1)
  expect(count('hookswitch_agents', { pbx: 'office', state: 'paused' })).toBe(1)
  expect(count('hookswitch_callers_waiting', { pbx: 'office' })).toBe(3)
})

test('a retry is no first attempt', async () => {
  await using all = await measured({ scheduleMs: [20] })
  await all.rig.setUrls(url('418'))
  await all.rig.emit('a')
  const samples = await all.reaches('hookswitch_deliveries_total', 1, { state: 'failed' })
  expect(sumOf(samples, 'hookswitch_attempts_total')).toBe(2)
  expect(sumOf(samples, 'hookswitch_first_attempt_seconds_count')).toBe(1)
})

test('the buckets of a latency grow to its count, and reach from a millisecond to an hour', async () => {
  await using all = await measured()
  await all.rig.setUrls(url('200'))
  await all.rig.emit(...Array.from({ length: 50 }, (_, n) => `call ${n}`))
  const samples = await all.reaches('hookswitch_delivered_seconds_count', 50)
  const buckets = samples.filter(({ name }) => name === 'hookswitch_delivered_seconds_bucket')
  expect(buckets.map(({ labels }) => labels.le)).toEqual(
    expect.arrayContaining(['0.001', '0.02', '10', '3600', '+Inf']),
  )
  const counts = buckets.map(({ value }) => value)
  expect(counts).toEqual(counts.toSorted((one, other) => one - other))
  expect(counts.at(-1)).toBe(50)
  expect(sumOf(samples, 'hookswitch_delivered_seconds_sum')).toBeGreaterThan(0)
})

test('webhooks that are down are counted, their probes apart, and their pending deliveries with their age', async () => {
  await using all = await measured({ scheduleMs: [60_000] })
  await all.rig.setUrls(url('500'))
  await all.rig.emit(...Array.from({ length: 8 }, (_, n) => `call ${n}`))
  const samples = await all.reaches('hookswitch_webhooks_down', 1)
  expect(sumOf(samples, 'hookswitch_webhooks_down_long')).toBe(0)
  expect(sumOf(samples, 'hookswitch_webhooks_refusing')).toBe(1)
  expect(sumOf(samples, 'hookswitch_deliveries_pending')).toBe(8)
  expect(sumOf(samples, 'hookswitch_oldest_pending_seconds')).toBeGreaterThan(0)
  await until('it is probed', async () => {
    const probes = sumOf(await all.scrape(), 'hookswitch_attempts_total', { probe: 'true' })
    return (probes ?? 0) >= 1
  })
  await all.rig.setUrls()
  await all.reaches('hookswitch_deliveries_total', 8, { state: 'cancelled' })
  await all.reaches('hookswitch_webhooks_down', 0)
})

test('attempts in flight, commits, the disk and the PBXs are measured as they are', async () => {
  await using all = await measured()
  await all.rig.setUrls(url('hang'))
  await all.rig.emit('a', 'b')
  const samples = await all.reaches('hookswitch_attempts_in_flight', 2)
  const commits = async () => sumOf(await all.scrape(), 'hookswitch_commits_total')
  await until('every commit is counted', async () => (await commits()) === all.rig.db.commits.batches)
  expect(sumOf(samples, 'hookswitch_commit_writes_total')).toBeGreaterThanOrEqual(2)
  expect(sumOf(samples, 'hookswitch_commit_failures_total')).toBe(0)
  expect(sumOf(samples, 'hookswitch_events_unstored')).toBe(3)
  expect(sumOf(samples, 'hookswitch_disk_free_bytes')).toBe(1e9)
  expect(sumOf(samples, 'hookswitch_memory_bytes')).toBeGreaterThan(1e6)
  expect(sumOf(samples, 'hookswitch_pbx_events_total', { pbx: 'of\\"fice' })).toBe(7)
  expect(sumOf(samples, 'hookswitch_pbx_untrusted_events_total', { pbx: 'of\\"fice' })).toBe(3)
  expect(sumOf(samples, 'hookswitch_pbx_long_lines_total', { pbx: 'of\\"fice' })).toBe(4)
  expect(sumOf(samples, 'hookswitch_calls_not_followed_total', { pbx: 'of\\"fice' })).toBe(6)
  expect(sumOf(samples, 'hookswitch_pbx_failed_events_total', { pbx: 'of\\"fice' })).toBe(2)
  const states = samples.filter(({ name }) => name === 'hookswitch_pbx_state')
  expect(states.map(({ labels, value }) => [labels.state, value])).toEqual([
    ['connecting', 0],
    ['up', 1],
    ['down', 0],
    ['refused', 0],
  ])
  await until('both have come', () => unanswered.length === 2)
  for (const answer of unanswered) answer(new Response())
})

test('while the store cannot be read, all that does not need it is measured', async () => {
  await using rig = await newRig({ scheduleMs: [] })
  const unavailable = async () => {
    throw new Fault('unavailable', 'The database does not answer.')
  }
  let isAvailable = true
  const { store, dispatcher, clock } = rig
  const metrics = createMetrics()
  metrics.watch({
    dispatcher,
    refusals: { refusing: () => [{ webhookId: 7, accountId: 1 }] },
    contacts: { outcomes: () => new Map([['found', 2]]), openBreakers: () => 0 },
    store: {
      ...store,
      queue: { ...store.queue, pendingCount: () => (isAvailable ? store.queue.pendingCount() : unavailable()) },
      recordings: {
        ...store.recordings,
        recordingCount: () => (isAvailable ? store.recordings.recordingCount() : unavailable()),
      },
    },
    disk: NO_DISK,
    node: { counts: () => ({ accounts: 2, pbxs: 1 }), isTrusted: () => isAvailable },
    pbxs: () => [PBX],
    states: () => STATES,
    unstored: () => 3,
    // Each scrape is long after the one before.
    steadyUs: createSteps(clock.steadyUs(), 60 * SECOND),
  })
  const scrape = async () => readScrape(await metrics.text())
  const ofStore = ['hookswitch_deliveries_pending', 'hookswitch_oldest_pending_seconds', 'hookswitch_recordings']
  const before = await scrape()
  expect(ofStore.map((name) => sumOf(before, name))).toEqual([0, 0, 0])
  isAvailable = false
  const during = await scrape()
  expect(ofStore.map((name) => sumOf(during, name))).toEqual([undefined, undefined, undefined])
  expect(sumOf(during, 'hookswitch_database_answers')).toBe(0)
  expect(sumOf(during, 'hookswitch_events_unstored')).toBe(3)
  isAvailable = true
  const after = await scrape()
  expect(ofStore.map((name) => sumOf(after, name))).toEqual([0, 0, 0])
})

test('an unknown figure has no value: the free space if the store is a database', async () => {
  await using all = await measured({}, NO_DISK)
  expect(sumOf(await all.scrape(), 'hookswitch_disk_free_bytes')).toBeUndefined()
})

test('no label is made of what clients choose: a hundred URLs make no more samples than one', async () => {
  await using all = await measured()
  await all.rig.setUrls(url('200'))
  await all.rig.emit('a')
  const few = await all.reaches('hookswitch_deliveries_total', 1)
  await all.rig.setUrls(...Array.from({ length: 100 }, (_, n) => url(`200?customer=${n}`)))
  await all.rig.emit('a', 'b')
  const many = await all.reaches('hookswitch_deliveries_total', 201)
  expect(many.map(({ name, labels }) => [name, labels])).toEqual(few.map(({ name, labels }) => [name, labels]))
  const labels = new Set(many.flatMap((sample) => Object.keys(sample.labels)))
  expect(labels).toEqual(new Set(['outcome', 'probe', 'state', 'le', 'pbx']))
})

test.each([
  ['with the token of the setting', 'right', { authorization: 'Bearer right' }, 200],
  ['the scheme in any case', 'right', { authorization: 'bearer right' }, 200],
  ['with another token', 'right', { authorization: 'Bearer wrong' }, 401],
  ['with a token that begins so', 'right', { authorization: 'Bearer righteous' }, 401],
  ['without a token', 'right', {}, 401],
  ['without the setting there is none', undefined, { authorization: 'Bearer undefined' }, 404],
])('scraping, %s', async (_, setting, headers, status) => {
  await using all = await measured()
  const api = await startApi(all.rig.store, () => new Elysia().use(metricsRoutes(setting, all.metrics)))
  const response = await fetch(`${api.url}/metrics`, { headers: { accept: 'text/plain', ...headers } })
  expect(response.status).toBe(status)
  if (status === 200) {
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(readScrape(await response.text()).length).toBeGreaterThan(10)
  } else expect(await response.json()).toMatchObject({ code: status, result: [] })
  await api.stop()
})
