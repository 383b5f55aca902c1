import { rfc3339 } from '../../lib/time.ts'
import type { AgentState } from '../model.ts'
import type { EndpointEntry, StateList, StateSignal } from '../signal.ts'
import {
  atMoment,
  type EndpointFacts,
  newEndpointFacts,
  newQueueFacts,
  phoneOf,
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
 * Stages: `first` (nothing is known; the first lists cause no changes), then `live`; `disconnected` after a connection
 * is lost, then `resync` (lists are compared with the emitted states), then `live` again. Changes are emitted in `live`
 * only, and not for a kind whose list is incomplete, since half a list is not a state.
 */
type Board = {
  stage: 'first' | 'live' | 'disconnected' | 'resync'
  readonly options: BoardOptions
  readonly endpoints: Map<string, EndpointFacts>
  readonly registrations: Map<string, RegistrationFacts>
  readonly queues: Map<string, QueueFacts & { account: string | null }>
  directory: Map<string, EndpointEntry>
  /** Tenant values that the PBX reported for endpoints. */
  readonly tenants: Map<string, string | null>
  /** The endpoints of each phone and trunk, by its id. */
  endpointsOf: Map<string, readonly EndpointEntry[]>
  /** The id of the phone or trunk to which each endpoint belongs. */
  readonly idOfEndpoint: Map<string, string>
  readonly subjects: Map<string, Subject>
  /** Subjects that may have a due change. */
  readonly pending: Set<string>
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
  /** Returns the account of a queue, by the accounts of its agents. */
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
    directory: new Map(),
    tenants: new Map(),
    endpointsOf: new Map(),
    idOfEndpoint: new Map(),
    subjects: new Map(subjects.map((subject) => [subject.id, subject])),
    pending: new Set(),
    unstored: new Set(),
    listing: new Set(),
    rounds: { devices: 0, contacts: 0, registrations: 0, queues: 0 },
    known: new Set(),
  }
}

const idOf = (kind: Present['kind'], account: string | null, ...keys: readonly string[]): string =>
  [kind, account ?? '', ...keys].map(encodeURIComponent).join('/')

/** Applies a signal. */
export function applyState(board: Board, signal: StateSignal, steadyUs: number): void {
  const { atUs } = signal
  const isListed = board.listing.size > 0 || board.stage === 'resync'
  const cause: Cause = { atUs, steadyUs, isListed, isInitial: false }
  switch (signal.kind) {
    case 'connected':
      board.listing.clear()
      if (board.stage !== 'first') board.stage = 'resync'
      return
    case 'disconnected':
      board.listing.clear()
      if (board.stage !== 'first') board.stage = 'disconnected'
      return
    case 'list_began':
      board.listing.add(signal.list)
      board.rounds[signal.list] += 1
      return
    case 'list_ended':
      if (board.listing.delete(signal.list) && signal.isComplete)
        sweep(board, signal.list, { ...cause, isListed: true })
      return
    case 'listed':
      finishLists(board, cause)
      return
    case 'endpoints':
      setDirectory(board, signal.endpoints, { ...cause, isInitial: true })
      return
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
    case 'member': {
      const { queue, member, endpoint, extension, state, reason } = signal
      const facts = queueFactsOf(board, queue)
      facts.members.set(member, { endpoint, extension, state, reason, round: board.rounds.queues })
      if (!placeQueue(board, queue, facts, cause)) refreshAgent(board, queue, member, cause)
      refreshQueue(board, queue, cause)
      return
    }
    case 'member_gone':
      removeMember(board, signal.queue, signal.member, cause)
      refreshQueue(board, signal.queue, cause)
      return
    case 'caller':
      queueFactsOf(board, signal.queue).callers.set(signal.caller, {
        sinceUs: signal.sinceUs,
        round: board.rounds.queues,
      })
      refreshQueue(board, signal.queue, cause)
      return
    case 'caller_gone':
      queueFactsOf(board, signal.queue).callers.delete(signal.caller)
      refreshQueue(board, signal.queue, cause)
      return
    default:
      signal satisfies never
  }
}

/**
 * Sets all states by the complete lists at once, since a part of them is not a state. The first lists cause no changes.
 */
function finishLists(board: Board, cause: Cause): void {
  if (board.stage === 'live') return
  const listed = { ...cause, isListed: true, isInitial: board.stage === 'first' }
  board.stage = 'live'
  const agents = refreshAll(board, listed)
  // Subjects that were known before, maybe to another process, and are on no list.
  for (const { id, account, present, isGone } of [...board.subjects.values()]) {
    if (isGone || agents.has(id) || mayExist(board, id, present)) continue
    // Receivers know it as present.
    if (present.kind === 'agent' || (present.kind === 'phone' && present.state.state !== 'unregistered'))
      setPresent(board, { id, account, present: goneOf(present, rfc3339(cause.atUs)) }, listed)
    const subject = board.subjects.get(id)
    if (subject !== undefined) subject.isGone = true
  }
  for (const id of board.subjects.keys()) board.pending.add(id)
}

/** Sets the states of all subjects. Returns the ids of the agents. */
function refreshAll(board: Board, cause: Cause): ReadonlySet<string> {
  const agents = new Set<string>()
  for (const id of board.endpointsOf.keys()) refresh(board, id, cause)
  for (const trunk of board.registrations.keys()) refreshTrunk(board, trunk, cause)
  for (const [queue, facts] of board.queues) {
    placeQueue(board, queue, facts, cause)
    for (const member of facts.members.keys()) {
      refreshAgent(board, queue, member, cause)
      agents.add(idOf('agent', facts.account, queue, member))
    }
    refreshQueue(board, queue, cause)
  }
  return agents
}

/** Returns the state of a subject that is gone. */
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

function queueFactsOf({ queues, rounds }: Board, queue: string): QueueFacts & { account: string | null } {
  const known = queues.get(queue)
  if (known !== undefined) return known
  const facts = { ...newQueueFacts(rounds.queues), account: null }
  queues.set(queue, facts)
  return facts
}

/** Marks an endpoint without contacts as absent, even if its device is unknown. */
function keepAbsent(board: Board, endpoint: string): void {
  const facts = factsOf(board, endpoint)
  if (facts.contacts.size === 0) facts.device = { fact: 'absent', round: board.rounds.devices }
}

/** Removes entries that a complete list lacks. */
function sweep(board: Board, list: StateList, cause: Cause): void {
  const round = board.rounds[list]
  board.known.add(list)
  switch (list) {
    case 'devices':
      for (const [endpoint, facts] of board.endpoints)
        if (facts.device !== null && facts.device.round < round) {
          facts.device = { fact: 'absent', round }
          if (!board.directory.has(endpoint)) board.endpoints.delete(endpoint)
          refreshEndpoint(board, endpoint, cause)
        }
      noteAbsent(board, cause)
      return
    case 'contacts':
      for (const [endpoint, { contacts }] of board.endpoints) {
        const gone = [...contacts].filter(([, contact]) => contact.round < round)
        if (gone.length === 0) continue
        for (const [contact] of gone) contacts.delete(contact)
        if (!board.known.has('devices')) keepAbsent(board, endpoint)
        refreshEndpoint(board, endpoint, cause)
      }
      noteAbsent(board, cause)
      return
    case 'registrations':
      for (const [trunk, facts] of [...board.registrations])
        if (facts.round < round) {
          board.registrations.delete(trunk)
          refreshTrunk(board, trunk, cause)
        }
      return
    case 'queues':
      for (const [queue, facts] of [...board.queues]) {
        for (const [member, one] of [...facts.members]) if (one.round < round) removeMember(board, queue, member, cause)
        for (const [caller, one] of [...facts.callers]) if (one.round < round) facts.callers.delete(caller)
        if (facts.round < round && facts.members.size === 0) {
          board.queues.delete(queue)
          removeSubject(board, idOf('queue', facts.account, queue))
        } else refreshQueue(board, queue, cause)
      }
      return
    default:
      list satisfies never
  }
}

/** Marks configured phones that no list has as absent. */
function noteAbsent(board: Board, cause: Cause): void {
  if (!board.known.has('devices') && !board.known.has('contacts')) return
  for (const { endpoint, kind } of board.directory.values()) {
    if (kind !== 'phone' || board.endpoints.has(endpoint)) continue
    factsOf(board, endpoint).device = { fact: 'absent', round: board.rounds.devices }
    refreshEndpoint(board, endpoint, cause)
  }
}

function setDirectory(board: Board, entries: readonly EndpointEntry[], cause: Cause): void {
  board.directory = new Map(entries.map((entry) => [entry.endpoint, entry]))
  const earlier = board.endpointsOf
  board.endpointsOf = Map.groupBy(entries, (entry) => idOf(entry.kind, accountOf(board, entry), entry.key))
  board.idOfEndpoint.clear()
  for (const [id, some] of board.endpointsOf) for (const { endpoint } of some) board.idOfEndpoint.set(endpoint, id)
  for (const [id, [entry]] of earlier) {
    if (board.endpointsOf.has(id) || entry === undefined) continue
    if (entry.kind === 'phone' || !board.registrations.has(entry.key)) removeSubject(board, id)
  }
  noteAbsent(board, cause)
  for (const id of board.endpointsOf.keys()) refresh(board, id, cause)
  for (const [queue, facts] of board.queues) {
    if (placeQueue(board, queue, facts, cause)) continue
    for (const member of facts.members.keys()) refreshAgent(board, queue, member, cause)
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
  for (const [queue, facts] of board.queues)
    for (const [member, one] of facts.members)
      if (one.endpoint === endpoint && !placeQueue(board, queue, facts, cause))
        refreshAgent(board, queue, member, cause)
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
  if (board.stage !== 'live') return
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

/**
 * Gives a queue to the account of its agents. Returns whether the account has changed: then the queue and its agents
 * are set anew.
 */
function placeQueue(
  board: Board,
  queue: string,
  facts: QueueFacts & { account: string | null },
  cause: Cause,
): boolean {
  const accounts = new Set(
    [...facts.members.values()].map(({ endpoint }) => {
      const entry = board.directory.get(endpoint)
      return entry === undefined ? null : accountOf(board, entry)
    }),
  )
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
  facts.members.delete(member)
  if (board.stage !== 'live') return
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

/** Sets the present state of a subject, and notes that a change may be due. */
function setPresent(
  board: Board,
  { id, account, present }: Pick<Subject, 'id' | 'account' | 'present'>,
  { atUs, steadyUs, isListed, isInitial }: Cause,
): void {
  // A part of the lists is not a state: all states are set when the lists are complete.
  if (board.stage !== 'live') return
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
}

const LISTS_OF: Readonly<Record<Present['kind'], readonly StateList[]>> = {
  phone: ['devices', 'contacts'],
  trunk: ['devices', 'contacts', 'registrations'],
  agent: ['queues'],
  queue: ['queues'],
}

type Times = { readonly nowUs: number; readonly steadyUs: number }

/** Returns the changes that are due, in order for each subject, and when (on the steady clock) to call again. */
export function takeStateChanges(board: Board, times: Times): { changes: Change[]; wakeSteadyUs: number | null } {
  const changes: Change[] = []
  let wakeSteadyUs = Number.POSITIVE_INFINITY
  if (board.stage !== 'live') return { changes, wakeSteadyUs: null }
  for (const id of [...board.pending]) {
    const subject = board.subjects.get(id)
    if (subject === undefined) {
      board.pending.delete(id)
      continue
    }
    if (LISTS_OF[subject.present.kind].some((list) => board.listing.has(list))) continue
    let due = dueOf(subject, times.steadyUs)
    while (due !== null && 'present' in due) {
      const { present, isShortLived } = due
      board.unstored.add(id)
      changes.push(...emit(subject, { present: atMoment(present, times.nowUs), isShortLived }, times.steadyUs))
      due = dueOf(subject, times.steadyUs)
    }
    if (due !== null) wakeSteadyUs = Math.min(wakeSteadyUs, due.atSteadyUs)
    else {
      board.pending.delete(id)
      if (subject.isGone) removeSubject(board, id)
    }
  }
  return { changes, wakeSteadyUs: Number.isFinite(wakeSteadyUs) ? wakeSteadyUs : null }
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

/**
 * Returns the subjects whose stored state is out of date (`undefined`: the subject is gone), and counts them as stored.
 */
export function takeUnstored(board: Board): { id: string; subject: Subject | undefined }[] {
  const ids = [...board.unstored]
  board.unstored.clear()
  return ids.map((id) => ({ id, subject: board.subjects.get(id) }))
}

/** Yields the present states of the accounts that `isOwner` accepts (`null`: without an account), in no order. */
export function* presentOf(
  board: Board,
  isOwner: (account: string | null) => boolean,
  nowUs: number,
): Generator<Present> {
  if (board.stage === 'first') return
  for (const { account, present, isGone } of board.subjects.values())
    if (isOwner(account) && !isGone) yield atMoment(present, nowUs)
}
