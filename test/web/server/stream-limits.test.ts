import { expect, test } from 'bun:test'
import { mayOpen } from '../../../src/web/server/stream-limits.ts'

const open = (counts: Readonly<Record<number, number>>): number[] =>
  Object.entries(counts).flatMap(([account, count]) => Array.from({ length: count }, () => Number(account)))

test.each([
  ['whole', 1, { 1: 63 }, true],
  ['whole', 1, { 1: 64 }, false],
  ['calls', 1, { 1: 511 }, true],
  ['calls', 1, { 1: 512 }, false],
  // What the others have beyond their guaranteed ones is shared.
  ['whole', 9, { 1: 64, 2: 64, 3: 64, 4: 64, 5: 64, 6: 32, 9: 15 }, true],
  ['whole', 9, { 1: 64, 2: 64, 3: 64, 4: 64, 5: 64, 6: 32, 9: 16 }, false],
  ['calls', 9, { 1: 512, 2: 512, 9: 16 }, true],
  ['calls', 9, { 1: 512, 2: 512, 3: 48, 9: 16 }, false],
] as const)('a stream of the kind %s of account %i beside %j may open: %p', (kind, account, counts, expected) => {
  expect(mayOpen(kind, account, open(counts))).toBe(expected)
})
