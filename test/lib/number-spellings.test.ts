import { expect, test } from 'bun:test'
import { createToE164 } from '../../src/calls/e164.ts'
import { otherSpellings } from '../../src/lib/number-spellings.ts'

test.each([
  ['UZ', '+998712345678', ['712345678', '998712345678', '00998712345678']],
  ['DE', '+4930123456', ['030123456', '30123456', '004930123456']],
  ['US', '+14155550123', ['4155550123', '14155550123', '01114155550123']],
  ['RU', '+74951234567', ['84951234567', '4951234567', '74951234567', '81074951234567']],
  ['AU', '+61291234567', ['0291234567', '001161291234567']],
  ['IT', '+390612345678', ['0612345678', '00390612345678']],
] as const)('in %s a PBX that spells %s as %j is found', (country, e164, spellings) => {
  const toE164 = createToE164(country)
  for (const one of spellings) {
    expect([one, toE164(one)]).toEqual([one, e164])
    expect(otherSpellings(e164)).toContain(one)
  }
  expect(otherSpellings(e164)).not.toContain(e164)
})

test.each(['101', '998712345678', '+', '+49 30', 'anonymous'])('%s has no other spelling', (number) =>
  expect(otherSpellings(number)).toEqual([]),
)
