import { createHash } from 'node:crypto'
import type { AgentState, TrunkState } from '../../events/states.ts'
import { SECOND } from '../../lib/time.ts'
import type { ContactFact, DeviceFact, StateSignal } from '../../states/states.ts'
import { bareName } from '../endpoints/endpoint-classifier.ts'
import { cleanText } from '../endpoints/sanitize.ts'
import { isEndpoint, type StateEvent } from './events.ts'
import type { AmiFrame } from './frame.ts'

/** Translates events and list rows of an Asterisk into signals of phones, trunks, agents and queues. */
export type AmiStates = {
  /** Returns the signals of an event or list row; none for other kinds. */
  signals(frame: AmiFrame, arrivedUs: number): readonly StateSignal[]
}

/** The rows of lists; some have the name of an event. */
const ROWS = ['PeerEntry', 'OutboundRegistrationDetail', 'RegistryEntry', 'QueueParams', 'QueueMember', 'QueueEntry']

const DEVICES: Readonly<Record<string, DeviceFact>> = {
  NOT_INUSE: 'idle',
  RINGING: 'ringing',
  INUSE: 'in_use',
  RINGINUSE: 'in_use',
  BUSY: 'in_use',
  ONHOLD: 'in_use',
  UNAVAILABLE: 'absent',
  INVALID: 'absent',
  UNKNOWN: 'unknown',
}

const CONTACTS: Readonly<Record<string, ContactFact>> = {
  Reachable: 'reachable',
  Unreachable: 'unreachable',
  NonQualified: 'unchecked',
  Created: 'unchecked',
  Updated: 'unchecked',
  Unknown: 'unchecked',
}

/** For chan_sip and chan_iax2: `gone` means no contact. */
const PEERS: Readonly<Record<string, ContactFact | 'gone'>> = {
  Registered: 'unchecked',
  Reachable: 'reachable',
  Lagged: 'reachable',
  Unreachable: 'unreachable',
  Unregistered: 'gone',
}

/** The only contact of a peer of chan_sip or chan_iax2. */
const PEER_CONTACT = 'peer'

/** States of a registration; requests in progress change nothing. */
const REGISTRATIONS: Readonly<Record<string, TrunkState>> = {
  Registered: 'registered',
  Rejected: 'rejected',
  'No Authentication': 'rejected',
  Failed: 'rejected',
  Timeout: 'unreachable',
  Unregistered: 'unknown',
}

/** Device states of queue members, by number. */
const UNREACHABLE = new Set(['4', '5'])
const BUSY = new Set(['2', '3', '6', '7', '8'])

/** Returns the state of a contact by Asterisk's name for it. */
export const contactFactOf = (status: string): ContactFact => CONTACTS[status] ?? 'unchecked'

/**
 * Returns the key of a contact, for events (which have its URI) and for its name (which ends with a hash of the URI).
 */
export const contactKeyOf = (uri: string): string => createHash('md5').update(uri).digest('hex')

/** Registrations have no name in their events; the list at the start has both. */
const registrationKey = (client: string, server: string): string => `${client} ${server}`

/** Returns a translator that knows no registrations yet. */
export function createAmiStates(): AmiStates {
  const trunks = new Map<string, string>()

  function registration(trunk: string, status: string, reason: string, atUs: number): StateSignal[] {
    const state = REGISTRATIONS[status]
    if (state === undefined || trunk === '') return []
    const isWell = state === 'registered' || state === 'unknown'
    return [{ kind: 'registration', trunk, state, reason: isWell ? null : cleanText(reason || status), atUs }]
  }

  function member(frame: AmiFrame, atUs: number): StateSignal[] {
    const queue = frame.get('Queue')
    const interfaceOf = frame.get('Interface') || frame.get('Location')
    if (queue === '' || interfaceOf === '') return []
    const endpoint = endpointOfMember(frame.get('StateInterface') || interfaceOf)
    const extension = extensionOfMember(interfaceOf, endpoint)
    const state = agentStateOf(frame)
    const reason = state === 'paused' ? cleanText(frame.get('PausedReason')) : null
    return [{ kind: 'member', queue, member: interfaceOf, endpoint, extension, state, reason, atUs }]
  }

  function caller(frame: AmiFrame, sinceUs: number, atUs: number): StateSignal[] {
    const queue = frame.get('Queue')
    return queue === '' ? [] : [{ kind: 'caller', queue, caller: frame.get('Uniqueid'), sinceUs, atUs }]
  }

  const handlers: Readonly<Record<StateEvent | (typeof ROWS)[number], (frame: AmiFrame, us: number) => StateSignal[]>> =
    {
      DeviceStateChange(frame, atUs) {
        const endpoint = frame.get('Device')
        const device = DEVICES[frame.get('State')]
        return device === undefined || !isEndpoint(endpoint) ? [] : [{ kind: 'device', endpoint, device, atUs }]
      },
      ContactStatus(frame, atUs) {
        const name = frame.get('EndpointName') || frame.get('AOR')
        const contact = contactKeyOf(frame.get('URI'))
        const status = frame.get('ContactStatus')
        if (name === '') return []
        const endpoint = `PJSIP/${name}`
        if (status === 'Removed') return [{ kind: 'contact_gone', endpoint, contact, atUs }]
        return [{ kind: 'contact', endpoint, contact, state: contactFactOf(status), atUs }]
      },
      PeerStatus(frame, atUs) {
        const endpoint = frame.get('Peer')
        const state = PEERS[frame.get('PeerStatus')]
        if (state === undefined || endpoint.startsWith('PJSIP/') || !isEndpoint(endpoint)) return []
        return state === 'gone'
          ? [{ kind: 'contact_gone', endpoint, contact: PEER_CONTACT, atUs }]
          : [{ kind: 'contact', endpoint, contact: PEER_CONTACT, state, atUs }]
      },
      PeerEntry(frame, atUs) {
        const endpoint = `${frame.get('Channeltype')}/${frame.get('ObjectName').split('/')[0]}`
        const status = frame.get('Status')
        if (!isEndpoint(endpoint) || /^-none-$|^\(null\)$|^$/.test(frame.get('IPaddress'))) return []
        const state = /^(OK|LAGGED)/i.test(status)
          ? 'reachable'
          : /^UNREACHABLE/i.test(status)
            ? 'unreachable'
            : 'unchecked'
        return [{ kind: 'contact', endpoint, contact: PEER_CONTACT, state, atUs }]
      },
      Registry(frame, atUs) {
        const [client, server] = [frame.get('Username'), frame.get('Domain')]
        const known = trunks.get(registrationKey(client, server))
        const isPjsip = /^pjsip$/i.test(frame.get('ChannelType'))
        const trunk = known ?? (isPjsip ? client.replace(/^sips?:/, '') : `${client}@${server}`)
        return registration(trunk, frame.get('Status'), frame.get('Cause'), atUs)
      },
      OutboundRegistrationDetail(frame, atUs) {
        const trunk = frame.get('Endpoint') || frame.get('ObjectName')
        trunks.set(registrationKey(frame.get('ClientUri'), frame.get('ServerUri')), trunk)
        return registration(trunk, frame.get('Status'), '', atUs)
      },
      RegistryEntry: (frame, atUs) =>
        registration(`${frame.get('Username')}@${frame.get('Host')}`, frame.get('State'), '', atUs),
      QueueParams: (frame, atUs) => [{ kind: 'queue', queue: frame.get('Queue'), atUs }],
      QueueMember: member,
      QueueMemberAdded: member,
      QueueMemberStatus: member,
      QueueMemberPause: member,
      QueueMemberPaused: member,
      QueueMemberRemoved(frame, atUs) {
        const name = frame.get('Interface') || frame.get('Location')
        return [{ kind: 'member_gone', queue: frame.get('Queue'), member: name, atUs }]
      },
      QueueEntry(frame, atUs) {
        const wait = frame.get('Wait')
        return caller(frame, /^\d{1,9}$/.test(wait) ? atUs - Number(wait) * SECOND : atUs, atUs)
      },
      QueueCallerJoin: (frame, atUs) => caller(frame, atUs, atUs),
      QueueCallerLeave(frame, atUs) {
        return [{ kind: 'caller_gone', queue: frame.get('Queue'), caller: frame.get('Uniqueid'), atUs }]
      },
    }
  const byName = new Map(Object.entries(handlers))
  return { signals: (frame, arrivedUs) => byName.get(frame.name)?.(frame, arrivedUs) ?? [] }
}

function agentStateOf(frame: AmiFrame): AgentState {
  if (frame.get('Paused') === '1') return 'paused'
  const status = frame.get('Status')
  if (UNREACHABLE.has(status)) return 'unreachable'
  return BUSY.has(status) || frame.get('InCall') === '1' ? 'busy' : 'available'
}

/** `hint:101@ext-local` stands for the extension's own device; of several devices the first counts. */
const endpointOfMember = (stateInterface: string): string => stateInterface.split('&')[0] ?? ''

/**
 * `Local/101@from-queue/n` and `hint:101@ext-local` stand for the extension 101; so does `PJSIP/101`, unless its
 * extension is known.
 */
function extensionOfMember(member: string, endpoint: string): string {
  const dialled = /^(?:Local\/|hint:)([^@/]+)/i.exec(member)?.[1] ?? /^hint:([^@/]+)/i.exec(endpoint)?.[1]
  return dialled ?? bareName(endpoint)
}
