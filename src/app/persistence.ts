import { hostname } from 'node:os'
import {
  accountLease,
  createLeaseKeeper,
  type LeaseKeeper,
  newClockSkew,
  newDatabaseClock,
  newPresetNeeds,
  OWNS_EVERYTHING,
  type Ownership,
  pbxLease,
} from '../cluster/cluster.ts'
import type { Log } from '../lib/log.ts'
import { type NowUs, nowUs, steadyUs } from '../lib/time.ts'
import { type Clock, openClock } from '../store/clock.ts'
import type { ClusterStore } from '../store/operations/cluster.ts'
import type { StatusStore } from '../store/operations/statuses.ts'
import { databaseFaultKind } from '../store/postgres/engine/store-fault.ts'
import type { NodeStores } from '../store/postgres/store.ts'
import { type DiskWatch, NO_DISK, startDiskWatch } from '../store/sqlite/engine/disk-space.ts'
import type { Store } from '../store/store.ts'
import type { Config } from './config.ts'
import { openServiceStore } from './open-store.ts'

/** The store and all that depends on its kind: a SQLite file for one node, or a Postgres database for several. */
export type Persistence = {
  readonly store: Store
  readonly ownership: Ownership
  /** The clock on which retries are due. */
  readonly clock: Clock
  /** The wall clock of events, equal on all nodes within a second. */
  readonly wallUs: NowUs
  readonly disk: DiskWatch
  /** The cluster, if there is one. */
  readonly cluster:
    | { readonly store: ClusterStore; readonly keeper: LeaseKeeper; readonly statuses: StatusStore; nodeId(): string }
    | undefined
  /**
   * How long attempts may go on when this node stops; then they are aborted, and another node sends them. `undefined`:
   * no other node, so each ends by its own time limit.
   */
  readonly drainMs: number | undefined
  /**
   * Joins the cluster as the node that answers at this URL. Resolves when other nodes may give it leases, or after 5 s
   * without an answer from the database.
   */
  join(url: string, node: NodePbxs & { readonly settings: string; readonly presets: readonly string[] }): Promise<void>
  /** Hands over all accounts and PBXs, each as soon as its work has ended. */
  leave(): Promise<void>
  stop(): Promise<void>
}

/** A node's knowledge of the PBXs. */
type NodePbxs = {
  readonly canWatch: (pbx: string) => boolean
  /** Returns the account id of each PBX that belongs to one account, by its name. */
  readonly accounts: () => ReadonlyMap<string, number>
}

type Options = { readonly log: Log; readonly version: string }

const DRAIN_MS = 1_000
/** The longest wait of a start for the first heartbeat. */
const JOINS_WITHIN_MS = 5_000

/**
 * Opens the store that the settings name.
 * @throws Fault when it cannot be used; its message is one sentence with what to do.
 */
export async function openPersistence(config: Config, { log, version }: Options): Promise<Persistence> {
  const { dataPath, database } = config
  // A thread of its own writes the file, so that a slow disk does not block the event loop. A small heap saves 15 MB
  // under load, and costs no time.
  const thread = () => new Worker(new URL('./writer.ts', import.meta.url).href, { smol: true })
  const { store, release, nodeStores } = await openServiceStore(
    {
      dataPath,
      database,
      node: `${hostname()} ${process.pid}`,
      onWaiting: (message) => log.warn(message),
      onMigrated({ from, to, seconds }) {
        // A start that fails with a new store prints one line: its reason.
        if (from === 0) log.debug({ to, seconds }, 'the store was created')
        else log.info({ from, to, seconds }, 'the store was migrated')
      },
    },
    thread,
  )
  const close = async () => {
    await store.stop()
    release()
  }
  try {
    return nodeStores === undefined
      ? await openAlone(config, { store, close, log })
      : await openAmongOthers(nodeStores, config, { close, log, version })
  } catch (error) {
    await close()
    throw error
  }
}

type Opened = { readonly store: Store; readonly close: () => Promise<void> }

async function openAlone({ dataPath }: Config, { store, close, log }: Opened & { log: Log }): Promise<Persistence> {
  const clock = await openClock({ maintenance: store.maintenance, log })
  const disk = startDiskWatch({ folder: dataPath, log })
  return {
    store,
    ownership: OWNS_EVERYTHING,
    clock,
    wallUs: nowUs,
    disk,
    cluster: undefined,
    drainMs: undefined,
    async join() {},
    async leave() {},
    async stop() {
      await disk.stop()
      await close()
    },
  }
}

async function openAmongOthers(
  nodeStores: NodeStores,
  config: Config,
  { close, log, version }: Pick<Opened, 'close'> & Options,
): Promise<Persistence> {
  const { store, cluster: clusterStore, statuses } = nodeStores
  const first = await againForAWhile(async () => {
    const sentUs = steadyUs()
    return { sentUs, databaseUs: await clusterStore.clockGet(), nowUs: steadyUs() }
  })
  const clock = newDatabaseClock(steadyUs, first)
  let known: NodePbxs = { canWatch: () => false, accounts: () => new Map() }
  const skew = newClockSkew(nowUs, log)
  const presets = newPresetNeeds({ read: store.webhooks.webhookListPresets })
  const keeper = createLeaseKeeper({
    cluster: clusterStore,
    version,
    pbxs: config.pbxs.map(({ name }) => name),
    canWatch: (pbx) => known.canWatch(pbx),
    homes: () => new Map(Array.from(known.accounts(), ([pbx, id]) => [pbxLease(pbx), accountLease(id)])),
    needs: presets.needs,
    clockAheadUs: skew.aheadUs,
    log,
    elapsedUs: steadyUs,
    onView(view, at) {
      clock.measured(view.databaseUs, at)
      skew.measured(view.databaseUs, at)
      void presets.noteNodes(view.nodes, at.nowUs)
    },
  })
  const unlisten = nodeStores.onReplaced(keeper.databaseReplaced)
  return {
    store,
    ownership: keeper,
    clock,
    wallUs: skew.nowUs,
    disk: NO_DISK,
    cluster: { store: clusterStore, keeper, statuses, nodeId: keeper.nodeId },
    drainMs: DRAIN_MS,
    async join(url, { settings, presets: names, ...pbxs }) {
      known = pbxs
      const facts = { settings, presets: names }
      await Promise.race([keeper.join(addressOf(url), facts), Bun.sleep(JOINS_WITHIN_MS)])
    },
    leave: keeper.leave,
    async stop() {
      unlisten()
      await keeper.stop()
      await nodeStores.stop()
      await close()
    },
  }
}

/** How long a start waits for a database that goes away meanwhile. */
const BACK_WITHIN_MS = 30_000
const AGAIN_MS = 250

/** Runs a step of the start, and repeats it while the database does not answer: it may go away at any moment. */
export async function againForAWhile<Result>(step: () => Promise<Result>): Promise<Result> {
  const untilMs = steadyUs() / 1_000 + BACK_WITHIN_MS
  for (;;) {
    try {
      return await step()
    } catch (error) {
      const kind = databaseFaultKind(error)
      const mayCome = kind === 'unreachable' || kind === 'slow'
      if (!mayCome || steadyUs() / 1_000 > untilMs) throw error
      await Bun.sleep(AGAIN_MS)
    }
  }
}

/** Returns the URL by which people find the node: the machine's name if it listens on all addresses. */
function addressOf(url: string): string {
  const address = new URL(url)
  if (address.hostname === '0.0.0.0' || address.hostname === '[::]') address.hostname = hostname()
  return address.origin
}
