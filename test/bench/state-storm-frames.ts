import { contactKeyOf } from '../../src/pbx/ami/states.ts'
import { amiEvent } from '../help/ami-event.ts'

// The frames of an Asterisk whose phones lose their network, or have it back.

export type Status = 'Reachable' | 'Unreachable'

const PHONES_OF_A_QUEUE = 50

/** Returns the queue of a phone, by its place. */
export const queueOf = (at: number, phones: number): string =>
  `queue${at % Math.max(1, Math.round(phones / PHONES_OF_A_QUEUE))}`

const uriOf = (phone: string): string => `sip:${phone}@192.0.2.7:5060`

/** Returns the contact of a phone in the form in which PJSIP_AOR prints it. */
export const contactOf = (phone: string): string => `${phone};@${contactKeyOf(uriOf(phone))}`

/** Returns the events of a phone: four, two of which say what the others say. */
export const phoneFrames = (phone: string, status: Status): string =>
  amiEvent('ContactStatus', {
    URI: uriOf(phone),
    ContactStatus: status,
    AOR: phone,
    EndpointName: phone,
    RoundtripUsec: '',
  }) +
  amiEvent('PeerStatus', { ChannelType: 'PJSIP', Peer: `PJSIP/${phone}`, PeerStatus: status }) +
  amiEvent('DeviceStateChange', {
    Device: `PJSIP/${phone}`,
    State: status === 'Reachable' ? 'NOT_INUSE' : 'UNAVAILABLE',
  }) +
  amiEvent('ExtensionStatus', {
    Exten: phone,
    Context: 'ext-local',
    Hint: `PJSIP/${phone}`,
    Status: status === 'Reachable' ? 0 : 4,
    StatusText: status === 'Reachable' ? 'Idle' : 'Unavailable',
  })

/** Returns the event of a phone that serves a queue. */
export const memberFrame = (phone: string, queue: string, status: Status): string =>
  amiEvent('QueueMemberStatus', {
    Queue: queue,
    MemberName: `Agent ${phone}`,
    Interface: `PJSIP/${phone}`,
    StateInterface: `PJSIP/${phone}`,
    Membership: 'dynamic',
    InCall: 0,
    Status: status === 'Reachable' ? 1 : 5,
    Paused: 0,
  })
