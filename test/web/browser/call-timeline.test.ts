import { expect, test } from 'bun:test'
import { buildTimeline } from '../../../src/web/browser/lib/call-timeline.ts'
import type { EventWithDeliveries } from '../../../src/web/model.ts'
import { partyOf, ringingCall, ringingStage } from '../../help/calls.ts'

const NOW = Date.UTC(2026, 10, 20, 21, 42)
const at = (seconds: number) => new Date(NOW + seconds * 1_000).toISOString()
const CALL = ringingCall('c', {
  state: 'ended',
  from: partyOf('0301'),
  to: partyOf('0302'),
  started_at: at(0),
  answered_at: at(10),
  ended_at: at(100),
  duration: 100,
  wait_duration: 10,
  talk_duration: 90,
  result: 'answered',
  transfers: 1,
})
const stage = (target: string, started: number, answered: number | null, ended: number | null) =>
  ringingStage(target, {
    started_at: at(started),
    answered_at: answered === null ? null : at(answered),
    ended_at: ended === null ? null : at(ended),
  })
const eventAt = (
  sequence: number,
  seconds: number,
  name: string,
  transfer: EventWithDeliveries['transfer'] = null,
): EventWithDeliveries => ({
  id: String(sequence),
  name,
  sequence,
  at: at(seconds),
  stage: null,
  transfer,
  by: null,
  deliveries: [],
})
const STAGES = [stage('101', 0, 10, 50), stage('102', 50, 60, 100)]
const timeline = (change: Partial<Parameters<typeof buildTimeline>[0]> = {}) =>
  buildTimeline({ call: CALL, stages: STAGES, events: [], nowMs: NOW + 100_000, part: 'whole', maxTicks: 7, ...change })
const bars = (lane: number, change: Parameters<typeof timeline>[0] = {}) =>
  timeline(change).lanes[lane]?.bars.map(({ tone, left, width }) => [tone, left, width])

test('the caller and each stage have a lane, with waiting or ringing before the answer and talking after it', () => {
  expect(bars(0)).toEqual([
    ['hold', 0, 10],
    ['talk', 10, 90],
  ])
  expect(bars(1)).toEqual([
    ['ring', 0, 10],
    ['talk', 10, 40],
  ])
  expect(bars(2)).toEqual([
    ['ring', 50, 10],
    ['talk', 60, 40],
  ])
})

test('a hold is drawn over the talk of those who are on it, and ends with it', () => {
  const events = [eventAt(1, 20, 'call_held'), eventAt(2, 30, 'call_resumed'), eventAt(3, 90, 'call_held')]
  expect(bars(0, { events })?.slice(2)).toEqual([
    ['hold', 20, 10],
    ['hold', 90, 10],
  ])
  expect(bars(1, { events })?.slice(2)).toEqual([['hold', 20, 10]])
})

test.each(['group', 'queue'] as const)('a %s waits until one of its phones answers', (kind) => {
  expect(bars(1, { stages: [{ ...stage('600', 0, 10, 50), kind }] })).toEqual([['hold', 0, 10]])
  expect(bars(1, { stages: [{ ...stage('600', 0, null, 50), kind }] })).toEqual([['hold', 0, 50]])
})

test('the ringing alone ends soon after the first answer', () => {
  const { toMs, marks } = timeline({
    part: 'ringing',
    events: [eventAt(1, 0, 'call_started'), eventAt(2, 50, 'call_ended')],
  })
  expect((toMs - NOW) / 1_000).toBe(11.5)
  expect(marks.map(({ name }) => name)).toEqual(['call_started'])
})

test('each event has a mark at its time', () => {
  const events = [eventAt(1, 0, 'call_started'), eventAt(2, 10, 'dial_answered')]
  expect(timeline({ events }).marks.map(({ left, sequence }) => [left, sequence])).toEqual([
    [0, 1],
    [10, 2],
  ])
})

test('a call that is up ends now, and a bar without an end reaches to it', () => {
  const call = { ...CALL, ended_at: null }
  const { lanes, toMs } = timeline({ call, stages: [stage('101', 0, 10, null)], nowMs: NOW + 200_000 })
  expect(toMs).toBe(NOW + 200_000)
  expect(lanes[1]?.bars.map(({ left, width }) => left + width)).toEqual([5, 100])
})

test('the axis has whole times, as many as fit', () => {
  expect(timeline().ticks.map(({ seconds }) => seconds)).toEqual([0, 15, 30, 45, 60, 75, 90])
  expect(timeline({ maxTicks: 3 }).ticks.map(({ seconds }) => seconds)).toEqual([0, 60])
})
