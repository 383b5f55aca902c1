import type { AgentState } from '../../events/states.ts'
import { SECOND } from '../../lib/time.ts'
import type { ContactFact, DeviceFact, EndpointEntry, StateSignal } from '../../states/states.ts'
import { cleanText } from '../endpoints/sanitize.ts'
import { userOf } from './address.ts'
import { type EslEvent, variableOf } from './event.ts'

/**
 * Translates events and lists of a FreeSWITCH into signals of phones, trunks, agents and queues. Phones are
 * `user@domain`.
 */
export type EslStates = {
  /** Returns the signals of an event; none for other kinds. */
  signals(event: EslEvent, arrivedUs: number): StateSignal[]
  /** Notes that lists are requested: later events are newer than their rows. */
  beginLists(): void
  /** Takes the users, a row at a time: there may be tens of thousands of them. Returns the signals of each step. */
  users(rows: readonly ListedRow[], atUs: number): Generator<StateSignal[]>
  gateways(gateways: readonly Gateway[], atUs: number): StateSignal[]
  /** Takes the registrations, a row at a time: events that come in between are newer. Returns the signals of each. */
  registrations(rows: readonly Registration[], atUs: number): Generator<StateSignal[]>
  /** Takes the legs that are up, in one step. Returns the signals of each phone's device, which follow from them. */
  legs(rows: readonly ListedRow[], atUs: number): Generator<StateSignal[]>
  agents(
    lists: { queues: readonly ListedRow[]; agents: readonly ListedRow[]; tiers: readonly ListedRow[] },
    atUs: number,
  ): StateSignal[]
  callers(rows: readonly ListedRow[], atUs: number): StateSignal[]
}

/** A row of a table, by the names of its columns. */
export type ListedRow = ReadonlyMap<string, string>
/** A gateway of `sofia xmlstatus gateway`. */
export type Gateway = {
  readonly name: string
  readonly state: string
  readonly isUp: boolean
  readonly isPinged: boolean
}
/** A registration of `sofia status profile NAME reg`. */
export type Registration = { readonly user: string; readonly callId: string; readonly ping: string }

type Trunk = Pick<Extract<StateSignal, { kind: 'registration' }>, 'state' | 'reason'>
type Leg = { readonly endpoint: string; readonly isUp: boolean }
type KnownAgent = { status: string; state: string; endpoint: string; extension: string }

/** Returns a translator without any facts. */
export function createEslStates(gatewayNames: Readonly<Record<string, string>> = {}): EslStates {
  const entries = new Map<string, EndpointEntry>()
  const contacts = new Map<string, Set<string>>()
  const legs = new Map<string, Leg>()
  const legsOf = new Map<string, Set<string>>()
  /** Called phones that do not ring yet, by leg. */
  const dialled = new Map<string, string>()
  const trunks = new Map<string, Trunk>()
  const agents = new Map<string, KnownAgent>()
  /** The names of the agents whose phone each endpoint is. */
  const agentsOf = new Map<string, Set<string>>()
  const queuesOf = new Map<string, Set<string>>()
  /** Subjects that events have changed since the lists were requested: their rows are older. */
  const touched = new Set<string>()

  /** A phone that registers is known from then on, even if the directory cannot be listed. */
  function known(endpoint: string, atUs: number): StateSignal[] {
    if (entries.has(endpoint)) return []
    const entry = phoneEntry(endpoint, null, null)
    entries.set(endpoint, entry)
    return [{ kind: 'endpoint', entry, atUs }]
  }
  /** A phone that rings and talks at once is in use. */
  function deviceOf(endpoint: string): DeviceFact {
    const own = legsOf.get(endpoint)
    if (own === undefined) return 'idle'
    return own.values().some((id) => legs.get(id)?.isUp === true) ? 'in_use' : 'ringing'
  }
  const device = (endpoint: string, atUs: number): StateSignal[] =>
    contacts.has(endpoint) ? [{ kind: 'device', endpoint, device: deviceOf(endpoint), atUs }] : []

  function registered(endpoint: string, contact: string, state: ContactFact, atUs: number): StateSignal[] {
    const own = contacts.get(endpoint) ?? new Set()
    contacts.set(endpoint, own.add(contact))
    return [
      ...known(endpoint, atUs),
      { kind: 'contact', endpoint, contact, state, atUs },
      ...device(endpoint, atUs),
      ...agentsAt(endpoint, atUs),
    ]
  }
  function unregistered(endpoint: string, contact: string, atUs: number): StateSignal[] {
    const own = contacts.get(endpoint)
    own?.delete(contact)
    if (own?.size === 0) contacts.delete(endpoint)
    return [{ kind: 'contact_gone', endpoint, contact, atUs }, ...agentsAt(endpoint, atUs)]
  }

  function registration(event: EslEvent, atUs: number): StateSignal[] {
    const endpoint = addressOf(event.get('from-user') || event.get('user'), event.get('from-host') || event.get('host'))
    const contact = event.get('call-id')
    if (endpoint === '' || contact === '') return []
    touched.add(contact)
    switch (event.subclass) {
      case 'sofia::register':
        return registered(endpoint, contact, 'unchecked', atUs)
      case 'sofia::sip_user_state': {
        const isSilent = /unreachable/i.test(event.get('Ping-Status'))
        return registered(endpoint, contact, isSilent ? 'unreachable' : 'reachable', atUs)
      }
      default:
        return unregistered(endpoint, contact, atUs)
    }
  }

  function gateway(event: EslEvent, atUs: number): StateSignal[] {
    const name = event.get('Gateway')
    const found = trunkOf(
      event.get('State'),
      event.get('Status'),
      event.get('Phrase'),
      event.get('Ping-Status') === 'UP',
    )
    if (name === '' || found === undefined) return []
    touched.add(`gateway ${name}`)
    return trunk(name, found, atUs)
  }
  function trunk(name: string, found: Trunk, atUs: number): StateSignal[] {
    trunks.set(name, found)
    return [{ kind: 'registration', trunk: gatewayNames[name] ?? name, ...found, atUs }]
  }

  function addLeg(id: string, one: Leg): void {
    legs.set(id, one)
    legsOf.set(one.endpoint, (legsOf.get(one.endpoint) ?? new Set()).add(id))
  }
  function dropLeg(id: string): void {
    const own = legsOf.get(legs.get(id)?.endpoint ?? '')
    own?.delete(id)
    if (own?.size === 0) legsOf.delete(legs.get(id)?.endpoint ?? '')
    legs.delete(id)
  }

  function leg(event: EslEvent, atUs: number): StateSignal[] {
    const id = event.get('Unique-ID')
    const before = legs.get(id)
    switch (event.name) {
      case 'CHANNEL_CREATE': {
        const endpoint = phoneOfLeg(event)
        if (endpoint === '' || !entries.has(endpoint)) return []
        // A calling phone is in use from the start; a called one rings when it says so.
        if (event.get('Call-Direction') === 'outbound') {
          dialled.set(id, endpoint)
          return []
        }
        addLeg(id, { endpoint, isUp: true })
        return device(endpoint, atUs)
      }
      case 'CHANNEL_PROGRESS':
      case 'CHANNEL_PROGRESS_MEDIA':
      case 'CHANNEL_ANSWER': {
        const endpoint = before?.endpoint ?? dialled.get(id)
        if (endpoint === undefined) return []
        addLeg(id, { endpoint, isUp: before?.isUp === true || event.name === 'CHANNEL_ANSWER' })
        return device(endpoint, atUs)
      }
      case 'CHANNEL_HANGUP':
      case 'CHANNEL_HANGUP_COMPLETE':
      case 'CHANNEL_DESTROY':
        dialled.delete(id)
        if (before === undefined) return []
        dropLeg(id)
        return device(before.endpoint, atUs)
      default:
        return []
    }
  }
  function callcenter(event: EslEvent, atUs: number): StateSignal[] {
    const agent = event.get('CC-Agent')
    const queue = event.get('CC-Queue')
    const caller = event.get('CC-Member-UUID')
    switch (event.get('CC-Action')) {
      case 'agent-status-change':
        return changeAgent(agent, { status: event.get('CC-Agent-Status') }, atUs)
      case 'agent-state-change':
        return changeAgent(agent, { state: event.get('CC-Agent-State') }, atUs)
      case 'member-queue-start':
        touched.add(caller)
        return caller === '' ? [] : [{ kind: 'caller', queue, caller, sinceUs: atUs, atUs }]
      case 'bridge-agent-start':
      case 'member-queue-end':
        touched.add(caller)
        return [{ kind: 'caller_gone', queue, caller, atUs }]
      default:
        return []
    }
  }
  function changeAgent(name: string, change: Partial<KnownAgent>, atUs: number): StateSignal[] {
    const agent = agents.get(name)
    if (agent === undefined) return []
    touched.add(`agent ${name}`)
    Object.assign(agent, change)
    return membersOf(name, atUs)
  }
  function member(queue: string, name: string, agent: KnownAgent, atUs: number): StateSignal {
    const { endpoint, extension } = agent
    const state = agentStateOf(agent, !endpoint.includes('@') || contacts.has(endpoint))
    return { kind: 'member', queue, member: name, endpoint, extension, state, reason: null, atUs }
  }
  /** Returns the signals of an agent in all its queues. */
  function membersOf(name: string, atUs: number): StateSignal[] {
    const agent = agents.get(name)
    return agent === undefined ? [] : [...(queuesOf.get(name) ?? [])].map((queue) => member(queue, name, agent, atUs))
  }
  function setAgent(name: string, agent: KnownAgent): void {
    agentsOf.get(agents.get(name)?.endpoint ?? '')?.delete(name)
    agents.set(name, agent)
    agentsOf.set(agent.endpoint, (agentsOf.get(agent.endpoint) ?? new Set()).add(name))
  }
  /** Returns the signals of agents whose phone has become reachable or unreachable. */
  function agentsAt(endpoint: string, atUs: number): StateSignal[] {
    return [...(agentsOf.get(endpoint) ?? [])].flatMap((name) => membersOf(name, atUs))
  }

  return {
    signals(event, arrivedUs) {
      if (event.name !== 'CUSTOM') return leg(event, arrivedUs)
      if (event.subclass === 'callcenter::info') return callcenter(event, arrivedUs)
      if (event.subclass === 'sofia::gateway_state') return gateway(event, arrivedUs)
      return event.subclass.startsWith('sofia::') ? registration(event, arrivedUs) : []
    },
    beginLists: () => touched.clear(),
    *users(rows, atUs) {
      for (const row of rows) {
        const endpoint = addressOf(row.get('userid') ?? '', row.get('domain') ?? '')
        const number = row.get('effective_caller_id_number') ?? ''
        const name = cleanText(row.get('effective_caller_id_name') ?? '')
        if (endpoint !== '') entries.set(endpoint, phoneEntry(endpoint, /^\d{2,6}$/.test(number) ? number : null, name))
        yield []
      }
      yield [{ kind: 'endpoints', endpoints: [...entries.values()], atUs }]
    },
    gateways(gateways, atUs) {
      return gateways.flatMap(({ name, state, isUp, isPinged }) => {
        if (touched.has(`gateway ${name}`)) return trunk(name, trunks.get(name) ?? UNKNOWN, atUs)
        // The list has a failure without its reason, and a new attempt may be in progress.
        const last = trunks.get(name)
        const isFailing = /^(FAIL|TRYING|REGISTER|UNREGED|TIMEOUT)/.test(state)
        const failed = last?.state === 'rejected' || last?.state === 'unreachable' ? last : FAILING
        const found = isFailing ? failed : state === 'NOREG' && !isPinged ? UNKNOWN : trunkOf(state, '', '', isUp)
        return trunk(name, found ?? UNKNOWN, atUs)
      })
    },
    *registrations(rows, atUs) {
      const listed = new Set(rows.map(({ callId }) => callId))
      for (const [endpoint, own] of contacts) {
        for (const contact of own) if (!listed.has(contact) && !touched.has(contact)) own.delete(contact)
        if (own.size === 0) contacts.delete(endpoint)
      }
      for (const { user, callId, ping } of rows) {
        if (touched.has(callId)) continue
        const state = /unreachable/i.test(ping) ? 'unreachable' : /reachable/i.test(ping) ? 'reachable' : 'unchecked'
        yield registered(user.toLowerCase(), callId, state, atUs)
      }
    },
    *legs(rows, atUs) {
      legs.clear()
      legsOf.clear()
      for (const row of rows) {
        const endpoint = (row.get('presence_id') ?? '').toLowerCase()
        const state = row.get('callstate') ?? ''
        if (!entries.has(endpoint) || state === 'DOWN' || state === 'HANGUP') continue
        const isUp = row.get('direction') === 'inbound' || !/^(RINGING|EARLY)$/.test(state)
        addLeg(row.get('uuid') ?? '', { endpoint, isUp })
      }
      for (const endpoint of [...contacts.keys()]) yield device(endpoint, atUs)
    },
    agents({ queues, agents: rows, tiers }, atUs) {
      for (const row of rows) {
        const name = row.get('name') ?? ''
        const contact = /(?:^|[\]/])user\/([^@/,]+@[^,/]+)/.exec(row.get('contact') ?? '')?.[1]
        const endpoint = (contact ?? name).toLowerCase()
        const now = touched.has(`agent ${name}`) ? agents.get(name) : undefined
        const [status, state] = [row.get('status') ?? '', row.get('state') ?? '']
        setAgent(name, now ?? { status, state, endpoint, extension: userOf(contact ?? name) })
      }
      queuesOf.clear()
      for (const tier of tiers) {
        const [agent, queue] = [tier.get('agent') ?? '', tier.get('queue') ?? '']
        queuesOf.set(agent, (queuesOf.get(agent) ?? new Set()).add(queue))
      }
      return [
        ...queues.map((row): StateSignal => ({ kind: 'queue', queue: row.get('name') ?? '', atUs })),
        ...[...queuesOf.keys()].flatMap((name) => membersOf(name, atUs)),
      ]
    },
    callers: (rows, atUs) =>
      rows.flatMap((row): StateSignal[] => {
        const [queue, caller, state] = [row.get('queue') ?? '', row.get('uuid') ?? '', row.get('state') ?? '']
        const joined = Number(row.get('joined_epoch') ?? 0)
        if (!/^(Waiting|Trying)$/.test(state) || touched.has(caller)) return []
        return [{ kind: 'caller', queue, caller, sinceUs: joined > 0 ? joined * SECOND : atUs, atUs }]
      }),
  }
}

const UNKNOWN: Trunk = { state: 'unknown', reason: null }
const FAILING: Trunk = { state: 'unreachable', reason: null }

/** Returns the state of a gateway, `undefined` during an attempt to register. */
function trunkOf(state: string, status: string, phrase: string, isUp: boolean): Trunk | undefined {
  switch (state) {
    case 'REGED':
      return { state: 'registered', reason: null }
    case 'NOREG':
      return isUp ? { state: 'reachable', reason: null } : FAILING
    case 'TIMEOUT':
      return FAILING
    case 'FAILED': {
      const reason = cleanText(`${status} ${phrase}`.trim())
      return { state: /^4/.test(status) && status !== '408' ? 'rejected' : 'unreachable', reason }
    }
    default:
      return undefined
  }
}

function agentStateOf({ status, state }: KnownAgent, isReachable: boolean): AgentState {
  if (status === 'Logged Out') return 'logged_out'
  if (status === 'On Break') return 'paused'
  if (state === 'Receiving' || state === 'In a queue call') return 'busy'
  return isReachable ? 'available' : 'unreachable'
}

const phoneEntry = (endpoint: string, number: string | null, name: string | null): EndpointEntry => {
  const [user = '', domain] = endpoint.split('@')
  return { endpoint, kind: 'phone', key: number ?? user, name, tenant: domain ?? null }
}

const addressOf = (user: string, host: string): string =>
  user === '' || host === '' ? '' : `${user}@${host}`.toLowerCase()

/** Returns the phone of a leg: the one that logged in for it, or is called. */
function phoneOfLeg(event: EslEvent): string {
  const presence = event.get('Channel-Presence-ID')
  const user = variableOf(event, 'user_name')
  const domain = variableOf(event, 'domain_name')
  return (presence.includes('@') ? presence : addressOf(user, domain)).toLowerCase()
}
