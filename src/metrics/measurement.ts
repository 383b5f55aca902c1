import type { Dispatcher, Observer, RefusalWatch } from '../deliveries/deliveries.ts'
import { AGENT_STATES, PHONE_STATES, TRUNK_STATES } from '../events/states.ts'
import { Fault } from '../lib/fault.ts'
import { type NowUs, SECOND } from '../lib/time.ts'
import { PBX_STATES, type WatchedStatus } from '../pbx/pbx.ts'
import type { Present } from '../states/states.ts'
import type { DiskWatch } from '../store/sqlite/engine/disk-space.ts'
import type { Store } from '../store/store.ts'
import { METRICS, type MetricDefinition } from './catalog.ts'
import { metricText, newLatency, type Sample } from './exposition.ts'

/** The parts of the service that are read at each scrape. */
type Watched = {
  readonly store: Store
  readonly dispatcher: Dispatcher
  readonly refusals: Pick<RefusalWatch, 'refusing'>
  readonly contacts: { outcomes(): ReadonlyMap<string, number>; openBreakers(): number }
  readonly disk: DiskWatch
  /** The node, where several share a database. */
  readonly node?: { counts(): { readonly accounts: number; readonly pbxs: number }; isTrusted(): boolean } | undefined
  readonly pbxs: () => readonly WatchedStatus[]
  /** Returns the present states of each PBX that this node is connected to, by name. */
  readonly states: () => ReadonlyMap<string, readonly Present[]>
  /** Returns the number of events that were emitted but are not stored yet. */
  readonly unstored: () => number
  /** The steady clock, by which retries are due. */
  readonly steadyUs: NowUs
}

export type Metrics = { readonly observer: Observer; watch(watched: Watched): void; text(): Promise<string> }

/** The backlog is counted at most once in this time, since that reads the store, however often metrics are scraped. */
const BACKLOG_FRESH_US = 5 * SECOND

/** A metric, and how a scrape reads its samples. An unknown value is `undefined`: 0 would be a value. */
type Reading = readonly [metric: MetricDefinition, read: () => Samples | Promise<Samples>]
type Samples = number | undefined | readonly Sample[]

/** Creates the metrics of one process. Labels name configured PBXs only, never anything that a client chose. */
export function createMetrics(): Metrics {
  const attempts = new Map<string, number>()
  const probes = new Map<string, number>()
  const finished = new Map<string, number>()
  const readings: Reading[] = [
    [
      METRICS.attempts,
      () => [...labelled(attempts, 'outcome', { probe: 'false' }), ...labelled(probes, 'outcome', { probe: 'true' })],
    ],
    [METRICS.finished, () => labelled(finished, 'state')],
  ]
  const first = newLatency(METRICS.firstAttempt)
  const delivered = newLatency(METRICS.delivered)
  const duration = newLatency(METRICS.attemptDuration)

  return {
    observer: {
      started(item, waitedUs) {
        if (item.attemptsMade === 0 && item.dueUs === undefined) first.observe(waitedUs / SECOND)
      },
      ended({ attempted: { outcome, durationMs }, state, probe, waitedUs }) {
        addTo(probe ? probes : attempts, outcome.kind)
        duration.observe(durationMs / 1_000)
        if (state !== 'pending') addTo(finished, state)
        if (state === 'delivered') delivered.observe(waitedUs / SECOND)
      },
      endedUnsent: (count, state) => addTo(finished, state, count),
      webhookRemoved() {},
    },
    watch(watched) {
      readings.push(...serviceReadings(watched), ...pbxReadings(watched.pbxs), ...stateReadings(watched.states))
      readings.push(...nodeReadings(watched.node), [METRICS.recordings, () => recordingSamples(watched.store)])
    },
    async text() {
      const texts = readings.map(async ([metric, read]) => {
        const samples = await read()
        return metricText(metric, typeof samples === 'number' ? [[{}, samples]] : (samples ?? []))
      })
      return [...(await Promise.all(texts)), first.text(), delivered.text(), duration.text()].join('\n')
    },
  }
}

function addTo(counts: Map<string, number>, key: string, count = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + count)
}

/** Returns counts as samples: their keys become the values of a label. */
const labelled = (counts: ReadonlyMap<string, number>, label: string, labels: Sample[0] = {}): Sample[] =>
  Array.from(counts, ([key, count]) => [{ [label]: key, ...labels }, count])

function serviceReadings(watched: Watched): Reading[] {
  const { store, dispatcher, refusals, contacts, disk, unstored, steadyUs } = watched
  const backlog = backlogOf(store, steadyUs)
  return [
    [METRICS.interrupted, dispatcher.interrupted],
    [METRICS.sendingRestarts, dispatcher.restarts],
    [METRICS.pending, async () => (await unlessUnavailable(backlog()))?.pending],
    [METRICS.oldestPending, async () => (await unlessUnavailable(backlog()))?.oldestS],
    [METRICS.inFlight, () => dispatcher.inFlight],
    [METRICS.contactLookUps, () => labelled(contacts.outcomes(), 'outcome')],
    [METRICS.contactBreakers, contacts.openBreakers],
    [METRICS.webhooksDown, () => dispatcher.down().now],
    [METRICS.webhooksDownLong, () => dispatcher.down().long],
    [METRICS.webhooksRefusing, () => refusals.refusing().length],
    [METRICS.unstored, unstored],
    [METRICS.commits, () => store.commits.batches],
    [METRICS.commitWrites, () => store.commits.writes],
    [METRICS.commitFailures, () => store.commits.failed],
    [METRICS.commitDuration, () => store.commits.lastMs / 1_000],
    [METRICS.commitQueued, () => store.commits.waiting],
    [METRICS.diskFree, disk.freeBytes],
    [METRICS.diskNearlyFull, () => Number(disk.nearlyFull())],
    [METRICS.memory, () => process.memoryUsage.rss()],
  ]
}

/** A PBX that was removed, or that another node watches now, has no samples here. */
function pbxReadings(pbxs: Watched['pbxs']): Reading[] {
  const countEach = (metric: MetricDefinition, read: (status: WatchedStatus) => number): Reading => [
    metric,
    () => pbxs().map((status) => [{ pbx: status.name }, read(status)]),
  ]
  const stateSamples = ({ name, state }: WatchedStatus): Sample[] =>
    PBX_STATES.map((one) => [{ pbx: name, state: one }, Number(one === state)])
  return [
    [METRICS.pbxState, () => pbxs().flatMap(stateSamples)],
    countEach(METRICS.pbxEvents, (status) => status.events),
    countEach(METRICS.pbxUntrusted, ({ taints }) => taints),
    countEach(METRICS.pbxLongLines, ({ longLines }) => longLines),
    countEach(METRICS.pbxFailed, ({ faults }) => faults),
    countEach(METRICS.callsWithoutAccount, (status) => status.callsWithoutAccount),
    countEach(METRICS.callsNotFollowed, (status) => status.callsNotFollowed.ever),
    countEach(METRICS.callsEndedEarly, (status) => status.callsEndedEarly),
  ]
}

/** Reads how many phones, trunks and agents are in each state, and how many callers wait; their names are no labels. */
function stateReadings(states: Watched['states']): Reading[] {
  const countStates = (
    metric: MetricDefinition,
    kind: 'phone' | 'trunk' | 'agent',
    all: readonly string[],
  ): Reading => [
    metric,
    () =>
      Array.from(states()).flatMap(([pbx, present]) => {
        const counts = new Map(all.map((state) => [state, 0]))
        for (const one of present) if (one.kind === kind) addTo(counts, one.state.state)
        return Array.from(counts, ([state, count]): Sample => [{ pbx, state }, count])
      }),
  ]
  const waitingIn = (present: readonly Present[]): number =>
    present.reduce((sum, one) => sum + (one.kind === 'queue' ? one.state.waiting : 0), 0)
  return [
    countStates(METRICS.phones, 'phone', PHONE_STATES),
    countStates(METRICS.trunks, 'trunk', TRUNK_STATES),
    countStates(METRICS.agents, 'agent', AGENT_STATES),
    [METRICS.callersWaiting, () => Array.from(states(), ([pbx, present]): Sample => [{ pbx }, waitingIn(present)])],
  ]
}

const nodeReadings = (node: Watched['node']): Reading[] => [
  [
    METRICS.owned,
    () => {
      if (node === undefined) return undefined
      const { accounts, pbxs } = node.counts()
      return [
        [{ kind: 'account' }, accounts],
        [{ kind: 'pbx' }, pbxs],
      ]
    },
  ],
  [METRICS.databaseAnswers, () => (node === undefined ? undefined : [[{ role: 'cluster' }, Number(node.isTrusted())]])],
]

const SHOWN_RECORDING_STATES = ['pending', 'saved', 'failed'] as const

async function recordingSamples({ recordings }: Store): Promise<Samples> {
  const counts = await unlessUnavailable(recordings.recordingCount())
  return counts === undefined ? undefined : SHOWN_RECORDING_STATES.map((state) => [{ state }, counts[state]])
}

/** Prometheus gives up a scrape after 10 s: a value that the store has not returned in this time is left out. */
const STORE_WITHIN_MS = 3_000

/**
 * Resolves like the read; `undefined` if it fails or is too slow: the other metrics are needed most when the store is
 * down.
 */
async function unlessUnavailable<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(late.resolve, STORE_WITHIN_MS)
  try {
    return await Promise.race([reading, late.promise])
  } catch (error) {
    if (error instanceof Fault && error.code === 'unavailable') return undefined
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function backlogOf({ queue }: Store, steadyUs: NowUs) {
  let askedUs = Number.NEGATIVE_INFINITY
  let last: Promise<{ pending: number; oldestS: number }> = Promise.resolve({ pending: 0, oldestS: 0 })

  async function read(nowSteadyUs: number) {
    const oldestUs = await queue.pendingGetOldest()
    const oldestS = oldestUs === undefined ? 0 : Math.max(0, nowSteadyUs - oldestUs) / SECOND
    return { pending: await queue.pendingCount(), oldestS }
  }

  return () => {
    const now = steadyUs()
    if (now - askedUs < BACKLOG_FRESH_US) return last
    askedUs = now
    last = read(now)
    return last
  }
}
