import { expect, test } from 'bun:test'
import type { Call } from '../../../src/events/bodies.ts'
import { ALL_EXAMPLES } from '../../../src/events/samples.ts'
import { storyOf } from '../../../src/web/browser/lib/call-story.ts'
import { describeLiveCall, describeOutcome } from '../../../src/web/browser/lib/call-words.ts'

const [ended] = ALL_EXAMPLES.flatMap(({ data }) => (data.name === 'call_ended' ? [data.call] : []))
const [move] = ALL_EXAMPLES.flatMap(({ data }) => ('transfer' in data ? [data.transfer] : []))
const [dial] = ALL_EXAMPLES.flatMap(({ data }) => (data.name === 'dial_started' ? [data.stage] : []))
if (ended === undefined || dial === undefined || move === undefined) throw new Error('there is no such sample')
const party = (name: string | null, number: string) => ({
  ...ended.from,
  contact: null,
  name,
  number,
  extension: number,
})
const caller = { ...ended.from, contact: null, name: null, number: '+4930123456', extension: null }
const phone = party('Phone 102', '102')
const outside = { ...ended.to, name: null, number: '030123', extension: null }
const stage = { ...dial, target: '102', name: 'Phone 102', ended_at: null }

test('a live call names a phone once, however it is called', () => {
  const ringing: Call = { ...ended, state: 'ringing', from: caller }
  expect(describeLiveCall(ringing, [{ ...stage, answered_at: null }], undefined).text).toBe('rings Phone 102')
  const talking: Call = { ...ended, state: 'answered', from: caller, handled_by: [phone], transfers: 0 }
  const answered = { ...stage, answered_at: '2026-11-28T12:00:00.000000Z' }
  expect(describeLiveCall(talking, [answered], undefined).text).toBe('talks to Phone 102')
  expect(describeLiveCall(talking, [], phone).text).toBe('on hold by Phone 102')
})

test('an outbound call talks to the one that was called, and its outcome does not repeat who called', () => {
  const call: Call = { ...ended, direction: 'outbound', from: phone, to: outside, handled_by: [phone], transfers: 0 }
  expect(describeLiveCall({ ...call, state: 'answered' }, [], undefined).text).toBe('talks to 030123')
  expect(describeOutcome({ ...call, result: 'answered' }).text).toBe('answered')
  expect(describeOutcome({ ...call, direction: 'inbound', result: 'answered' }).text).toBe('Phone 102')
})

test('a call whose caller hung up before anybody answered was given up, also without a result', () => {
  const call: Call = { ...ended, direction: 'internal', result: null, missed: null, answered_by: null, handled_by: [] }
  const hungUp = (by: 'caller' | 'callee'): Call => ({ ...call, hangup: { by, cause: 'normal', code: 16 } })
  expect(describeOutcome(hungUp('caller')).text).toBe('the caller gave up')
  expect(describeOutcome(hungUp('callee')).text).toBe('ended')
  expect(describeOutcome({ ...hungUp('caller'), answered_by: phone }).text).toBe('ended')
})

test('a call that was merged into another says so', () => {
  const call: Call = { ...ended, direction: 'internal', result: null, missed: null, hangup: null, answered_by: phone }
  expect(describeOutcome({ ...call, merged_into: 'another' }).text).toBe('part of another call')
})

test('the story of a call follows the order of its events, however close they are', () => {
  const about = { transfer: null, by: null, deliveries: [] }
  const dialled = (target: string) => ({ ...stage, target, name: null, answered_at: null })
  const story = storyOf(
    ended,
    [
      { name: 'dial_started' as const, stage: dialled('101') },
      { name: 'dial_started' as const, stage: dialled('102') },
      { name: 'dial_answered' as const, stage: dialled('101') },
      { name: 'dial_ended' as const, stage: { ...dialled('102'), result: 'answered_elsewhere' as const } },
      { name: 'call_blind_transferred' as const, stage: null, transfer: { ...move, by: phone, to: caller } },
      { name: 'dial_started' as const, stage: dialled('103') },
    ].map((event, at) => ({
      ...about,
      ...event,
      id: String(at),
      sequence: at + 1,
      at: `2026-11-28T12:00:00.${at}00000Z`,
    })),
  )
  expect(story.map(({ text }) => text)).toEqual([
    '101 and 102 ring',
    '101 answers',
    'Phone 102 transfers to +4930123456',
    '103 rings',
  ])
  expect(story[1]?.detail).toBe('dial answered; 102 stops: answered elsewhere')
})

test('the story of a call names a phone once', () => {
  const at = '2026-11-28T12:00:00.000000Z'
  const about = { id: 'e', at, stage: { ...stage, answered_at: null }, transfer: null, by: null, deliveries: [] }
  const [line] = storyOf(ended, [{ ...about, sequence: 2, name: 'dial_started' }])
  expect(line?.text).toBe('Phone 102 rings')
})
