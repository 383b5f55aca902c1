import type { AgentState } from '../../events/states.ts'
import { rfc3339 } from '../../lib/time.ts'
import { newTimers, type Timers } from '../../lib/timers.ts'
import type { EndpointEntry, StateList, StateSignal } from '../signal.ts'
import {
  atMoment,
  dropCaller,
  dropMember,
  type EndpointFacts,
  type MemberFacts,
  newEndpointFacts,
  newQueueFacts,
  phoneOf,
  putCaller,
  putMember,
  type QueueFacts,
  queueOf,
  type RegistrationFacts,
  trunkOf,
} from './facts.ts'
import {
  type Change,
  comparedOf,
  dueOf,
  initialState,
  newSubject,
  type Present,
  type StoredSubject,
  type Subject,
} from './subject.ts'

/**
 * The phones, trunks, agents and queues of one PBX: signals become present states, and their changes are emitted. Pure:
 * times are parameters.
 *
 * Stages: `first` (nothing is known; the first lists cause no changes), `filling` (they are complete, and become
 * states), then `live`; `disconnected` after a connection is lost, then `resync` (lists are compared with the emitted
 * states), then `live` again. Changes are emitted in `live` only, and not for a kind whose list is incomplete, since
 * half a list is not a state.
 *
 * What a signal costs does not depend on how many subjects there are, or wait, except for those signals that concern
 * all of them: these are applied in steps.
 */
type Board = {
  stage: 'first' | 'filling' | 'live' | 'disconnected' | 'resync'
  readonly options: BoardOptions
  readonly endpoints: Map<string, EndpointFacts>
  readonly registrations: Map<string, RegistrationFacts>
  readonly queues: Map<string, QueueFacts>
  /** The members whose phone each endpoint is. */
  readonly membersAt: Map<string, Set<MemberFacts>>
  directory: Map<string, EndpointEntry>
  /** Tenant values that the PBX reported for endpoints. */
  readonly tenants: Map<string, string | null>
  /** The endpoints of each phone and trunk, by its id. */
  endpointsOf: Map<string, readonly EndpointEntry[]>
  /** The id of the phone or trunk to which each endpoint belongs. */
  readonly idOfEndpoint: Map<string, string>
  readonly subjects: Map<string, Subject>
  /** Subjects that may have a due change now. */
  readonly pending: Set<string>
  /** Subjects whose change may be due later, and those that wait for the end of a list. */
  readonly timers: Timers
  held: Set<string>
  /** Subjects whose stored state is out of date. */
  readonly unstored: Set<string>
  readonly listing: Set<StateList>
  readonly rounds: Record<StateList, number>
  /** Lists that were complete at least once. */
  readonly known: Set<StateList>
}

export type BoardOptions = {
  /** The account of trunks: the account in the URL of the PBX. */
  readonly account: string | null
  /** Returns the account of a tenant value, `null` if no account has it. */
  readonly accountOf: (tenant: string | null) => string | null
  readonly accountOfQueue: (queue: string, accounts: ReadonlySet<string | null>) => string | null
}

/**
 * When something happened, and whether a list showed it. `isInitial`: a new subject was there before, so it is not
 * emitted as a change.
 */
type Cause = {
  readonly atUs: number
  readonly steadyUs: number
  readonly isListed: boolean
  readonly isInitial: boolean
}

/** Returns a board with the stored subjects; without any, the first lists cause no changes. */
export function newBoard(options: BoardOptions, stored: readonly StoredSubject[], steadyUs: number): Board {
  const subjects = stored.map((one) => newSubject(one, { atUs: 0, steadyUs, isListed: true }))
  return {
    stage: stored.length === 0 ? 'first' : 'disconnected',
    options,
    endpoints: new Map(),
    registrations: new Map(),
    queues: new Map(),
    membersAt: new Map(),
    directory: new Map(),
    tenants: new Map(),
    endpointsOf: new Map(),
    idOfEndpoint: new Map(),
    subjects: new Map(subjects.map((subject) => [subject.id, subject])),
    pending: new Set(),
    timers: newTimers(),
    held: new Set(),
    unstored: new Set(),
    listing: new Set(),
    rounds: { devices: 0, contacts: 0, registrations: 0, queues: 0 },
    known: new Set(),
  }
}

const idOf = (kind: Present['kind'], account: string | null, ...keys: readonly string[]): string =>
  [kind, account ?? '', ...keys].map(encodeURIComponent).join('/')

/** The remaining steps of a signal that concerns all subjects: each takes microseconds. */
type Steps = Generator<void, void>

/**
 * Applies a signal. A signal that concerns all subjects is applied only when all steps of the result were taken, before
 * the next signal; `undefined`: it is applied.
 */
export function applyState(board: Board, signal: StateSignal, steadyUs: number): Steps | undefined {
  const { atUs } = signal
  const isListed = board.listing.size > 0 || board.stage === 'resync'
  const cause: Cause = { atUs, steadyUs, isListed, isInitial: false }
  switch (signal.kind) {
    case 'connected':
      endLists(board)
      if (board.stage !== 'first') board.stage = 'resync'
      return undefined
    case 'disconnected':
      endLists(board)
      if (board.stage !== 'first') board.stage = 'disconnected'
      return undefined
    case 'list_began':
      board.listing.add(signal.list)
      board.rounds[signal.list] += 1
      return undefined
    case 'list_ended':
      if (!board.listing.has(signal.list)) return undefined
      return endList(board, signal, { ...cause, isListed: true })
    case 'listed':
      return board.stage === 'live' ? undefined : finishLists(board, cause)
    case 'endpoints':
      return setDirectory(board, signal.endpoints, { ...cause, isInitial: true })
    default:
      applyOne(board, signal, cause)
      return undefined
  }
}

type AllSignal = 'connected' | 'disconnected' | 'list_began' | 'list_ended' | 'listed' | 'endpoints'

/** Applies a signal of one endpoint, trunk, queue, member or caller. */
function applyOne(board: Board, signal: Exclude<StateSignal, { kind: AllSignal }>, cause: Cause): void {
  switch (signal.kind) {
    case 'endpoint': {
      const { entry } = signal
      board.directory.set(entry.endpoint, entry)
      moveEndpoint(board, entry.endpoint, cause)
      return
    }
    case 'tenant':
      board.tenants.set(signal.endpoint, signal.tenant)
      moveEndpoint(board, signal.endpoint, { ...cause, isInitial: true })
      return
    case 'device':
      factsOf(board, signal.endpoint).device = { fact: signal.device, round: board.rounds.devices }
      refreshEndpoint(board, signal.endpoint, cause)
      return
    case 'contact':
      factsOf(board, signal.endpoint).contacts.set(signal.contact, {
        state: signal.state,
        round: board.rounds.contacts,
      })
      refreshEndpoint(board, signal.endpoint, cause)
      return
    case 'contact_gone':
      if (factsOf(board, signal.endpoint).contacts.delete(signal.contact)) keepAbsent(board, signal.endpoint)
      refreshEndpoint(board, signal.endpoint, cause)
      return
    case 'registration':
      board.registrations.set(signal.trunk, {
        state: signal.state,
        reason: signal.reason,
        round: board.rounds.registrations,
      })
      refreshTrunk(board, signal.trunk, cause)
      return
    case 'queue':
      queueFactsOf(board, signal.queue).round = board.rounds.queues
      refreshQueue(board, signal.queue, cause)
      return
    case 'member':
      setMember(board, signal, cause)
      return
    case 'member_gone':
      removeMember(board, signal.queue, signal.member, cause)
      refreshQueue(board, signal.queue, cause)
      return
    case 'caller':
      putCaller(queueFactsOf(board, signal.queue), signal.caller, signal.sinceUs, board.rounds.queues)
      refreshQueue(board, signal.queue, cause)
      return
    case 'caller_gone':
      dropCaller(queueFactsOf(board, signal.queue), signal.caller)
      refreshQueue(board, signal.queue, cause)
      return
    default:
      signal satisfies never
  }
}

/** Notes that no list is being read: changes of the subjects that waited for the end of one may be due. */
function endLists(board: Board): void {
  board.listing.clear()
  release(board)
}

function release(board: Board): void {
  const { held } = board
  board.held = new Set()
  for (const id of held) board.pending.add(id)
}

function* endList(
  board: Board,
  { list, isComplete }: Extract<StateSignal, { kind: 'list_ended' }>,
  cause: Cause,
): Steps {
  board.listing.delete(list)
  release(board)
  if (isComplete) yield* sweep(board, list, cause)
}

/**
 * Sets all states by the complete lists at once, since a part of them is not a state. The first lists cause no changes.
 */
function* finishLists(board: Board, cause: Cause): Steps {
  const listed = { ...cause, isListed: true, isInitial: board.stage === 'first' }
  board.stage = board.stage === 'first' ? 'filling' : 'live'
  const agents = new Set<string>()
  yield* refreshAll(board, agents, listed)
  // Subjects that were known before, maybe to another process, and are on no list.
  for (const { id, account, present, isGone } of [...board.subjects.values()]) {
    yield
    if (isGone || agents.has(id) || mayExist(board, id, present)) continue
    // Receivers know it as present.
    if (present.kind === 'agent' || (present.kind === 'phone' && present.state.state !== 'unregistered'))
      setPresent(board, { id, account, present: goneOf(present, rfc3339(cause.atUs)) }, listed)
    const subject = board.subjects.get(id)
    if (subject !== undefined) subject.isGone = true
  }
  board.stage = 'live'
  for (const id of board.subjects.keys()) board.pending.add(id)
}

/** Sets the states of all subjects, and adds the ids of the agents to `agents`. */
function* refreshAll(board: Board, agents: Set<string>, cause: Cause): Steps {
  for (const id of board.endpointsOf.keys()) yield refresh(board, id, cause)
  for (const trunk of board.registrations.keys()) yield refreshTrunk(board, trunk, cause)
  for (const [queue, facts] of board.queues) {
    placeQueue(board, queue, facts, cause)
    for (const member of facts.members.keys()) {
      yield refreshAgent(board, queue, member, cause)
      agents.add(idOf('agent', facts.account, queue, member))
    }
    yield refreshQueue(board, queue, cause)
  }
}

function goneOf(present: Present, since: string): Present {
  const gone = initialState(present)
  return gone.kind === 'phone' || gone.kind === 'agent'
    ? ({ ...gone, state: { ...gone.state, since } } as Present)
    : gone
}

/** Returns whether a subject may still exist: it is listed, or its list was never complete. */
function mayExist(board: Board, id: string, { kind, state }: Present): boolean {
  switch (kind) {
    case 'phone':
      return board.endpointsOf.has(id) || board.directory.size === 0
    case 'trunk':
      return board.endpointsOf.has(id) || board.registrations.has(state.trunk) || !board.known.has('registrations')
    case 'agent':
      return !board.known.has('queues')
    case 'queue':
      return board.queues.has(state.queue) || !board.known.has('queues')
  }
}

function factsOf({ endpoints }: Board, endpoint: string): EndpointFacts {
  const known = endpoints.get(endpoint)
  if (known !== undefined) return known
  const facts = newEndpointFacts()
  endpoints.set(endpoint, facts)
  return facts
}

function queueFactsOf({ queues, rounds }: Board, queue: string): QueueFacts {
  const known = queues.get(queue)
  if (known !== undefined) return known
  const facts = newQueueFacts(rounds.queues)
  queues.set(queue, facts)
  return facts
}

/** Marks an endpoint without contacts as absent, even if its device is unknown. */
function keepAbsent(board: Board, endpoint: string): void {
  const facts = factsOf(board, endpoint)
  if (facts.contacts.size === 0) facts.device = { fact: 'absent', round: board.rounds.devices }
}

/** Removes entries that a complete list lacks. */
function* sweep(board: Board, list: StateList, cause: Cause): Steps {
  const round = board.rounds[list]
  board.known.add(list)
  switch (list) {
    case 'devices':
      for (const [endpoint, facts] of board.endpoints) {
        yield
        if (facts.device === null || facts.device.round >= round) continue
        facts.device = { fact: 'absent', round }
        if (!board.directory.has(endpoint)) board.endpoints.delete(endpoint)
        refreshEndpoint(board, endpoint, cause)
      }
      yield* noteAbsent(board, cause)
      return
    case 'contacts':
      for (const [endpoint, { contacts }] of board.endpoints) {
        yield
        const gone = [...contacts].filter(([, contact]) => contact.round < round)
        if (gone.length === 0) continue
        for (const [contact] of gone) contacts.delete(contact)
        if (!board.known.has('devices')) keepAbsent(board, endpoint)
        refreshEndpoint(board, endpoint, cause)
      }
      yield* noteAbsent(board, cause)
      return
    case 'registrations':
      for (const [trunk, facts] of board.registrations) {
        yield
        if (facts.round >= round) continue
        board.registrations.delete(trunk)
        refreshTrunk(board, trunk, cause)
      }
      return
    case 'queues':
      for (const [queue, facts] of board.queues) {
        for (const [member, one] of facts.members) {
          yield
          if (one.round < round) removeMember(board, queue, member, cause)
        }
        for (const [caller, heard] of facts.callers) if (heard < round) dropCaller(facts, caller)
        if (facts.round < round && facts.members.size === 0) {
          board.queues.delete(queue)
          removeSubject(board, idOf('queue', facts.account, queue))
        } else refreshQueue(board, queue, cause)
        yield
      }
      return
    default:
      list satisfies never
  }
}

/** Marks configured phones that no list has as absent. */
function* noteAbsent(board: Board, cause: Cause): Steps {
  if (!board.known.has('devices') && !board.known.has('contacts')) return
  for (const { endpoint, kind } of board.directory.values()) {
    yield
    if (kind !== 'phone' || board.endpoints.has(endpoint)) continue
    factsOf(board, endpoint).device = { fact: 'absent', round: board.rounds.devices }
    refreshEndpoint(board, endpoint, cause)
  }
}

function* setDirectory(board: Board, entries: readonly EndpointEntry[], cause: Cause): Steps {
  const directory = new Map<string, EndpointEntry>()
  const endpointsOf = new Map<string, EndpointEntry[]>()
  for (const entry of entries) {
    directory.set(entry.endpoint, entry)
    const id = idOf(entry.kind, accountOf(board, entry), entry.key)
    const others = endpointsOf.get(id)
    if (others === undefined) endpointsOf.set(id, [entry])
    else others.push(entry)
    yield
  }
  board.directory = directory
  const earlier = board.endpointsOf
  board.endpointsOf = endpointsOf
  board.idOfEndpoint.clear()
  for (const [id, some] of endpointsOf) {
    for (const { endpoint } of some) board.idOfEndpoint.set(endpoint, id)
    yield
  }
  for (const [id, [entry]] of earlier) {
    yield
    if (endpointsOf.has(id) || entry === undefined) continue
    if (entry.kind === 'phone' || !board.registrations.has(entry.key)) removeSubject(board, id)
  }
  yield* noteAbsent(board, cause)
  for (const id of endpointsOf.keys()) yield refresh(board, id, cause)
  for (const [queue, facts] of board.queues) {
    for (const one of facts.members.values()) yield replaceMember(board, facts, one)
    if (placeQueue(board, queue, facts, cause)) continue
    for (const member of facts.members.keys()) yield refreshAgent(board, queue, member, cause)
    refreshQueue(board, queue, cause)
  }
}

/** Moves an endpoint to the phone or trunk to which it belongs, as far as known now. */
function moveEndpoint(board: Board, endpoint: string, cause: Cause): void {
  const entry = board.directory.get(endpoint)
  if (entry === undefined) return
  const id = idOf(entry.kind, accountOf(board, entry), entry.key)
  const earlierId = board.idOfEndpoint.get(endpoint)
  if (id === earlierId) return
  if (earlierId !== undefined) {
    const others = (board.endpointsOf.get(earlierId) ?? []).filter((one) => one.endpoint !== endpoint)
    if (others.length > 0) {
      board.endpointsOf.set(earlierId, others)
      refresh(board, earlierId, cause)
    } else {
      board.endpointsOf.delete(earlierId)
      removeSubject(board, earlierId)
    }
  }
  board.endpointsOf.set(id, [...(board.endpointsOf.get(id) ?? []), entry])
  board.idOfEndpoint.set(endpoint, id)
  refresh(board, id, cause)
  for (const one of [...(board.membersAt.get(endpoint) ?? [])]) {
    const facts = board.queues.get(one.queue)
    if (facts === undefined) continue
    replaceMember(board, facts, one)
    if (!placeQueue(board, one.queue, facts, cause)) refreshAgent(board, one.queue, one.member, cause)
  }
}

function refreshEndpoint(board: Board, endpoint: string, cause: Cause): void {
  const id = board.idOfEndpoint.get(endpoint)
  if (id !== undefined) refresh(board, id, cause)
}

/** Returns the account of a phone or trunk. */
function accountOf({ options, tenants }: Board, { kind, endpoint, tenant }: EndpointEntry): string | null {
  if (kind === 'trunk') return options.account
  const value = tenants.has(endpoint) ? tenants.get(endpoint) : tenant
  return value === undefined ? null : options.accountOf(value)
}

/** Returns since when a phone, trunk or agent is in a state: from now on, unless it has been in it already. */
function sinceOf(board: Board, id: string, state: string, { atUs }: Cause): string {
  const before = board.subjects.get(id)?.present
  const isSame = before !== undefined && before.kind !== 'queue' && before.state.state === state
  return isSame ? before.state.since : rfc3339(atUs)
}

/** Sets the state of a phone or trunk by its endpoints. */
function refresh(board: Board, id: string, cause: Cause): void {
  const [entry, ...others] = board.endpointsOf.get(id) ?? []
  if (entry === undefined) return
  if (entry.kind === 'trunk') {
    refreshTrunk(board, entry.key, cause)
    return
  }
  const facts = [entry, ...others].flatMap(({ endpoint }) => board.endpoints.get(endpoint) ?? [])
  const state = phoneOf(entry, facts)
  if (state === undefined) return
  const since = sinceOf(board, id, state.state, cause)
  const { extension, name, device, contacts } = state
  const phone = { extension, name, state: state.state, since, device, contacts }
  setPresent(board, { id, account: accountOf(board, entry), present: { kind: 'phone', state: phone } }, cause)
}

function refreshTrunk(board: Board, trunk: string, cause: Cause): void {
  if (!areStatesSet(board)) return
  const { account } = board.options
  const id = idOf('trunk', account, trunk)
  const facts = (board.endpointsOf.get(id) ?? []).flatMap(({ endpoint }) => board.endpoints.get(endpoint) ?? [])
  const found = trunkOf(trunk, board.registrations.get(trunk), facts)
  if (found === undefined) {
    removeSubject(board, id)
    return
  }
  const since = sinceOf(board, id, found.state, cause)
  const state = { trunk, state: found.state, since, reason: found.reason }
  setPresent(board, { id, account, present: { kind: 'trunk', state } }, cause)
}

function accountOfMember(board: Board, endpoint: string): string | null {
  const entry = board.directory.get(endpoint)
  return entry === undefined ? null : accountOf(board, entry)
}

/** Sets a member of a queue to the state that the PBX reports. */
function setMember(board: Board, signal: Extract<StateSignal, { kind: 'member' }>, cause: Cause): void {
  const { queue, member, endpoint, extension, state, reason } = signal
  const facts = queueFactsOf(board, queue)
  const before = facts.members.get(member)
  const account = accountOfMember(board, endpoint)
  forgetMember(board, before)
  noteMember(board, facts, { queue, member, endpoint, extension, state, reason, account, round: board.rounds.queues })
  // An account that was added since then gets the other members, too.
  if (before !== undefined && before.account !== account)
    for (const one of [...facts.members.values()]) replaceMember(board, facts, one)
  if (!placeQueue(board, queue, facts, cause)) refreshAgent(board, queue, member, cause)
  refreshQueue(board, queue, cause)
}

/** Gives a member the account of its phone as it is now. */
function replaceMember(board: Board, facts: QueueFacts, one: MemberFacts): void {
  const account = accountOfMember(board, one.endpoint)
  if (account === one.account) return
  forgetMember(board, one)
  noteMember(board, facts, { ...one, account })
}

function noteMember(board: Board, facts: QueueFacts, one: MemberFacts): void {
  putMember(facts, one)
  const others = board.membersAt.get(one.endpoint)
  if (others === undefined) board.membersAt.set(one.endpoint, new Set([one]))
  else others.add(one)
}

function forgetMember(board: Board, one: MemberFacts | undefined): void {
  const others = one === undefined ? undefined : board.membersAt.get(one.endpoint)
  if (one === undefined || others === undefined) return
  others.delete(one)
  if (others.size === 0) board.membersAt.delete(one.endpoint)
}

/**
 * Gives a queue to the account of its agents. Returns whether the account has changed: then the queue and its agents
 * are set anew.
 */
function placeQueue(board: Board, queue: string, facts: QueueFacts, cause: Cause): boolean {
  const accounts = new Set(facts.ofAccount.keys())
  const account = board.options.accountOfQueue(queue, accounts)
  if (account === facts.account) return false
  for (const member of facts.members.keys()) removeSubject(board, idOf('agent', facts.account, queue, member))
  removeSubject(board, idOf('queue', facts.account, queue))
  facts.account = account
  // Only its account has become known; its state has not changed.
  for (const member of facts.members.keys()) refreshAgent(board, queue, member, { ...cause, isInitial: true })
  refreshQueue(board, queue, { ...cause, isInitial: true })
  return true
}

function refreshAgent(board: Board, queue: string, member: string, cause: Cause): void {
  const facts = board.queues.get(queue)
  const one = facts?.members.get(member)
  if (facts === undefined || one === undefined) return
  const entry = board.directory.get(one.endpoint)
  const extension = entry?.kind === 'phone' ? entry.key : one.extension
  setAgent(board, facts.account, { queue, member, extension, state: one.state, reason: one.reason }, cause)
}

type AgentNow = {
  readonly queue: string
  readonly member: string
  readonly extension: string
  readonly state: AgentState
  readonly reason: string | null
}

function setAgent(board: Board, account: string | null, now: AgentNow, cause: Cause): void {
  const { queue, member, extension, state, reason } = now
  const id = idOf('agent', account, queue, member)
  const since = sinceOf(board, id, state, cause)
  setPresent(
    board,
    { id, account, present: { kind: 'agent', state: { extension, queue, state, reason, since } } },
    cause,
  )
}

/** Sets a member that left its queue to logged out; once this is emitted, it is no longer an agent of the queue. */
function removeMember(board: Board, queue: string, member: string, cause: Cause): void {
  const facts = board.queues.get(queue)
  const one = facts?.members.get(member)
  if (facts === undefined || one === undefined) return
  const id = idOf('agent', facts.account, queue, member)
  const present = board.subjects.get(id)?.present
  const extension = present?.kind === 'agent' ? present.state.extension : one.extension
  forgetMember(board, one)
  dropMember(facts, member)
  if (!areStatesSet(board)) return
  setAgent(board, facts.account, { queue, member, extension, state: 'logged_out', reason: null }, cause)
  const subject = board.subjects.get(id)
  if (subject !== undefined) subject.isGone = true
}

function refreshQueue(board: Board, queue: string, cause: Cause): void {
  const facts = board.queues.get(queue)
  if (facts === undefined) return
  if (facts.account === null && facts.members.size === 0) {
    const account = board.options.accountOfQueue(queue, new Set())
    if (account !== null) facts.account = account
  }
  const { account } = facts
  setPresent(board, { id: idOf('queue', account, queue), account, present: queueOf(queue, facts) }, cause)
}

/** Returns whether states are set. A part of the lists is not a state: all are set when the lists are complete. */
const areStatesSet = ({ stage }: Board): boolean => stage === 'live' || stage === 'filling'

/** Sets the present state of a subject, and notes that a change may be due. */
function setPresent(
  board: Board,
  { id, account, present }: Pick<Subject, 'id' | 'account' | 'present'>,
  { atUs, steadyUs, isListed, isInitial }: Cause,
): void {
  if (!areStatesSet(board)) return
  const known = board.subjects.get(id)
  board.pending.add(id)
  if (known === undefined) {
    const emitted = isInitial ? present : initialState(present)
    board.unstored.add(id)
    board.subjects.set(id, newSubject({ id, account, present, emitted }, { atUs, steadyUs, isListed }))
    return
  }
  known.isGone = false
  const hasChanged = comparedOf(known.present) !== comparedOf(present)
  if (!hasChanged && Bun.deepEquals(known.present, present)) return
  known.touchedUs = atUs
  known.touchedResync = isListed
  board.unstored.add(id)
  known.present = present
  if (!hasChanged) return
  known.changedUs = atUs
  known.changedSteadyUs = steadyUs
  known.resync = isListed
}

function removeSubject(board: Board, id: string): void {
  if (board.subjects.delete(id)) board.unstored.add(id)
  board.pending.delete(id)
  board.held.delete(id)
  board.timers.delete(id)
}

const LISTS_OF: Readonly<Record<Present['kind'], readonly StateList[]>> = {
  phone: ['devices', 'contacts'],
  trunk: ['devices', 'contacts', 'registrations'],
  agent: ['queues'],
  queue: ['queues'],
}

type Times = { readonly nowUs: number; readonly steadyUs: number }

/** The most subjects that are examined at a time, which takes some 1 ms. */
const MAX_EXAMINED = 256

/**
 * Returns changes that are due, in order for each subject, and when (on the steady clock) to call again: at once, if
 * more subjects are left to examine.
 */
export function takeStateChanges(board: Board, times: Times): { changes: Change[]; wakeSteadyUs: number | null } {
  const changes: Change[] = []
  if (board.stage !== 'live') return { changes, wakeSteadyUs: null }
  for (const id of board.timers.due(times.steadyUs, MAX_EXAMINED)) board.pending.add(id)
  let left = MAX_EXAMINED
  for (const id of board.pending) {
    if (left === 0) break
    left -= 1
    board.pending.delete(id)
    const subject = board.subjects.get(id)
    if (subject === undefined) continue
    if (LISTS_OF[subject.present.kind].some((list) => board.listing.has(list))) board.held.add(id)
    else changes.push(...changesOf(board, subject, times))
  }
  return { changes, wakeSteadyUs: board.pending.size > 0 ? times.steadyUs : board.timers.earliest() }
}

/** Returns the changes of a subject that are due, and notes when to examine it again. */
function changesOf(board: Board, subject: Subject, { nowUs, steadyUs }: Times): Change[] {
  const { id } = subject
  const changes: Change[] = []
  let due = dueOf(subject, steadyUs)
  while (due !== null && 'present' in due) {
    const { present, isShortLived } = due
    board.unstored.add(id)
    changes.push(...emit(subject, { present: atMoment(present, nowUs), isShortLived }, steadyUs))
    due = dueOf(subject, steadyUs)
  }
  // A timer that rings too early costs less than setting it anew with each change.
  if (due === null) {
    if (subject.isGone) removeSubject(board, id)
  } else if ((board.timers.get(id) ?? Number.POSITIVE_INFINITY) > due.atSteadyUs) board.timers.set(id, due.atSteadyUs)
  return changes
}

/** Notes that a state of a subject is emitted. Returns its change, unless the subject belongs to no account. */
function emit(
  subject: Subject,
  { present, isShortLived }: Pick<Change, 'present' | 'isShortLived'>,
  steadyUs: number,
): Change[] {
  const { id, account } = subject
  subject.emitted = present
  subject.emittedSteadyUs = steadyUs
  if (account === null) return []
  const isDevice = present.kind === 'phone' && isShortLived
  // A state that had to be stable for a while began before changes that were emitted meanwhile.
  const atUs = Math.max(isDevice ? subject.touchedUs : subject.changedUs, subject.emittedAtUs)
  subject.emittedAtUs = atUs
  const resync = isDevice ? subject.touchedResync : subject.resync
  return [{ id, account, present, atUs, resync, isShortLived }]
}

/** Returns subjects for the store (`undefined`: the subject is gone), and counts their states as stored. */
export function takeForStore(board: Board, ids: Iterable<string>): { id: string; subject: Subject | undefined }[] {
  return [...ids].map((id) => {
    board.unstored.delete(id)
    return { id, subject: board.subjects.get(id) }
  })
}

/** Yields the present states of the accounts that `isOwner` accepts (`null`: without an account), in no order. */
export function* presentOf(
  board: Board,
  isOwner: (account: string | null) => boolean,
  nowUs: number,
): Generator<Present> {
  if (board.stage === 'first' || board.stage === 'filling') return
  for (const { account, present, isGone } of board.subjects.values())
    if (isOwner(account) && !isGone) yield atMoment(present, nowUs)
}

/** A device of a phone. `isRegistered`: calls reach it; `null`: nothing was reported of it. */
export type PhoneDevice = {
  readonly endpoint: string
  readonly name: string | null
  /** The tenant value as the PBX spells it; `null` if it shows none. */
  readonly tenant: string | null
  readonly isRegistered: boolean | null
}

/** Returns the devices of an account's phone in order of name; none if the account has no phone with this extension. */
export function devicesOf(board: Board, account: string | null, extension: string): PhoneDevice[] {
  const entries = board.endpointsOf.get(idOf('phone', account, extension)) ?? []
  const devices = entries.map(({ endpoint, key, name, tenant }) => {
    const facts = board.endpoints.get(endpoint)
    const state = facts === undefined ? undefined : phoneOf({ key, name }, [facts])
    return {
      endpoint,
      name,
      tenant: board.tenants.get(endpoint) ?? tenant ?? null,
      isRegistered: state === undefined ? null : state.state === 'registered',
    }
  })
  return devices.toSorted((one, other) => (one.endpoint < other.endpoint ? -1 : 1))
}
