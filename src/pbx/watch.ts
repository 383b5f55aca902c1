import { type Ingest, startIngest } from '../calls/ingest.ts'
import type { LiveCall } from '../calls/tracker/tracker.ts'
import type { Clock } from '../deliveries/clock.ts'
import type { Log } from '../lib/log.ts'
import type { PbxSource } from '../lib/pbx-url.ts'
import { nowUs } from '../lib/time.ts'
import type { StoredEvent } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { createAmiSignals } from './ami/translator/translator.ts'
import { type PbxStatus, type Supervisor, startSupervisor, type Translators } from './connection/supervisor.ts'
import type { Intake } from './connection/timeouts.ts'
import { type Memory, startMemory } from './endpoint-memory.ts'
import type { KnownEndpoint } from './endpoints.ts'
import { createEslSignals } from './esl/translator/translator.ts'

/** Who turns what a PBX says into signals. */
export const TRANSLATORS: Translators = { ami: createAmiSignals, esl: createEslSignals }

export type Watch = {
  status(): readonly PbxStatus[]
  /** The calls of an account that are up, each made as it is asked for. */
  liveCalls(accountId: number): Iterable<LiveCall>
  /** The phones and trunks of an account's PBXs, by the PBX's name, as far as they are known. */
  endpoints(accountId: number): ReadonlyMap<string, readonly KnownEndpoint[]>
  /** Events that are told but not on disk yet, of all PBXs. */
  waiting(): number
  stop(): Promise<void>
}

export type WatchOptions = {
  readonly store: Store
  readonly pbxs: readonly PbxSource[]
  /** Counts what waits to be handled. */
  readonly intake?: Intake
  /** The id of each account by name. */
  readonly accounts: ReadonlyMap<string, number>
  readonly onStored: (stored: readonly StoredEvent[]) => void
  /** The clock on which calls and deliveries wait. */
  readonly clock: Clock
  readonly log: Log
}

/** Watches every PBX: connection → signals → tracker → store. */
export async function startWatch(options: WatchOptions): Promise<Watch> {
  const { store, accounts, onStored, log, clock, intake = { waiting: 0 } } = options
  const watched: { source: PbxSource; memory: Memory; supervisor: Supervisor; ingest: Ingest }[] = []
  for (const source of options.pbxs) {
    const accountId = accounts.get(source.account)
    if (accountId === undefined) throw new Error(`the account ${source.account} was not looked up`)
    let supervisor: Supervisor | undefined
    const ingest = await startIngest({
      calls: store.calls,
      pbx: source.name,
      account: source.account,
      accountId,
      onStored,
      onMissed: () => supervisor?.reconnect(),
      onFault: () => supervisor?.fault(),
      clock,
      log,
    })
    const { feed, isAnyMissing } = ingest
    const memory = await startMemory(store.calls, source, log)
    supervisor = startSupervisor({ source, memory, translators: TRANSLATORS, feed, isAnyMissing, intake, log })
    watched.push({ source, memory, supervisor, ingest })
  }
  const closing = await closeOrphaned(options, clock)
  return {
    status: () => watched.map(({ supervisor }) => supervisor.status()),
    *liveCalls(accountId) {
      for (const { ingest } of watched) yield* ingest.liveCalls(accountId)
    },
    endpoints: (accountId) =>
      new Map(
        watched
          .filter(({ source }) => accounts.get(source.account) === accountId)
          .map(({ source, memory }) => [source.name, memory.endpoints.list()]),
      ),
    waiting: () => watched.reduce((sum, { ingest }) => sum + ingest.waiting(), 0),
    async stop() {
      await Promise.all(watched.map(({ supervisor }) => supervisor.stop()))
      const parts = watched.flatMap(({ ingest, memory }) => [ingest.stop(), memory.stop()])
      await Promise.all([...parts, closing.stop()])
    },
  }
}

const LOOK_AGAIN_MS = 250

/** Ends the calls that a PBX left open which is watched no more: nobody will tell of their end. */
async function closeOrphaned(
  { store, pbxs, onStored, log }: WatchOptions,
  clock: Clock,
): Promise<{ stop(): Promise<void> }> {
  const open = new Set<Ingest>()
  const names = pbxs.map(({ name }) => name)
  for (const { pbx, account, accountId } of await store.calls.orphanedPbxList(names)) {
    log.warn({ pbx }, 'this PBX is watched no more: the calls that it left open are ended')
    const ingest = await startIngest({
      calls: store.calls,
      pbx,
      account,
      accountId,
      onStored,
      onMissed() {},
      onFault() {},
      clock,
      log,
    })
    const at = { atUs: nowUs(), arrivedUs: nowUs() }
    ingest.feed([
      { ...at, kind: 'connected', first: true, boot: null },
      { ...at, kind: 'listed', channels: [] },
    ])
    open.add(ingest)
  }
  const timer = setInterval(() => {
    for (const ingest of open) {
      if (ingest.open() > 0) continue
      open.delete(ingest)
      void ingest.stop()
    }
    if (open.size === 0) clearInterval(timer)
  }, LOOK_AGAIN_MS)
  return {
    async stop() {
      clearInterval(timer)
      await Promise.all([...open].map((ingest) => ingest.stop()))
    },
  }
}
