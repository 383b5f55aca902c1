import { expect, test } from 'bun:test'
import { tableLines } from '../../src/cli/table.ts'

test('a list has a heading above each column, wide characters count twice, and text from outside breaks no line', () => {
  const lines = tableLines(
    ['id', 'made_with', 'name'],
    [
      [7, '日本', 'Anna'],
      [12, undefined, 'a\nb\u001b[2J\tc'],
      [null, '', ''],
    ],
  )
  expect(lines).toEqual([
    'ID  MADE WITH  NAME', //
    '7   日本       Anna',
    '12  -          a b?[2J c',
    '-   -          -',
  ])
})
