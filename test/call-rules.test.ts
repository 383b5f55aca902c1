import { expect, test } from 'bun:test'
import type { CallEvent, Party } from '../src/events/bodies.ts'
import { asteriskEvents } from './help/asterisk-recording.ts'
import { brokenRules, RULES } from './help/call-rules/rules.ts'
import { freeswitchEvents } from './help/freeswitch-recording.ts'

// Each rule for every list of events is broken by a body that is changed so that it says the contrary.

type Body = CallEvent['body']
type Data = Body['data']
type Recorded = keyof typeof RECORDED

const bodiesOf = (events: readonly CallEvent[]): Body[] => events.map(({ body }) => body)
const RECORDED = {
  queue: bodiesOf(asteriskEvents(['i-queue'])),
  recorded: bodiesOf(asteriskEvents(['m-recorded'])),
  missed: bodiesOf(asteriskEvents(['c-inbound-no-answer'])),
  blind: bodiesOf(asteriskEvents(['k-blind-transfer'])),
  attended: bodiesOf(asteriskEvents(['l2-attended-transfer-refer'])),
  talk: bodiesOf(freeswitchEvents(['recorded'])),
} as const

const party = (extension: string | null, number: string | null = extension): Party => ({
  number,
  name: null,
  extension,
  e164: null,
  contact: null,
})
const LATER = '2026-11-30T00:00:00.000000Z'
const EARLIER = '2026-11-01T00:00:00.000000Z'
const OTHER_ID = '01a1f900-5c8e-7000-8000-000000000009'

const ended = (data: Data, change: (data: Extract<Data, { name: 'call_ended' }>) => void): void => {
  if (data.name === 'call_ended') change(data)
}
const stage = (data: Data, change: (stage: Extract<Data, { name: 'dial_ended' }>['stage']) => void): void => {
  if (data.name === 'dial_ended') change(data.stage)
}
const transfer = (
  data: Data,
  change: (transfer: Extract<Data, { name: 'call_blind_transferred' }>['transfer'], data: Data) => void,
): void => {
  if ('transfer' in data) change(data.transfer, data)
}
const saved = (data: Data, change: (data: Extract<Data, { name: 'call_saved' }>) => void): void => {
  if (data.name === 'call_saved') change(data)
}

const CASES: readonly [rule: string, recorded: Recorded, change: (data: Data, body: Body) => void][] = [
  ['durations of a call', 'talk', (data) => ended(data, ({ call }) => Object.assign(call, { talk_duration: 99 }))],
  ['durations of a stage', 'talk', (data) => stage(data, (one) => Object.assign(one, { talk_duration: 99 }))],
  ['started, answered, ended', 'talk', (data) => stage(data, (one) => Object.assign(one, { answered_at: EARLIER }))],
  ['stages are within their call', 'talk', (data) => stage(data, (one) => Object.assign(one, { started_at: EARLIER }))],
  [
    'members are within their group or queue',
    'queue',
    (data) =>
      ended(data, ({ stages }) =>
        stages.map((one) => one.kind === 'queue' && Object.assign(one, { started_at: LATER })),
      ),
  ],
  [
    'an event is at its time',
    'talk',
    ({ name }, body) => void (name === 'dial_ended' && Object.assign(body, { time: LATER })),
  ],
  [
    'saved after its end',
    'talk',
    ({ name }, body) => void (name === 'call_saved' && Object.assign(body, { time: LATER })),
  ],
  [
    'recordings have their length',
    'recorded',
    (data) => saved(data, ({ recordings }) => recordings.map((one) => Object.assign(one, { duration: 99 }))),
  ],
  ['result and answer of a call', 'talk', ({ call }) => Object.assign(call, { answered_at: null })],
  ['result and answer of a stage', 'talk', (data) => stage(data, (one) => Object.assign(one, { answered_at: null }))],
  [
    'state of a call',
    'talk',
    ({ name, call }) => void (name === 'dial_answered' && Object.assign(call, { state: 'waiting' })),
  ],
  [
    'hang-up and result',
    'talk',
    (data) => ended(data, ({ call }) => Object.assign(call, { hangup: { cause: 'busy', code: 17, by: 'callee' } })),
  ],
  [
    'an end that was not seen',
    'talk',
    (data) =>
      ended(data, ({ call }) => Object.assign(call, { hangup: { cause: 'unknown', code: null, by: 'caller' } })),
  ],
  [
    'nobody handles a call twice in a row',
    'talk',
    ({ call }) => Object.assign(call, { handled_by: [...call.handled_by, ...call.handled_by] }),
  ],
  ['an outside party handles alone', 'blind', ({ call }) => void call.handled_by.push(party(null, '15551230001'))],
  ['who handled a call stays', 'blind', (data) => ended(data, ({ call }) => void call.handled_by.reverse())],
  ['who answered handles', 'talk', ({ call }) => Object.assign(call, { answered_by: party('999') })],
  ['missed', 'missed', (data) => ended(data, ({ call }) => Object.assign(call, { missed_by: [party('999')] }))],
  ['forwarded', 'talk', (data) => stage(data, (one) => Object.assign(one, { forwarded_to: '102' }))],
  ['results of queues', 'missed', (data) => stage(data, (one) => Object.assign(one, { result: 'abandoned' }))],
  [
    'answered elsewhere',
    'missed',
    (data) => stage(data, (one) => Object.assign(one, { result: 'answered_elsewhere' })),
  ],
  ['recorded', 'recorded', ({ call }) => Object.assign(call, { recorded: false })],
  ['the final list has every stage', 'talk', (data) => ended(data, (one) => Object.assign(one, { stages: [] }))],
  [
    'the final list has stages as they ended',
    'talk',
    (data) => ended(data, ({ stages }) => stages.map((one) => Object.assign(one, { attempt: 7 }))),
  ],
  [
    'the saved call is the ended call',
    'talk',
    (data) => saved(data, ({ call }) => Object.assign(call, { transfers: 3 })),
  ],
  [
    'a parent exists',
    'queue',
    (data) =>
      ended(data, ({ stages }) => stages.map((one) => one.parent_id && Object.assign(one, { parent_id: OTHER_ID }))),
  ],
  [
    'a group or queue is answered by a member',
    'queue',
    (data) =>
      ended(data, ({ stages }) =>
        stages.map((one) => one.kind === 'queue' && Object.assign(one, { answered_at: EARLIER })),
      ),
  ],
  [
    'attempts are counted',
    'queue',
    (data) => void ('stage' in data && data.stage !== null && Object.assign(data.stage, { attempt: 2 })),
  ],
  ['the queue of a call', 'queue', ({ call }) => Object.assign(call, { queue: null })],
  ['what is known stays', 'talk', (data) => ended(data, ({ call }) => Object.assign(call, { pbx_id: 'other' }))],
  ['a stage stays what it is', 'talk', (data) => stage(data, (one) => Object.assign(one, { target: 'other' }))],
  ['a stage stays in its group', 'queue', (data) => stage(data, (one) => Object.assign(one, { parent_id: null }))],
  ['a number from outside', 'talk', ({ call }) => Object.assign(call, { direction: 'internal' })],
  ['no extension calls from outside', 'talk', ({ call }) => Object.assign(call.from, { extension: '101' })],
  [
    'the call is answered first',
    'talk',
    ({ call }) => void (call.answered_at !== null && Object.assign(call, { answered_at: LATER })),
  ],
  ['a transfer is of its call', 'blind', (data) => transfer(data, (one) => Object.assign(one, { call_id: OTHER_ID }))],
  ['transfers are counted', 'blind', (data) => ended(data, ({ call }) => Object.assign(call, { transfers: 5 }))],
  [
    'a transferer leaves with the transfer',
    'blind',
    (data) =>
      void (
        'stage' in data &&
        data.stage?.target === '101' &&
        data.stage.ended_at !== null &&
        Object.assign(data.stage, { ended_at: LATER })
      ),
  ],
  ['calls that were merged', 'attended', ({ call }) => Object.assign(call, { merged_from: [] })],
  [
    'the older call survives',
    'attended',
    ({ name, call }) =>
      void (name === 'call_started' && call.parent_id !== null && Object.assign(call, { started_at: EARLIER })),
  ],
  [
    'a consultation has its call',
    'attended',
    ({ call }) => void (call.parent_id !== null && Object.assign(call, { parent_id: OTHER_ID })),
  ],
]

test.each(CASES)('%s', (rule, recorded, change) => {
  const bodies = structuredClone(RECORDED[recorded])
  expect(brokenRules(bodies)).toEqual([])
  for (const body of bodies) change(body.data, body)
  expect(brokenRules(bodies).map((broken) => broken.split(': call ')[0])).toContain(rule)
  expect(
    brokenRules(
      bodies,
      RULES.map(({ name }) => name),
    ),
  ).toEqual([])
})

test('every rule has a case, a name of its own and a sentence', () => {
  expect(CASES.map(([rule]) => rule).toSorted()).toEqual(RULES.map(({ name }) => name).toSorted())
  expect(new Set(RULES.map(({ name }) => name)).size).toBe(RULES.length)
  expect(RULES.filter(({ sentence }) => sentence.length < 20)).toEqual([])
})
