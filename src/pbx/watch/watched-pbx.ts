import { type LiveCall, type RequestedCall, startIngest, type UrlOf } from '../../calls/calls.ts'
import type { Ownership } from '../../cluster/cluster.ts'
import type { ContactDirectory } from '../../contacts/contacts.ts'
import type { Log } from '../../lib/log.ts'
import type { NowUs } from '../../lib/time.ts'
import { type PhoneDevice, type Present, startStateIngest } from '../../states/states.ts'
import type { Clock } from '../../store/clock.ts'
import type { StoredEvent } from '../../store/operations/calls.ts'
import type { Store } from '../../store/store.ts'
import { newCallsWithoutAccount, ownersOf } from '../connection/call-owners.ts'
import type { Intake } from '../connection/inbox.ts'
import type { KnownEndpoint } from '../endpoints/endpoints.ts'
import { PBX_FACTS } from '../source/pbx-facts.ts'
import { type PbxSource, pbxKindOf } from '../source/pbx-url.ts'
import { startEndpointMemory } from './endpoint-memory.ts'
import type { PbxList } from './pbx-list.ts'
import { endpointEntriesOf, stateOwners } from './state-owners.ts'
import { type Supervisor, type SupervisorStatus, startSupervisor } from './supervisor.ts'

export type WatchOptions = {
  readonly store: Store
  readonly pbxs: PbxList
  /** Counts the entries that are read but not processed yet. */
  readonly intake?: Intake
  readonly onStored: (stored: readonly StoredEvent[]) => void
  /** The steady clock of calls and deliveries. */
  readonly clock: Clock
  readonly ownership: Ownership
  /** The wall clock of events. */
  readonly nowUs?: NowUs
  readonly log: Log
  /** The contacts of all accounts. */
  readonly contacts?: ContactDirectory | undefined
  /** The most calls of a PBX that are followed at a time. */
  readonly maxCalls?: number | undefined
  /** Makes the links to recordings, for PBXs whose files can be read. */
  readonly recordingUrl?: UrlOf | undefined
}

export type WatchedStatus = SupervisorStatus & {
  /** The number of calls that no account gets. */
  readonly callsWithoutAccount: number
  /** The number of calls that were ended as `unknown` because too many channels were live. */
  readonly callsEndedEarly: number
  /** The number of calls that were not followed because too many were: ever, and since there was last room. */
  readonly callsNotFollowed: { readonly ever: number; readonly now: number }
}

/** A PBX with its tracker. */
export type WatchedPbx = {
  readonly source: PbxSource
  status(): WatchedStatus
  liveCalls(accountId: number): Iterable<LiveCall>
  /**
   * Returns the number of live calls of each account that has any; on a PBX with tenants, of each that ever had one.
   */
  callCounts(): ReadonlyMap<number, number>
  endpoints(): readonly KnownEndpoint[]
  /** Returns the present states of an account's phones, trunks, agents and queues. */
  states(accountId: number): Iterable<Present>
  /** Returns the present states of all accounts, and of subjects without an account. */
  present(): Iterable<Present>
  waiting(): number
  /** Returns the call that was made for a request, `undefined` if it was not seen, or is over. */
  requestedCall(requestId: string): RequestedCall | undefined
  channelsUp(callId: string): readonly string[]
  /** Returns the devices of an account's phone in order of name. */
  devicesOf(account: string, extension: string): readonly PhoneDevice[]
  /** Connects, unless it is connected. */
  connect(): void
  /** Ends the connection. Events that were already read are stored. */
  disconnect(): Promise<void>
  /** Disconnects, and stores the remaining events. */
  stop(): Promise<void>
}

/** Reads the stored facts of a PBX. `connect` begins to watch it. */
export async function startWatchedPbx(source: PbxSource, options: WatchOptions): Promise<WatchedPbx> {
  const { store, pbxs, ownership, onStored, log, clock, nowUs, intake = { waiting: 0 } } = options
  const owners = ownersOf(source, pbxs.accounts)
  const withoutAccount = newCallsWithoutAccount(source.name, log)
  let supervisor: Supervisor | undefined
  let last: SupervisorStatus | undefined
  let isFirst = true
  const memory = await startEndpointMemory({ calls: store.calls, ownership }, source, log)
  const ingest = await startIngest({
    calls: store.calls,
    history: store.log,
    ownership,
    ...owners,
    pbx: source.name,
    onWithoutAccount: withoutAccount.note,
    country: source.country,
    onStored(stored) {
      if (source.tenants !== undefined) memory.noteCalls(stored.map((event) => event.accountId))
      onStored(stored)
    },
    urlOf: source.recordings === undefined ? undefined : options.recordingUrl,
    contacts: options.contacts,
    maxCalls: options.maxCalls,
    onMissed: () => supervisor?.reconnect(),
    onRoom: () => supervisor?.resync(),
    onFault: () => supervisor?.fault(),
    isBehind: () => supervisor?.isBehind() === true,
    clock,
    ...(nowUs && { nowUs }),
    log,
  })
  const states = await startStateIngest({
    ...stateOwners(source, pbxs.accounts),
    calls: store.calls,
    ownership,
    pbx: source.name,
    accountIdOf: pbxs.accounts.get,
    endpoints: PBX_FACTS[pbxKindOf(source)].statesNameEndpoints
      ? () => undefined
      : endpointEntriesOf(memory.endpoints, source.tenants !== undefined),
    onStored,
    log,
    ...(nowUs && { nowUs }),
    steadyUs: clock.steadyUs,
  })
  const { feed, isAnyMissing, isAnySilent, isFull, caughtUp } = ingest
  const start = () =>
    startSupervisor({
      source,
      memory,
      feed,
      stateFeed: states.feed,
      isAnyMissing,
      isAnySilent,
      isFull,
      caughtUp,
      isFirst,
      intake,
      log,
      ...(nowUs && { nowUs }),
    })

  async function disconnect(): Promise<void> {
    const before = supervisor
    if (before === undefined) return
    last = { ...before.status(), state: 'down' }
    supervisor = undefined
    await before.stop()
  }
  const statusOf = (): WatchedStatus => {
    const status = supervisor?.status() ?? last
    if (status === undefined) throw new Error(`the PBX ${source.name} was never connected`)
    return {
      ...status,
      callsWithoutAccount: withoutAccount.count(),
      callsEndedEarly: ingest.endedEarly(),
      callsNotFollowed: ingest.notFollowed(),
    }
  }
  return {
    source,
    status: statusOf,
    liveCalls: ingest.liveCalls,
    callCounts: () =>
      new Map([...memory.accountsWithCalls().map((id) => [id, 0] as const), ...ingest.liveCallCounts()]),
    endpoints: () => memory.endpoints.list(),
    states: (accountId) => states.presentOf((account) => account !== null && pbxs.accounts.get(account) === accountId),
    present: () => states.presentOf(() => true),
    waiting: ingest.pendingEvents,
    requestedCall: ingest.requestedCall,
    channelsUp: ingest.channelsUp,
    devicesOf: states.devicesOf,
    connect() {
      supervisor ??= start()
      isFirst = false
    },
    disconnect,
    async stop() {
      await disconnect()
      await Promise.all([ingest.stop(), states.stop(), memory.stop()])
    },
  }
}
