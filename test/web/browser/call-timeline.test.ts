import { expect, test } from 'bun:test'
import type { Call } from '../../../src/events/bodies.ts'
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
  deliveries: [],
})
const STAGES = [stage('101', 0, 10, 50), stage('102', 50, 60, 100)]
const timeline = (change: Partial<Parameters<typeof buildTimeline>[0]> = {}) =>
  buildTimeline({ call: CALL, stages: STAGES, events: [], nowMs: NOW + 100_000, minGap: 4, maxTicks: 7, ...change })
const bars = (row: number) => timeline().rows[row]?.bars.map(({ tone, left, width }) => [tone, left, width])

test('the call and each stage have a row, with ringing before the answer and talking after it', () => {
  expect(bars(0)).toEqual([
    ['pending', 0, 10],
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

test("a transfer is an arrow from its originator's row to its target's row", () => {
  const transfer = {
    kind: 'blind' as const,
    by: partyOf('101', '101'),
    transferee: partyOf('0301'),
    to: partyOf('102', '102'),
    call_id: 'c',
    other_call_id: null,
  }
  const { arrows } = timeline({ events: [eventAt(4, 50, 'call_blind_transferred', transfer)] })
  expect(arrows.map(({ left, fromRow, toRow }) => [left, fromRow, toRow])).toEqual([[50, 1, 2]])
})

test('events too close together share a mark', () => {
  const { marks } = timeline({
    events: [eventAt(1, 0, 'call_started'), eventAt(2, 1, 'dial_started'), eventAt(3, 10, 'dial_answered')],
  })
  expect(marks.map(({ left, first, last }) => [left, first, last])).toEqual([
    [0, 1, 2],
    [10, 3, 3],
  ])
})

test('an open stage reaches to now, an unknown time to the edge', () => {
  const call: Call = { ...CALL, state: 'answered', ended_at: null }
  const unseen = { ...stage('101', 0, 10, null), started_at: null }
  const { rows } = timeline({ call, stages: [unseen], nowMs: NOW + 200_000 })
  expect(rows[1]?.bars).toMatchObject([
    { tone: 'ring', left: 0, width: 5 },
    { tone: 'talk', left: 5, width: 95 },
  ])
})

test.each([
  ['a moment', 0],
  ['a minute', 60],
  ['a day', 86_400],
])('a call of %s has a handful of ticks, all inside', (_, seconds) => {
  const call = { ...CALL, answered_at: null, ended_at: at(seconds) }
  const { ticks, rows } = timeline({ call, stages: [] })
  expect(ticks.length).toBeLessThanOrEqual(8)
  for (const { left } of ticks) expect(left).toBeLessThanOrEqual(100)
  for (const { bars } of rows) for (const { left, width } of bars) expect(left + width).toBeLessThanOrEqual(100.001)
})
