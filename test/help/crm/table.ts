import type { CallEvent } from '../../../src/events/bodies.ts'

/**
 * The situations for the tests of every preset: recordings of real PBXs, each with the calls that the CRM must have in
 * the end. The values are written by hand: no template or helper works them out.
 */

export type WantedCall = {
  readonly direction: 'inbound' | 'outbound'
  readonly number: string
  readonly isAnswered: boolean
  /** The extension that owns the call; `null`: no extension. */
  readonly owner: string | null
  /** The extensions that missed the call, in the order in which they rang. */
  readonly missedBy: readonly string[]
  readonly talkSeconds: number
  readonly seconds: number
  /** The time of day, UTC, when it began. */
  readonly startedAt: string
  readonly recordings: number
}

export type Row = {
  readonly title: string
  /** The name of a recording, as `situationOf` takes it. */
  readonly recording: string
  readonly calls: readonly WantedCall[]
  /** How the events differ from the recording's events. */
  readonly change?:
    | 'recording late'
    | 'each event twice'
    | 'without addresses of recordings'
    | 'the inbound call outgoing'
  /** Which extensions have a user in the CRM: all but the last of the recording unless it says so. */
  readonly users?: 'all' | 'none'
}

/** Returns the events of a row, changed as it says. */
export function eventsOf({ change }: Row, events: readonly CallEvent[]): readonly CallEvent[] {
  switch (change) {
    case 'recording late': {
      const isRecording = ({ name }: CallEvent) => name === 'recording_saved'
      return [...events.filter((one) => !isRecording(one)), ...events.filter(isRecording)]
    }
    case 'each event twice':
      return events.flatMap((one) => [one, one])
    case 'without addresses of recordings':
      return events.map(withoutAddresses)
    case 'the inbound call outgoing':
      return events.map(asOutgoing)
    default:
      return events
  }
}

/** The event of an inbound call as if the first phone had called the caller. */
function asOutgoing(event: CallEvent): CallEvent {
  const { data } = event.body
  const { call } = data
  if (call.direction !== 'inbound') return event
  const agent = { number: '101', extension: '101', name: null, e164: null, contact: null }
  const outgoing = { ...call, direction: 'outbound', from: agent, to: call.from, did: null }
  return { ...event, body: { ...event.body, data: { ...data, call: outgoing } } as CallEvent['body'] }
}

function withoutAddresses(event: CallEvent): CallEvent {
  const { time, data } = event.body
  if (data.name === 'recording_saved')
    return { ...event, body: { time, data: { ...data, recording: { ...data.recording, url: null } } } }
  if (data.name !== 'call_saved') return event
  const recordings = data.recordings.map((one) => ({ ...one, url: null }))
  return { ...event, body: { time, data: { ...data, recordings } } }
}

type Answered = { number?: string; talk?: number; of: number; at?: string; recordings?: number }
type Missed = Omit<Answered, 'talk' | 'recordings'> & { by?: readonly string[] }

const ASTERISK_CALLER = '15551230001'
const ASTERISK_CALLED = '15557654321'
const FREESWITCH_CALLER = '79161234567'

const answeredBy = (
  owner: string | null,
  { number = ASTERISK_CALLER, talk = 0, of, at = '22:16:40', recordings = 0 }: Answered,
): WantedCall => ({
  direction: 'inbound',
  number,
  isAnswered: true,
  owner,
  missedBy: [],
  talkSeconds: talk,
  seconds: of,
  startedAt: at,
  recordings,
})
const missed = ({ number = ASTERISK_CALLER, of, at = '22:16:40', by = [] }: Missed): WantedCall => ({
  direction: 'inbound',
  number,
  isAnswered: false,
  owner: null,
  missedBy: by,
  talkSeconds: 0,
  seconds: of,
  startedAt: at,
  recordings: 0,
})
const outgoing = (
  owner: string,
  { number = ASTERISK_CALLED, talk, of, at = '22:16:40', recordings = 0 }: Answered,
): WantedCall => ({
  direction: 'outbound',
  number,
  isAnswered: talk !== undefined,
  owner,
  missedBy: [],
  talkSeconds: talk ?? 0,
  seconds: of,
  startedAt: at,
  recordings,
})

/** A call with a recording, on FreePBX: answered by 103. */
const RECORDED = 'asterisk/ast13-freepbx-recorded'
const recorded = answeredBy('103', { talk: 3, of: 3, at: '22:16:41', recordings: 1 })
const fromFreeswitch = (owner: string | null, more: Answered) =>
  answeredBy(owner, { number: FREESWITCH_CALLER, ...more })

export const TABLE: readonly Row[] = [
  // Answered and unanswered.
  {
    title: 'answered, and the caller hangs up',
    recording: 'asterisk/a-inbound-answered',
    calls: [answeredBy('101', { talk: 5, of: 7 })],
  },
  {
    title: 'answered, and the colleague hangs up',
    recording: 'asterisk/b-inbound-callee-hangup',
    calls: [answeredBy('101', { talk: 4, of: 5 })],
  },
  {
    title: 'answered, on FreeSWITCH',
    recording: 'freeswitch/inbound-answered',
    calls: [fromFreeswitch('1001', { talk: 4, of: 6 })],
  },
  {
    title: 'a number in E.164 and a name in UTF-8',
    recording: 'freeswitch/inbound-utf8',
    calls: [answeredBy('1001', { number: '+79161234567', talk: 2, of: 3 })],
  },
  {
    title: 'a short number',
    recording: 'asterisk/t-short-caller',
    calls: [answeredBy('101', { number: '116117', talk: 1, of: 2 })],
  },
  { title: 'an anonymous caller', recording: 'asterisk/a3-anonymous-caller', calls: [] },
  { title: 'a call between two extensions', recording: 'asterisk/g-internal', calls: [] },
  {
    title: 'nobody answers',
    recording: 'asterisk/c-inbound-no-answer',
    calls: [missed({ of: 6, by: ['101'] })],
  },
  {
    title: 'the extension is busy',
    recording: 'asterisk/d-inbound-busy',
    calls: [missed({ of: 0, by: ['101'] })],
  },
  {
    title: 'the caller gives up',
    recording: 'asterisk/e-inbound-abandoned',
    calls: [missed({ of: 4, by: ['101'] })],
  },
  {
    title: 'the phone is not there',
    recording: 'asterisk/q2-unreachable',
    calls: [missed({ of: 0, by: ['106'] })],
  },
  { title: 'an announcement alone', recording: 'asterisk/o-ivr-no-dial', calls: [missed({ of: 4 })] },
  {
    title: 'a message to the voicemail',
    recording: 'asterisk/q-voicemail',
    calls: [missed({ of: 10, by: ['101'] })],
  },
  {
    title: 'held and resumed',
    recording: 'asterisk/ast13-freepbx-hold',
    calls: [answeredBy('101', { talk: 4, of: 5, at: '22:16:41' })],
  },
  // Outgoing.
  {
    title: 'an outgoing call, answered',
    recording: 'asterisk/f-outbound-answered',
    calls: [outgoing('101', { talk: 5, of: 7 })],
  },
  {
    title: 'an outgoing call to a number that is not there',
    recording: 'asterisk/f2-outbound-rejected',
    calls: [outgoing('101', { number: '15557650404', of: 0 })],
  },
  {
    title: 'an outgoing call to a number that is busy',
    recording: 'freeswitch/outbound-early-busy',
    calls: [outgoing('1001', { number: '79031112233', of: 3 })],
  },
  {
    title: 'click to call, answered',
    recording: 'asterisk/n-click-to-call',
    calls: [outgoing('101', { talk: 4, of: 7 })],
  },
  {
    title: 'click to call, not answered',
    recording: 'asterisk/n3-click-to-call-no-answer',
    calls: [outgoing('101', { of: 5 })],
  },
  {
    title: 'a dialler that calls the customer first',
    recording: 'asterisk/dialler-customer-first',
    calls: [outgoing('101', { talk: 2, of: 3 })],
  },
  // Groups and queues.
  {
    title: 'a ring group, one answers',
    recording: 'asterisk/h-ring-group',
    calls: [answeredBy('102', { talk: 4, of: 7 })],
  },
  {
    title: 'a ring group, nobody answers',
    recording: 'asterisk/h3-ring-group-abandoned',
    calls: [missed({ of: 4, by: ['101', '102', '103'] })],
  },
  {
    title: 'a group within a group',
    recording: 'asterisk/nested-group-inner-answers',
    calls: [answeredBy('102', { talk: 1, of: 3 })],
  },
  {
    title: 'follow me, to a mobile phone',
    recording: 'asterisk/ast13-freepbx-follow-me-mobile',
    calls: [answeredBy(null, { talk: 2, of: 4, at: '22:16:41' })],
  },
  {
    title: 'one phone after the other',
    recording: 'asterisk/p-dial-failover',
    calls: [answeredBy('102', { talk: 4, of: 10 })],
  },
  {
    title: 'a queue, an agent answers',
    recording: 'asterisk/i-queue',
    calls: [answeredBy('102', { talk: 6, of: 13 })],
  },
  {
    title: 'a queue, the caller gives up',
    recording: 'asterisk/j-queue-abandoned',
    calls: [missed({ of: 3, by: ['101'] })],
  },
  {
    title: 'a queue that gives up',
    recording: 'asterisk/i4-queue-timeout',
    calls: [missed({ of: 7, by: ['101', '102'] })],
  },
  {
    title: 'a queue behind a queue',
    recording: 'asterisk/q-queue-in-queue',
    calls: [answeredBy('102', { talk: 2, of: 3 })],
  },
  {
    title: 'picked up by a colleague',
    recording: 'asterisk/x-pickup',
    calls: [answeredBy('102', { talk: 4, of: 6 })],
  },
  {
    title: 'forwarded by the phone',
    recording: 'asterisk/r3-forward-302',
    calls: [answeredBy('102', { talk: 4, of: 5 })],
  },
  // Transfers.
  {
    title: 'a blind transfer',
    recording: 'asterisk/k-blind-transfer',
    calls: [answeredBy('102', { talk: 9, of: 10 })],
  },
  {
    title: 'a blind transfer of an outgoing call',
    recording: 'asterisk/k4-blind-transfer-outbound',
    calls: [outgoing('102', { talk: 7, of: 8 })],
  },
  {
    title: 'a blind transfer, and the caller gives up',
    recording: 'asterisk/blind-caller-gives-up',
    calls: [answeredBy('101', { talk: 3, of: 4 })],
  },
  {
    title: 'a blind transfer that nobody takes: back to who transferred',
    recording: 'freeswitch/blind-transfer-no-answer',
    calls: [fromFreeswitch('1001', { talk: 9, of: 10 })],
  },
  {
    title: 'a transfer that comes back',
    recording: 'asterisk/atx-blond-callback',
    calls: [answeredBy('101', { talk: 13, of: 14 })],
  },
  {
    title: 'an attended transfer',
    recording: 'asterisk/l-attended-transfer',
    calls: [answeredBy('102', { talk: 13, of: 14 })],
  },
  {
    title: 'an attended transfer, on FreeSWITCH',
    recording: 'freeswitch/attended-transfer',
    calls: [fromFreeswitch('1002', { talk: 9, of: 10 })],
  },
  {
    title: 'an attended transfer that is given up: back to the caller',
    recording: 'asterisk/l5-attended-transfer-failed',
    calls: [answeredBy('101', { talk: 15, of: 16 })],
  },
  {
    title: 'a transfer while it rings',
    recording: 'asterisk/l6-blond-transfer-refer',
    calls: [answeredBy('102', { talk: 13, of: 14 })],
  },
  {
    title: 'parked, and taken by another',
    recording: 'asterisk/w-parking',
    calls: [answeredBy('102', { talk: 9, of: 10 })],
  },
  // Merges: the call of the outside party survives in none of them.
  {
    title: 'a caller is joined into an older call between two extensions',
    recording: 'asterisk/att-older-is-internal',
    users: 'all',
    calls: [answeredBy('102', { talk: 3, of: 4, at: '22:16:41' })],
  },
  {
    title: 'a caller is joined into an older call between two extensions, on FreeSWITCH',
    recording: 'freeswitch/att-older-consult',
    users: 'all',
    calls: [fromFreeswitch('1002', { talk: 3, of: 4, at: '22:16:47' })],
  },
  {
    title: 'every event of a caller who is joined into an older internal call is sent twice',
    recording: 'asterisk/att-older-is-internal',
    change: 'each event twice',
    users: 'all',
    calls: [answeredBy('102', { talk: 3, of: 4, at: '22:16:41' })],
  },
  {
    title: 'an outgoing call is joined into an older call between two extensions',
    recording: 'asterisk/att-older-is-internal',
    change: 'the inbound call outgoing',
    users: 'all',
    calls: [outgoing('102', { number: ASTERISK_CALLER, talk: 3, of: 4, at: '22:16:41' })],
  },
  {
    title: 'two callers, of whom one is bridged into the call of the other',
    recording: 'asterisk/ami-bridge',
    users: 'all',
    calls: [answeredBy('102', { number: '15551230002', talk: 1, of: 1 }), answeredBy('102', { talk: 4, of: 5 })],
  },
  // Several calls.
  {
    title: 'two calls of one pair within a minute, the first missed',
    recording: 'asterisk/e-inbound-abandoned+a-inbound-answered',
    calls: [missed({ of: 4, by: ['101'] }), answeredBy('101', { talk: 5, of: 7, at: '22:16:45' })],
  },
  {
    title: 'two calls of one pair within a minute, the first not answered',
    recording: 'asterisk/c-inbound-no-answer+a-inbound-answered',
    calls: [missed({ of: 6, by: ['101'] }), answeredBy('101', { talk: 5, of: 7, at: '22:16:47' })],
  },
  {
    title: 'two calls of one caller that start in the same second',
    recording: 'asterisk/a-inbound-answered*2',
    calls: [answeredBy('101', { talk: 5, of: 7 }), answeredBy('101', { talk: 5, of: 7 })],
  },
  {
    title: 'two missed calls of one caller that start in the same second',
    recording: 'asterisk/c-inbound-no-answer*2',
    calls: [missed({ of: 6, by: ['101'] }), missed({ of: 6, by: ['101'] })],
  },
  {
    title: 'an outgoing and an incoming call over one trunk',
    recording: 'asterisk/t-trunk-by-uri',
    calls: [outgoing('101', { talk: 1, of: 2 }), answeredBy('102', { talk: 1, of: 2, at: '22:16:43' })],
  },
  // Recordings.
  {
    title: 'a recording',
    recording: 'asterisk/m-recorded',
    calls: [answeredBy('101', { talk: 5, of: 6, recordings: 1 })],
  },
  {
    title: 'a recording on demand',
    recording: 'asterisk/m2-recorded-on-demand',
    calls: [answeredBy('101', { talk: 7, of: 8, recordings: 1 })],
  },
  {
    title: 'a recording of a call that is transferred, on FreeSWITCH',
    recording: 'freeswitch/recorded-transfer',
    calls: [fromFreeswitch('1002', { talk: 7, of: 8, recordings: 1 })],
  },
  {
    title: 'a recording that is saved after the next call of the same caller',
    recording: 'asterisk/m-recorded+a-inbound-answered',
    change: 'recording late',
    calls: [
      answeredBy('101', { talk: 5, of: 6, recordings: 1 }),
      answeredBy('101', { talk: 5, of: 7, at: '22:16:47' }),
    ],
  },
  {
    title: 'a recording without an address',
    recording: RECORDED,
    change: 'without addresses of recordings',
    calls: [recorded],
  },
  // Users.
  { title: 'every extension has a user', recording: RECORDED, users: 'all', calls: [recorded] },
  { title: 'no extension has a user', recording: RECORDED, users: 'none', calls: [recorded] },
  {
    title: 'nobody answers, and no extension has a user',
    recording: 'asterisk/h3-ring-group-abandoned',
    users: 'none',
    calls: [missed({ of: 4, by: ['101', '102', '103'] })],
  },
  // Repeats: a delivery is sent again by hand.
  { title: 'every event is sent twice', recording: RECORDED, change: 'each event twice', calls: [recorded] },
  {
    title: 'every event of a transfer is sent twice',
    recording: 'asterisk/l2-attended-transfer-refer',
    change: 'each event twice',
    calls: [answeredBy('102', { talk: 14, of: 15 })],
  },
  {
    title: 'every event of a missed call is sent twice',
    recording: 'asterisk/h3-ring-group-abandoned',
    change: 'each event twice',
    calls: [missed({ of: 4, by: ['101', '102', '103'] })],
  },
]
