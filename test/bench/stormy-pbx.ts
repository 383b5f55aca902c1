import { contactKeyOf } from '../../src/pbx/ami/states.ts'
import { amiEvent } from '../help/ami-event.ts'
import { startListedAsterisk } from '../help/listed-asterisk.ts'

// An Asterisk whose phones lose their network, or have it back, and its frames.

export type Status = 'Reachable' | 'Unreachable'

const PHONES_OF_A_QUEUE = 50

/** Returns the queue of a phone, by its place. */
export const queueOf = (at: number, phones: number): string =>
  `queue${at % Math.max(1, Math.round(phones / PHONES_OF_A_QUEUE))}`

const uriOf = (phone: string): string => `sip:${phone}@192.0.2.7:5060`

/** Returns the contact of a phone in the form in which PJSIP_AOR prints it. */
const contactOf = (phone: string): string => `${phone};@${contactKeyOf(uriOf(phone))}`

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

/** Starts an Asterisk whose phones each serve a queue; `storm` lets all of them lose their network, or have it back. */
export function startStormyAsterisk(phones: number) {
  const names = Array.from({ length: phones }, (_, at) => `${100_000 + at}`)
  const queues = new Set(names.map((_, at) => queueOf(at, phones)))
  const pbx = startListedAsterisk(
    {
      PJSIPShowRegistrationsOutbound: [],
      DeviceStateList: names.map((name) => `Event: DeviceStateChange\nDevice: PJSIP/${name}\nState: NOT_INUSE`),
      QueueStatus: [
        ...[...queues].map((queue) => `Event: QueueParams\nQueue: ${queue}\nCalls: 0`),
        ...names.map(
          (name, at) =>
            `Event: QueueMember\nQueue: ${queueOf(at, phones)}\nName: Agent ${name}\nLocation: PJSIP/${name}\nStateInterface: PJSIP/${name}\nInCall: 0\nStatus: 1\nPaused: 0`,
        ),
      ],
    },
    Object.fromEntries(names.map((name) => [`PJSIP_AOR(${name},contact)`, contactOf(name)])),
  )
  const frames = (status: Status): string =>
    names.map((name, at) => phoneFrames(name, status) + memberFrame(name, queueOf(at, phones), status)).join('')
  const bytes: Readonly<Record<Status, string>> = { Reachable: frames('Reachable'), Unreachable: frames('Unreachable') }
  return { port: pbx.port, stop: pbx.stop, storm: (status: Status) => pbx.sendBytes(bytes[status]) }
}
