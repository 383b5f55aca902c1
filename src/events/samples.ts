import type { BODIES, Call, CallEventBody, Contact, EventBody, Party, Recording, Stage } from './bodies.ts'
import { isOfCall } from './event-subject.ts'
import type { EventKind } from './kinds.ts'

// One body of each event: a call that Anna answers and transfers to Ben.

const CALL_ID = '01a1f900-5c8e-7000-8000-000000000001'
const OTHER_ID = '01a1f900-5c8e-7000-8000-000000000002'
const STAGE_ID = '01a1f900-5d1a-7000-8000-000000000003'

const carla: Contact = {
  id: '4711',
  name: 'Carla Caller',
  company: 'Example GmbH',
  url: 'https://crm.example.com/contacts/4711',
  owner: '101',
}
const caller: Party = {
  number: '+4930123456',
  name: 'Carla Caller',
  extension: null,
  e164: '+4930123456',
  contact: carla,
}
const did: Party = { number: '+49301110', name: null, extension: null, e164: '+49301110', contact: null }
const anna: Party = { number: '101', name: 'Anna', extension: '101', e164: null, contact: null }
const ben: Party = { number: '102', name: 'Ben', extension: '102', e164: null, contact: null }

const ringing: Call = {
  id: CALL_ID,
  pbx_id: '1795297896.14',
  merged_from: [],
  merged_into: null,
  parent_id: null,
  request_id: null,
  direction: 'inbound',
  state: 'ringing',
  from: caller,
  to: did,
  did: '+49301110',
  started_at: '2026-11-20T21:51:36.014118Z',
  answered_at: null,
  ended_at: null,
  duration: null,
  wait_duration: null,
  talk_duration: null,
  result: null,
  answered_by: null,
  handled_by: [],
  queue: null,
  transfers: 0,
  recorded: false,
  hangup: null,
  variables: {},
  missed: null,
  missed_by: [],
  stages_omitted: 0,
  partial: false,
}
const answered: Call = {
  ...ringing,
  state: 'answered',
  answered_at: '2026-11-20T21:51:42.104118Z',
  wait_duration: 6,
  answered_by: anna,
  handled_by: [anna],
}
const transferred: Call = { ...answered, transfers: 1, recorded: true }
const ended: Call = {
  ...transferred,
  state: 'ended',
  ended_at: '2026-11-20T21:53:02.404118Z',
  duration: 86,
  talk_duration: 80,
  result: 'answered',
  missed: false,
  handled_by: [anna, ben],
  hangup: { cause: 'normal', code: 16, by: 'caller' },
}

const stageRinging: Stage = {
  id: STAGE_ID,
  parent_id: null,
  kind: 'user',
  target: '101',
  name: 'Anna',
  attempt: 1,
  started_at: '2026-11-20T21:51:36.204118Z',
  answered_at: null,
  ended_at: null,
  ring_duration: null,
  talk_duration: null,
  result: null,
  forwarded_to: null,
}
const stageAnswered: Stage = {
  ...stageRinging,
  answered_at: '2026-11-20T21:51:42.104118Z',
  ring_duration: 5,
}
const stageEnded: Stage = {
  ...stageAnswered,
  ended_at: '2026-11-20T21:52:10.004118Z',
  talk_duration: 27,
  result: 'answered',
}
const stages: Stage[] = [
  stageEnded,
  {
    ...stageEnded,
    id: '01a1f900-e0b4-7000-8000-000000000004',
    target: '102',
    name: 'Ben',
    started_at: '2026-11-20T21:52:10.104118Z',
    answered_at: '2026-11-20T21:52:12.904118Z',
    ended_at: '2026-11-20T21:53:02.404118Z',
    ring_duration: 2,
    talk_duration: 49,
  },
]
const recorded: Recording = {
  id: '01a1f900-77d4-7000-8000-000000000005',
  path: '/var/spool/asterisk/monitor/1795297896.14.wav',
  format: 'wav',
  duration: 80,
  started_at: '2026-11-20T21:51:42.204118Z',
  ended_at: '2026-11-20T21:53:02.404118Z',
}
const recordings: Recording[] = [recorded]

const head = (sequence: number) => ({
  id: `01a1f901-0000-7000-8000-00000000010${sequence}`,
  sequence,
  account: 'default',
  pbx: 'office',
})

/** Ids of events that only some ask for, which repeat the sequence of the event before. */
const furtherId = (place: number): string => `01a1f901-0000-7000-8000-00000000011${place}`

const benAnswered: Stage = {
  ...stageAnswered,
  id: '01a1f900-e0b4-7000-8000-000000000004',
  target: '102',
  name: 'Ben',
  started_at: '2026-11-20T21:52:10.104118Z',
  answered_at: '2026-11-20T21:52:12.904118Z',
  ring_duration: 2,
}
/** As the call would have ended if Anna had not answered. */
const missed: Call = {
  ...ringing,
  state: 'ended',
  ended_at: '2026-11-20T21:53:02.404118Z',
  duration: 86,
  wait_duration: 86,
  result: 'no_answer',
  missed: true,
  missed_by: [anna],
  hangup: { cause: 'no_answer', code: 19, by: 'system' },
}
const stageMissed: Stage = {
  ...stageRinging,
  ended_at: '2026-11-20T21:53:02.404118Z',
  ring_duration: 86,
  result: 'no_answer',
}

const stateHead = (place: number) => ({ id: furtherId(place), account: 'default', pbx: 'office', resync: false })

/** One body for each kind of event; call events in the order of the call. */
const SAMPLES: { readonly [kind in EventKind]: (typeof BODIES)[kind]['static'] } = {
  call_started: { time: '2026-11-20T21:51:36.014118Z', data: { name: 'call_started', ...head(1), call: ringing } },
  dial_started: {
    time: '2026-11-20T21:51:36.204118Z',
    data: { name: 'dial_started', ...head(2), call: ringing, stage: stageRinging },
  },
  dial_answered: {
    time: '2026-11-20T21:51:42.104118Z',
    data: { name: 'dial_answered', ...head(3), call: answered, stage: stageAnswered },
  },
  call_blind_transferred: {
    time: '2026-11-20T21:52:10.004118Z',
    data: {
      name: 'call_blind_transferred',
      ...head(4),
      call: transferred,
      transfer: { kind: 'blind', by: anna, transferee: caller, to: ben, call_id: CALL_ID, other_call_id: null },
    },
  },
  call_attended_transferred: {
    time: '2026-11-20T21:52:10.004118Z',
    data: {
      name: 'call_attended_transferred',
      ...head(4),
      call: { ...transferred, merged_from: [OTHER_ID] },
      transfer: { kind: 'attended', by: anna, transferee: caller, to: ben, call_id: CALL_ID, other_call_id: OTHER_ID },
    },
  },
  dial_ended: {
    time: '2026-11-20T21:52:10.004118Z',
    data: { name: 'dial_ended', ...head(5), call: transferred, stage: stageEnded },
  },
  call_held: {
    time: '2026-11-20T21:52:20.004118Z',
    data: { name: 'call_held', ...head(7), id: furtherId(1), call: transferred, by: ben, stage: benAnswered },
  },
  call_resumed: {
    time: '2026-11-20T21:52:31.004118Z',
    data: { name: 'call_resumed', ...head(7), id: furtherId(2), call: transferred, by: ben, stage: benAnswered },
  },
  call_ended: { time: '2026-11-20T21:53:02.404118Z', data: { name: 'call_ended', ...head(8), call: ended, stages } },
  call_missed: {
    time: '2026-11-20T21:53:02.404118Z',
    data: { name: 'call_missed', ...head(8), id: furtherId(3), call: missed, stages: [stageMissed] },
  },
  call_saved: {
    time: '2026-11-20T21:53:03.404118Z',
    data: { name: 'call_saved', ...head(9), call: ended, stages, recordings },
  },
  recording_saved: {
    time: '2026-11-20T21:53:06.104118Z',
    data: { name: 'recording_saved', ...head(9), id: furtherId(4), call: ended, recording: { ...recorded, url: null } },
  },
  custom: {
    time: '2026-11-20T21:52:58.104118Z',
    data: {
      name: 'custom',
      ...head(7),
      id: furtherId(9),
      call: transferred,
      custom: { name: 'Survey', fields: { question: '1', digit: '5' } },
    },
  },
  phone_changed: {
    time: '2026-11-20T21:50:00.104118Z',
    data: {
      name: 'phone_changed',
      ...stateHead(5),
      phone: {
        extension: '101',
        name: 'Anna',
        state: 'registered',
        since: '2026-11-20T21:50:00.104118Z',
        device: 'idle',
        contacts: 1,
      },
    },
  },
  trunk_changed: {
    time: '2026-11-20T21:50:02.004118Z',
    data: {
      name: 'trunk_changed',
      ...stateHead(6),
      trunk: { trunk: 'carrier', state: 'rejected', since: '2026-11-20T21:50:02.004118Z', reason: 'Rejected' },
    },
  },
  agent_changed: {
    time: '2026-11-20T21:50:04.404118Z',
    data: {
      name: 'agent_changed',
      ...stateHead(7),
      agent: {
        extension: '101',
        queue: 'support',
        state: 'paused',
        reason: 'lunch',
        since: '2026-11-20T21:50:04.404118Z',
      },
    },
  },
  queue_changed: {
    time: '2026-11-20T21:50:05.104118Z',
    data: {
      name: 'queue_changed',
      ...stateHead(8),
      queue: { queue: 'support', waiting: 2, longest_wait: 41, available: 0, busy: 3, paused: 1 },
    },
  },
}

/** One example for each kind of event. */
export const ALL_EXAMPLES: readonly EventBody[] = Object.values(SAMPLES)
/** One example for each kind of event of a call, in the order of the call. */
export const EXAMPLES: readonly CallEventBody[] = ALL_EXAMPLES.filter(isOfCall)

/** Returns the example of each kind of event as JSON. */
export const exampleTexts = (): ReadonlyMap<EventKind, string> =>
  new Map(ALL_EXAMPLES.map((body) => [body.data.name, JSON.stringify(body)]))

/** Returns the event with which flows are tested. */
export const flowSample = (): { readonly event: 'call_ended'; readonly body: string } => ({
  event: 'call_ended',
  body: JSON.stringify(SAMPLES.call_ended),
})
