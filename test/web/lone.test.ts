import { expect, test } from 'bun:test'
import { lone } from '../../src/web/browser/lib/lone.ts'

test.each([
  ['a value between two that are missing is alone', [null, 5, null], [1]],
  ['the first and the last may be', [1, null, null, 2], [0, 3]],
  ['two in a row have their line', [null, 1, 2, null], []],
  ['zero is a value', [null, 0, undefined, 3, 0], [1]],
  ['nothing has none', [], []],
])('%s', (_, values, expected) => expect(lone(values)).toEqual(expected))
