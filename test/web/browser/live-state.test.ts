import { describe, expect, test } from 'bun:test'
import type { Delivery } from '../../../src/deliveries/log/model.ts'
import type { Call, EventBody, Stage } from '../../../src/events/bodies.ts'
import {
  applyLiveMessage,
  EMPTY_LIVE_STATE,
  type LiveMessage,
  type LiveState,
} from '../../../src/web/browser/lib/live-state.ts'
import { partyOf, ringingCall, ringingStage } from '../../help/calls.ts'

const NOW = Date.UTC(2026, 10, 20, 21, 42)
const at = (seconds: number) => new Date(NOW + seconds * 1_000).toISOString()

const call = (id: string, change: Partial<Call> = {}) =>
  ringingCall(id, { from: partyOf('1'), to: partyOf('2'), did: null, started_at: at(0), ...change })
const stage = (id: string, change: Partial<Stage> = {}) => ringingStage(id, { started_at: at(0), ...change })
let made = 0
const head = (of: Call) => ({ id: `event-${++made}`, sequence: made, account: 'default', pbx: 'office', call: of })
const started = (of: Call): EventBody => ({ time: at(0), data: { name: 'call_started', ...head(of) } })
const rings = (of: Call, one: Stage): EventBody => ({
  time: at(0),
  data: { name: 'dial_started', ...head(of), stage: one },
})
const joined = (of: Call, other: string): EventBody => ({
  time: at(0),
  data: {
    name: 'call_attended_transferred',
    ...head(of),
    transfer: {
      kind: 'attended',
      by: partyOf('1'),
      transferee: null,
      to: partyOf('2'),
      call_id: of.id,
      other_call_id: other,
    },
  },
})
const ended = (of: Call): EventBody => ({ time: at(0), data: { name: 'call_ended', ...head(of), stages: [] } })
const delivery = (eventId: string, change: Partial<Delivery> = {}): Delivery => ({
  id: `${eventId}-1`,
  event_id: eventId,
  event: 'call_started',
  call_id: 'c',
  subject: 'Ada calls 101',
  url: 'https://a.example/',
  state: 'pending',
  attempts_made: 0,
  next_attempt_at: null,
  created_at: at(0),
  delivered_at: null,
  ...change,
})

const after = (...messages: LiveMessage[]): LiveState =>
  messages.reduce((state, message) => applyLiveMessage(state, message, NOW), EMPTY_LIVE_STATE)
const event = (body: EventBody): LiveMessage => ({ kind: 'event', body })
const callIds = (state: LiveState) => [...state.calls.values()].map((entry) => entry.call.id)

describe('the active calls', () => {
  test('have a call from its first event on, with its stages', () => {
    const state = after(
      event(started(call('c'))),
      event(rings(call('c'), stage('101'))),
      event(rings(call('c'), stage('102'))),
    )
    expect(state.calls.get('c')?.stages.map((one) => one.id)).toEqual(['101', '102'])
  })

  test('keep a call that ended for a moment, marked, and then drop it', () => {
    const endedCall = call('c', { state: 'ended', result: 'answered' })
    const state = after(event(started(call('c'))), event(ended(endedCall)))
    expect(state.calls.get('c')?.endedAtMs).toBe(NOW)
    expect(callIds(applyLiveMessage(state, { kind: 'tick' }, NOW + 1_000))).toEqual(['c'])
    expect(callIds(applyLiveMessage(state, { kind: 'tick' }, NOW + 60_000))).toEqual([])
  })

  test('do not get a call back that has ended', () =>
    expect(callIds(after({ kind: 'call', call: call('c', { state: 'ended' }) }))).toEqual([]))

  test('after an attended transfer the other call ends, and its stages go on in the one that survives', () => {
    const state = after(
      event(started(call('old'))),
      event(rings(call('old'), stage('101', { ended_at: at(1) }))),
      event(started(call('new'))),
      event(rings(call('new'), stage('102'))),
      event(joined(call('old', { transfers: 1 }), 'new')),
    )
    expect(state.calls.get('new')?.endedAtMs).toBe(NOW)
    expect(state.calls.get('old')?.stages.map((one) => one.id)).toEqual(['101', '102'])
  })

  test('a snapshot replaces all calls', () => {
    const before = after(event(started(call('gone'))))
    const overview = { now: at(0), account: 'a', pbxs: [], webhooks: [], minutes: [], call_count: 1 }
    const calls = [{ pbx: 'office', call: call('c'), stages: [stage('101')] }]
    expect(callIds(applyLiveMessage(before, { kind: 'snapshot', overview: { ...overview, calls } }, NOW))).toEqual([
      'c',
    ])
  })
})

describe('the feed', () => {
  test('has the newest event first, each with its deliveries', () => {
    const [one, two] = [started(call('c')), rings(call('c'), stage('101'))]
    const state = after(
      event(one),
      event(two),
      { kind: 'delivery', delivery: delivery(one.data.id) },
      { kind: 'delivery', delivery: delivery(one.data.id, { state: 'delivered' }) },
    )
    expect(state.feed.map((event) => event.name)).toEqual(['dial_started', 'call_started'])
    expect(state.feed[1]?.deliveries.map((one) => one.state)).toEqual(['delivered'])
  })

  test('puts the log below the events of the stream, without repeating one', () => {
    const now = started(call('c'))
    const state = after(event({ ...now, time: at(5) }), {
      kind: 'history',
      deliveries: [delivery(now.data.id), delivery('before', { created_at: at(-60) })],
    })
    expect(state.feed.map((event) => event.id)).toEqual([now.data.id, 'before'])
    expect(state.feed[0]?.body).not.toBeNull()
  })

  test("takes pending deliveries from the log, and nothing older than the stream's events", () => {
    const now = started(call('c'))
    const [one, other] = [delivery(now.data.id), delivery(now.data.id, { id: 'paused' })]
    const delivered: Delivery = { ...one, state: 'delivered', attempts_made: 1 }
    const state = after(
      event(now),
      { kind: 'delivery', delivery: delivered },
      { kind: 'history', deliveries: [one, other] },
    )
    expect(state.feed[0]?.deliveries).toEqual([delivered, other])
  })

  test('is bounded', () => {
    const messages = Array.from({ length: 1_000 }, () => event(started(call('c'))))
    expect(after(...messages).feed.length).toBeLessThanOrEqual(200)
  })
})
