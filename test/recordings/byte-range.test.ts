import { expect, test } from 'bun:test'
import { parseRange } from '../../src/recordings/byte-range.ts'

test.each([
  ['no header', null, 'whole'],
  ['one range', 'bytes=0-99', { start: 0, end: 100 }],
  ['one byte', 'bytes=999-999', { start: 999, end: 1000 }],
  ['a range that ends behind the end', 'bytes=900-5000', { start: 900, end: 1000 }],
  ['an end beyond all numbers', `bytes=900-${'9'.repeat(400)}`, { start: 900, end: 1000 }],
  ['an open range', 'bytes=500-', { start: 500, end: 1000 }],
  ['the whole as an open range', 'bytes=0-', { start: 0, end: 1000 }],
  ['the last bytes', 'bytes=-100', { start: 900, end: 1000 }],
  ['more last bytes than there are', 'bytes=-5000', { start: 0, end: 1000 }],
  ['the unit in capitals, with spaces', ' Bytes = 1-2 ', { start: 1, end: 3 }],
  ['another unit', 'seconds=1-2', 'whole'],
  ['several ranges', 'bytes=0-1,5-6', 'whole'],
  ['several ranges of which one is behind the end', 'bytes=0-1, 5000-', 'whole'],
  ['several ranges of which one is malformed', 'bytes=0-1,x', 'whole'],
  ['a range behind the end', 'bytes=1000-', 'unsatisfiable'],
  ['the last 0 bytes', 'bytes=-0', 'unsatisfiable'],
  ['an end before the start', 'bytes=5-4', 'whole'],
  ['neither start nor end', 'bytes=-', 'whole'],
  ['nothing', 'bytes=', 'whole'],
  ['letters', 'bytes=a-b', 'whole'],
  ['a negative start', 'bytes=--5', 'whole'],
] as const)('a Range with %s', (_, header, expected) => {
  expect(parseRange(header, 1000)).toEqual(expected)
})
