import { expect, test } from 'bun:test'
import type { Recording, Stage } from '../../../src/events/bodies.ts'
import { describeMoment, momentOf, positionAt, tracksOf } from '../../../src/web/browser/lib/playback.ts'

const START = Date.UTC(2026, 10, 20, 21, 42)
const ms = (seconds: number) => START + seconds * 1_000
const at = (seconds: number | null) => (seconds === null ? null : new Date(ms(seconds)).toISOString())

const recording = (id: string, from: number | null, to: number | null, more: Partial<Recording> = {}): Recording => ({
  id,
  path: '/a.wav',
  format: 'wav',
  duration: null,
  started_at: at(from),
  ended_at: at(to),
  url: null,
  ...more,
})
const stage = (
  target: string,
  [from, answered, to]: [number | null, number | null, number | null],
  kind = 'user',
): Stage =>
  Object.assign(Object.create(null), {
    id: target,
    parent_id: null,
    kind,
    target,
    name: null,
    attempt: 1,
    started_at: at(from),
    answered_at: at(answered),
    ended_at: at(to),
    ring_duration: null,
    talk_duration: null,
    result: null,
    forwarded_to: null,
  })

const { url: _, ...unreadable } = recording('unreadable', 0, 10)
const TRACKS = tracksOf([unreadable, recording('a', 2, 10), recording('b', 8, 30), recording('unplaced', null, null)])

test('tracks are the recordings with a file and a known start, with their numbers in the call', () => {
  expect(TRACKS).toEqual([
    { id: 'a', number: 2, fromMs: ms(2), toMs: ms(10) },
    { id: 'b', number: 3, fromMs: ms(8), toMs: ms(30) },
  ])
  expect(tracksOf([recording('a', 2, null, { duration: 5 }), recording('b', 2, 2)]).map(({ toMs }) => toMs)).toEqual([
    ms(7),
    ms(3),
  ])
})

test.each([
  ['in one track', 5, undefined, 'a', 3],
  ['in two: the first', 9, undefined, 'a', 7],
  ['in two: the one that is played', 9, 'b', 'b', 1],
  ['in another than the one that is played', 20, 'a', 'b', 12],
  ['before all: the start of the nearest', 0, undefined, 'a', 0],
  ['after all: the end of the nearest', 99, 'a', 'b', 22],
] as const)('a moment %s', (_, second, played, trackId, seconds) => {
  const position = positionAt(TRACKS, ms(second), played)
  expect(position).toEqual({ trackId, seconds })
  if (second > 0 && second < 99) expect(momentOf(TRACKS, position ?? null)).toBe(ms(second))
})

test('without tracks or a position there is no moment', () => {
  expect(positionAt([], START)).toBeUndefined()
  expect(momentOf(TRACKS, null)).toBeNull()
  expect(momentOf([], { trackId: 'a', seconds: 1 })).toBeNull()
})

const STAGES = [
  stage('600', [0, null, 20], 'queue'),
  stage('101', [5, null, 9]),
  stage('102', [5, 9, 20]),
  stage('103', [20, 22, null]),
]

test.each([
  [-1, ''],
  [1, '600 waiting'],
  [5, '101 ringing, 102 ringing'],
  [9, '102 talking'],
  [20, '103 ringing'],
  [500, '103 talking'],
])('at second %d: %s', (second, text) => {
  expect(describeMoment(STAGES, ms(second))).toBe(text)
})
