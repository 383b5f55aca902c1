import { expect, test } from 'bun:test'
import { isolatedPoints, linesOf, niceMax, shownSeries, timeSplits } from '../../../src/web/browser/lib/chart-data.ts'

test.each([
  ['a value between two missing ones is isolated', [null, 5, null], [1]],
  ['the first and the last may be isolated', [1, null, null, 2], [0, 3]],
  ['two in a row have a line', [null, 1, 2, null], []],
  ['zero is a value', [null, 0, undefined, 3, 0], [1]],
  ['no values have none', [], []],
])('%s', (_, values, expected) => expect(isolatedPoints(values)).toEqual(expected))

test('a series without values is left out, but for the first one', () => {
  const series = [
    { name: 'events', values: [0, 0] },
    { name: 'failed', values: [null, 0] },
    { name: 'slow', values: [null, 3] },
  ]
  expect(shownSeries(series).map(({ name }) => name)).toEqual(['events', 'slow'])
})

test.each([
  [3, 10, 10],
  [11, 10, 20],
  [72, 10, 80],
  [810, 100, 1_000],
  [99, 100, 100],
])('an axis for %d, at least %d, ends at %d', (highest, least, top) => expect(niceMax(highest, least)).toBe(top))

test.each([3_600, 86_400, 604_800])('an axis of %d s has at most seven labels, in order', (seconds) => {
  const from = Date.UTC(2026, 10, 28, 9, 7) / 1_000
  const splits = timeSplits(from, from + seconds)
  expect(splits.length).toBeGreaterThan(2)
  expect(splits.length).toBeLessThanOrEqual(8)
  expect(splits.every((at) => at >= from && at <= from + seconds)).toBe(true)
})

test('a line ends where a value is missing', () => {
  expect(linesOf([1, 2, null, 3, null, null, 0, 4])).toEqual([[0, 1], [3], [6, 7]])
  expect(linesOf([])).toEqual([])
})
