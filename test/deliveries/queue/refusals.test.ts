import { expect, test } from 'bun:test'
import {
  type AnswerKind,
  isRefusal,
  newRefusals,
  noteAnswer,
  refusingSinceUs,
} from '../../../src/deliveries/queue/refusals.ts'

const KINDS = { r: 'refused', a: 'accepted', o: 'other', '-': 'none' } as const satisfies Record<string, AnswerKind>

/** Plays answers, one a microsecond from 0 on, and returns since when the webhook refuses. */
function sinceAfter(answers: string): number | null {
  const refusals = newRefusals()
  for (const [atUs, letter] of [...answers].entries()) noteAnswer(refusals, KINDS[letter as keyof typeof KINDS], atUs)
  return refusingSinceUs(refusals)
}

test.each([
  ['four refusals are none', 'rrrr', null],
  ['the fifth in a row means that it refuses since the first', 'arrrrr', 1],
  ['further ones change nothing', 'rrrrrrrrrr', 0],
  ['a success ends it', 'rrrrrra', null],
  ['and begins the row again', 'rrrrrarrrr', null],
  ['another answer breaks a row', 'rrrrorrrr', null],
  ['but ends nothing that has begun', 'rrrrroo', 0],
  ['no answer breaks no row', 'rr--rr-r', 0],
] as const)('%s', (_, answers, since) => {
  expect(sinceAfter(answers)).toBe(since)
})

test('408 and 429 are trouble of the receiver, other 4xx are refusals', () => {
  const statuses = [200, 301, 399, 400, 401, 404, 408, 410, 422, 429, 499, 500, 503]
  expect(statuses.filter(isRefusal)).toEqual([400, 401, 404, 410, 422, 499])
})
