// prom-client's main module would load `node:http` for the push gateway: 10 ms at each start.
import Counter from 'prom-client/lib/counter.js'
import Gauge from 'prom-client/lib/gauge.js'
import Registry from 'prom-client/lib/registry.js'
import type { Dispatcher, Observer, RefusalWatch } from '../deliveries/deliveries.ts'
import { AGENT_STATES, PHONE_STATES, TRUNK_STATES } from '../events/states.ts'
import { Fault } from '../lib/fault.ts'
import { type NowUs, SECOND } from '../lib/time.ts'
import { PBX_STATES, type WatchedStatus } from '../pbx/pbx.ts'
import type { Present } from '../states/states.ts'
import type { DiskWatch } from '../store/sqlite/engine/disk-space.ts'
import type { Store } from '../store/store.ts'
import { METRICS, type MetricDefinition } from './catalog.ts'
import { addTo, newLatency } from './counts.ts'

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

/** Creates the metrics of one process. Labels name configured PBXs only, never anything that a client chose. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const attempts = new Map<string, number>()
  const probes = new Map<string, number>()
  const finished = new Map<string, number>()
  counter(METRICS.attempts, registry, (add) => {
    for (const [outcome, count] of attempts) add({ outcome, probe: 'false' }, count)
    for (const [outcome, count] of probes) add({ outcome, probe: 'true' }, count)
  })
  counter(METRICS.finished, registry, (add) => {
    for (const [state, count] of finished) add({ state }, count)
  })
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
    watch: (watched) => addGauges(registry, watched),
    text: async () => [await registry.metrics(), first.text(), delivered.text(), duration.text()].join(''),
  }
}

/** A counter with labels that is kept elsewhere: `read` adds its totals. */
function counter(
  definition: MetricDefinition,
  registry: Registry,
  read: (add: (labels: Readonly<Record<string, string>>, count: number) => void) => void,
): void {
  new Counter({
    ...settingsOf(definition, registry),
    collect() {
      this.reset()
      read((labels, count) => this.inc(labels, count))
    },
  })
}

function settingsOf({ name, help, labels = [] }: MetricDefinition, registry: Registry) {
  return { name, help, labelNames: [...labels], registers: [registry] }
}

function addGauges(
  registry: Registry,
  { store, dispatcher, refusals, contacts, disk, node, pbxs, states, unstored, steadyUs }: Watched,
): void {
  /** An unknown value has no sample: 0 would be a value. */
  const gauge = (definition: MetricDefinition, read: () => number | undefined | Promise<number | undefined>) =>
    new Gauge({
      ...settingsOf(definition, registry),
      async collect() {
        const value = await read()
        if (value === undefined) this.remove()
        else this.set(value)
      },
    })
  const total = (definition: MetricDefinition, read: () => number) =>
    counter(definition, registry, (add) => add({}, read()))
  const backlog = backlogOf(store, steadyUs)
  total(METRICS.interrupted, dispatcher.interrupted)
  total(METRICS.sendingRestarts, dispatcher.restarts)
  gauge(METRICS.pending, async () => (await unlessUnavailable(backlog()))?.pending)
  gauge(METRICS.oldestPending, async () => (await unlessUnavailable(backlog()))?.oldestS)
  gauge(METRICS.inFlight, () => dispatcher.inFlight)
  counter(METRICS.contactLookUps, registry, (add) => {
    for (const [outcome, count] of contacts.outcomes()) add({ outcome }, count)
  })
  gauge(METRICS.contactBreakers, contacts.openBreakers)
  gauge(METRICS.webhooksDown, () => dispatcher.down().now)
  gauge(METRICS.webhooksDownLong, () => dispatcher.down().long)
  gauge(METRICS.webhooksRefusing, () => refusals.refusing().length)
  gauge(METRICS.unstored, unstored)
  total(METRICS.commits, () => store.commits.batches)
  total(METRICS.commitWrites, () => store.commits.writes)
  total(METRICS.commitFailures, () => store.commits.failed)
  gauge(METRICS.commitDuration, () => store.commits.lastMs / 1_000)
  gauge(METRICS.commitQueued, () => store.commits.waiting)
  gauge(METRICS.diskFree, disk.freeBytes)
  gauge(METRICS.diskNearlyFull, () => Number(disk.nearlyFull()))
  gauge(METRICS.memory, () => process.memoryUsage.rss())
  addPbxMetrics(registry, pbxs)
  addStateGauges(registry, states)
  addNodeGauges(registry, node)
  addRecordingGauge(registry, store)
}

function addNodeGauges(registry: Registry, node: Watched['node']): void {
  new Gauge({
    ...settingsOf(METRICS.owned, registry),
    collect() {
      if (node === undefined) return
      const { accounts, pbxs } = node.counts()
      this.set({ kind: 'account' }, accounts)
      this.set({ kind: 'pbx' }, pbxs)
    },
  })
  new Gauge({
    ...settingsOf(METRICS.databaseAnswers, registry),
    collect() {
      if (node !== undefined) this.set({ role: 'cluster' }, Number(node.isTrusted()))
    },
  })
}

const SHOWN_RECORDING_STATES = ['pending', 'saved', 'failed'] as const

function addRecordingGauge(registry: Registry, { recordings }: Store): void {
  new Gauge({
    ...settingsOf(METRICS.recordings, registry),
    async collect() {
      const counts = await unlessUnavailable(recordings.recordingCount())
      this.reset()
      if (counts !== undefined) for (const state of SHOWN_RECORDING_STATES) this.set({ state }, counts[state])
    },
  })
}

function addPbxMetrics(registry: Registry, pbxs: Watched['pbxs']): void {
  new Gauge({
    ...settingsOf(METRICS.pbxState, registry),
    collect() {
      // A PBX that was removed, or is watched by another node now, has no state here.
      this.reset()
      for (const { name, state } of pbxs())
        for (const one of PBX_STATES) this.set({ pbx: name, state: one }, Number(one === state))
    },
  })
  const countEach = (definition: MetricDefinition, read: (status: WatchedStatus) => number) =>
    counter(definition, registry, (add) => {
      for (const status of pbxs()) add({ pbx: status.name }, read(status))
    })
  countEach(METRICS.pbxEvents, (status) => status.events)
  countEach(METRICS.pbxUntrusted, ({ taints }) => taints)
  countEach(METRICS.pbxLongLines, ({ longLines }) => longLines)
  countEach(METRICS.pbxFailed, ({ faults }) => faults)
  countEach(METRICS.callsWithoutAccount, (status) => status.callsWithoutAccount)
  countEach(METRICS.callsNotFollowed, (status) => status.callsNotFollowed.ever)
  countEach(METRICS.callsEndedEarly, (status) => status.callsEndedEarly)
}

const STATES_OF = { phone: PHONE_STATES, trunk: TRUNK_STATES, agent: AGENT_STATES } as const
const METRIC_OF = { phone: METRICS.phones, trunk: METRICS.trunks, agent: METRICS.agents } as const

/** Adds the numbers of phones, trunks and agents in each state, and of waiting callers; their names are no labels. */
function addStateGauges(registry: Registry, states: Watched['states']): void {
  for (const kind of ['phone', 'trunk', 'agent'] as const)
    new Gauge({
      ...settingsOf(METRIC_OF[kind], registry),
      collect() {
        this.reset()
        for (const [pbx, present] of states()) {
          const counts = new Map<string, number>(STATES_OF[kind].map((state) => [state, 0]))
          for (const one of present)
            if (one.kind === kind) counts.set(one.state.state, (counts.get(one.state.state) ?? 0) + 1)
          for (const [state, count] of counts) this.set({ pbx, state }, count)
        }
      },
    })
  new Gauge({
    ...settingsOf(METRICS.callersWaiting, registry),
    collect() {
      this.reset()
      for (const [pbx, present] of states()) {
        let waiting = 0
        for (const one of present) if (one.kind === 'queue') waiting += one.state.waiting
        this.set({ pbx }, waiting)
      }
    },
  })
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
