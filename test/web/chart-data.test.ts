import { expect, test } from 'bun:test'
import { isolatedPoints } from '../../src/web/browser/lib/chart-data.ts'

test.each([
  ['a value between two missing ones is isolated', [null, 5, null], [1]],
  ['the first and the last may be isolated', [1, null, null, 2], [0, 3]],
  ['two in a row have a line', [null, 1, 2, null], []],
  ['zero is a value', [null, 0, undefined, 3, 0], [1]],
  ['no values have none', [], []],
])('%s', (_, values, expected) => expect(isolatedPoints(values)).toEqual(expected))
