import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Dispatcher } from '../deliveries/dispatcher.ts'
import type { Observer } from '../deliveries/observer.ts'
import { type NowUs, SECOND } from '../lib/time.ts'
import type { PbxStatus } from '../pbx/supervisor.ts'
import type { DiskWatch } from '../store/sqlite/disk.ts'
import type { Store } from '../store/store.ts'

/** What is asked when somebody scrapes. */
export type Watched = {
  readonly store: Store
  readonly dispatcher: Dispatcher
  readonly disk: DiskWatch
  readonly pbxs: () => readonly PbxStatus[]
  /** Events that are told but not on disk yet. */
  readonly unstored: () => number
  /** The clock on which deliveries wait. */
  readonly steadyUs: NowUs
}

export type Metrics = { readonly observer: Observer; watch(watched: Watched): void; text(): Promise<string> }

const LATENCY_S = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600]
const PBX_STATES = ['connecting', 'up', 'down', 'refused'] as const
/** Scrapers may come as often as they like: the backlog is counted once in this time. */
const BACKLOG_FRESH_US = 5 * SECOND

/** The metrics of one process. No label is made of what clients choose: the only names in them are those of the configured PBXs. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const attempts = new Counter({
    name: 'hookswitch_attempts_total',
    help: 'Attempts by outcome; probe: sent while the webhook was down',
    labelNames: ['outcome', 'probe'],
    registers,
  })
  const ended = new Counter({
    name: 'hookswitch_deliveries_total',
    help: 'Deliveries that ended, by state',
    labelNames: ['state'],
    registers,
  })
  const latency = (name: string, help: string) => new Histogram({ name, help, buckets: LATENCY_S, registers })
  const first = latency('hookswitch_first_attempt_seconds', 'From when an event was stored to its first attempt')
  const delivered = latency(
    'hookswitch_delivered_seconds',
    'From when an event was stored, or sent again by hand, to the answer that took it',
  )
  const duration = latency('hookswitch_attempt_seconds', 'How long attempts took')

  return {
    observer: {
      started(item, waitedUs) {
        if (item.attemptsMade === 0 && item.dueUs === undefined) first.observe(waitedUs / SECOND)
      },
      ended({ attempted: { outcome, durationMs }, state, probe, waitedUs }) {
        attempts.inc({ outcome: outcome.kind, probe: String(probe) })
        duration.observe(durationMs / 1_000)
        if (state !== 'pending') ended.inc({ state })
        if (state === 'delivered') delivered.observe(waitedUs / SECOND)
      },
      dropped: (count, state) => ended.inc({ state }, count),
      left() {},
    },
    watch: (watched) => addGauges(registry, watched),
    text: () => registry.metrics(),
  }
}

function addGauges(registry: Registry, { store, dispatcher, disk, pbxs, unstored, steadyUs }: Watched): void {
  const registers = [registry]
  const gauge = (name: string, help: string, read: () => number | undefined | Promise<number>) =>
    new Gauge({
      name: `hookswitch_${name}`,
      help,
      registers,
      async collect() {
        const value = await read()
        if (value !== undefined) this.set(value)
      },
    })
  /** Counted elsewhere: what is read is the whole. */
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name: `hookswitch_${name}`,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  const backlog = backlogOf(store, steadyUs)
  gauge(
    'deliveries_waiting',
    'Deliveries that wait, counted up to a million of each kind',
    async () => (await backlog()).pending,
  )
  gauge('oldest_waiting_seconds', 'How long the oldest delivery waits', async () => (await backlog()).oldestS)
  gauge('attempts_in_flight', 'Requests under way', () => dispatcher.inFlight)
  gauge('webhooks_down', 'Webhooks that are down', () => dispatcher.down().now)
  gauge('webhooks_down_long', 'Webhooks that have been down for 5 minutes or more', () => dispatcher.down().long)
  gauge('events_unstored', 'Events that wait for the store', unstored)
  counter('commits_total', 'Group commits', () => store.commits.batches)
  counter('commit_writes_total', 'Writes in group commits', () => store.commits.writes)
  counter('commit_failures_total', 'Writes that failed', () => store.commits.failed)
  gauge('commit_seconds', 'How long the last group commit took', () => store.commits.lastMs / 1_000)
  gauge('commit_waiting', 'Writes that wait for a group commit', () => store.commits.waiting)
  gauge('disk_free_bytes', 'Room on the disk of the store', disk.freeBytes)
  gauge('disk_nearly_full', '1 when the disk of the store is nearly full', () => Number(disk.nearlyFull()))
  gauge('memory_bytes', 'Resident memory', () => process.memoryUsage.rss())
  perPbx(registry, pbxs)
}

function perPbx(registry: Registry, pbxs: Watched['pbxs']): void {
  const registers = [registry]
  new Gauge({
    name: 'hookswitch_pbx_state',
    help: '1 for the state that a PBX is in',
    labelNames: ['pbx', 'state'],
    registers,
    collect() {
      for (const { name, state } of pbxs())
        for (const one of PBX_STATES) this.set({ pbx: name, state: one }, Number(one === state))
    },
  })
  const counter = (name: string, help: string, read: (status: PbxStatus) => number) =>
    new Counter({
      name: `hookswitch_pbx_${name}_total`,
      help,
      labelNames: ['pbx'],
      registers,
      collect() {
        this.reset()
        for (const status of pbxs()) this.inc({ pbx: status.name }, read(status))
      },
    })
  counter('events', 'Events that a PBX has sent', (status) => status.events)
  counter('taints', 'Events that are not believed, since a caller may have written into them', ({ taints }) => taints)
  counter('faults', 'Events that made us fail and were left out', ({ faults }) => faults)
}

function backlogOf({ queue, webhooks }: Store, steadyUs: NowUs) {
  let askedUs = Number.NEGATIVE_INFINITY
  let last: Promise<{ pending: number; oldestS: number }> = Promise.resolve({ pending: 0, oldestS: 0 })

  async function read(nowSteadyUs: number) {
    const ids = await webhooks.webhookListActive()
    const oldest = (await Promise.all(ids.map((id) => queue.pendingGetOldest(id)))).filter((one) => one !== undefined)
    const oldestS = oldest.length === 0 ? 0 : Math.max(0, nowSteadyUs - Math.min(...oldest)) / SECOND
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
