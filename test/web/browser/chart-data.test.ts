import { expect, test } from 'bun:test'
import { isolatedPoints, successRate } from '../../../src/web/browser/lib/chart-data.ts'

test.each([
  ['a value between two missing ones is isolated', [null, 5, null], [1]],
  ['the first and the last may be isolated', [1, null, null, 2], [0, 3]],
  ['two in a row have a line', [null, 1, 2, null], []],
  ['zero is a value', [null, 0, undefined, 3, 0], [1]],
  ['no values have none', [], []],
])('%s', (_, values, expected) => expect(isolatedPoints(values)).toEqual(expected))

test.each([
  ['all of them', 5, 0, 0, 100],
  ['half of them', 5, 3, 2, 50],
  ['none of them, probes alone', 0, 0, 4, 0],
  ['no requests at all', 0, 0, 0, null],
])('the success rate of %s', (_, delivered, failed_attempts, failed_probes, expected) =>
  expect(successRate({ at: '', delivered, failed_attempts, failed_probes, p50_ms: null, p99_ms: null })).toBe(expected),
)
