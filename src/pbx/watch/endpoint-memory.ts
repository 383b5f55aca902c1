import { type Ownership, pbxLease } from '../../cluster/cluster.ts'
import type { Log } from '../../lib/log.ts'
import type { CallStore } from '../../store/operations/calls.ts'
import { LeaseLost } from '../../store/operations/cluster.ts'
import type { PbxRun } from '../connection/protocol.ts'
import { SETTING } from '../endpoints/endpoint-summary.ts'
import { createEndpoints, type Endpoints, type KnownEndpoint, type SavedEndpoints } from '../endpoints/endpoints.ts'
import type { PbxSource } from '../source/pbx-url.ts'

/** The facts about a PBX that outlive a process: its endpoints, its last run, and the accounts that had calls. */
export type EndpointMemory = {
  readonly endpoints: Endpoints
  lastRun(): PbxRun | null
  setRun(run: PbxRun): void
  accountsWithCalls(): readonly number[]
  /** Notes that accounts have calls on the PBX. */
  noteCalls(accountIds: Iterable<number>): void
  /** Stores the changes since the last time. */
  stop(): Promise<void>
}

type Saved = {
  readonly run: PbxRun | null
  readonly endpoints: SavedEndpoints
  /** The ids of accounts that had calls; absent if an earlier version stored it. */
  readonly accounts?: readonly number[]
}

/** How soon a change is stored, for other nodes to read. */
const CHECK_MS = 500
/** The least time between two writes: at first calls show many new facts, later hardly any. */
const SAVE_EVERY_MS = 5_000

/** Reads the memory of a PBX and stores its changes from then on. A memory that cannot be read starts empty. */
export async function startEndpointMemory(
  { calls: store, ownership }: { readonly calls: CallStore; readonly ownership: Ownership },
  source: PbxSource,
  log: Log,
): Promise<EndpointMemory> {
  const pbx = source.name
  const stored = readSaved(await store.pbxMemoryGet(pbx), source, log)
  const endpoints = createEndpoints(source, stored?.endpoints)
  const reportUndecided = createUndecidedReport(pbx, endpoints, log)
  const accounts = new Set(Array.isArray(stored?.accounts) ? stored.accounts : [])
  let run = stored?.run ?? null
  let saved = { run, version: endpoints.version(), accounts: accounts.size }
  let saving: Promise<void> | undefined
  let savedMs = Number.NEGATIVE_INFINITY

  async function save(): Promise<void> {
    const now = { run, version: endpoints.version(), accounts: accounts.size }
    if (now.run === saved.run && now.version === saved.version && now.accounts === saved.accounts) return
    savedMs = performance.now()
    const memory: Saved = { run, endpoints: endpoints.saved(), accounts: [...accounts] }
    try {
      await store.pbxMemorySet(pbx, JSON.stringify(memory), ownership.fenceOf(pbxLease(pbx)))
      saved = now
    } catch (error) {
      // The next owner learns the facts again.
      if (error instanceof LeaseLost) return
      log.warn({ pbx, err: error }, 'cannot store the endpoints of the PBX; will retry')
    }
  }
  const timer = setInterval(() => {
    reportUndecided()
    if (performance.now() - savedMs < SAVE_EVERY_MS) return
    saving ??= save().finally(() => {
      saving = undefined
    })
  }, CHECK_MS)
  return {
    endpoints,
    lastRun: () => run,
    setRun(now) {
      run = now
    },
    accountsWithCalls: () => [...accounts],
    noteCalls(accountIds) {
      for (const id of accountIds) accounts.add(id)
    },
    async stop() {
      clearInterval(timer)
      await saving
      await save()
    },
  }
}

/** Creates a reader of the endpoints of PBXs that other nodes watch, as those nodes stored them. */
export function createSavedEndpointsReader({ calls, log }: { calls: Pick<CallStore, 'pbxMemoryGet'>; log: Log }) {
  const known = new WeakMap<PbxSource, { readonly json: string | undefined; readonly endpoints: Endpoints }>()
  /** @throws Fault `unavailable`. */
  return async (source: PbxSource): Promise<readonly KnownEndpoint[]> => {
    const json = await calls.pbxMemoryGet(source.name)
    const before = known.get(source)
    if (before !== undefined && before.json === json) return before.endpoints.list()
    const endpoints = createEndpoints(source, readSaved(json, source, log)?.endpoints)
    known.set(source, { json, endpoints })
    return endpoints.list()
  }
}

/** Logs once each endpoint without evidence for its kind: the operator has to classify it. */
function createUndecidedReport(pbx: string, endpoints: Endpoints, log: Log): () => void {
  const reported = new Set<string>()
  return () => {
    for (const endpoint of endpoints.undecidedCallers()) {
      if (reported.has(endpoint)) continue
      reported.add(endpoint)
      log.warn(
        { pbx, endpoint },
        `there is no evidence whether this endpoint is a phone or a trunk, so its calls are treated as calls from outside: ${SETTING}`,
      )
    }
  }
}

function readSaved(json: string | undefined, source: PbxSource, log: Log): Saved | undefined {
  if (json === undefined) return undefined
  try {
    const saved: Saved = JSON.parse(json)
    if (typeof saved.endpoints.seen !== 'object' || saved.endpoints.seen === null)
      throw new Error('it has no endpoints')
    return saved
  } catch (error) {
    log.warn({ pbx: source.name, err: error }, 'cannot read the stored endpoints of the PBX: starting without them')
    return undefined
  }
}
