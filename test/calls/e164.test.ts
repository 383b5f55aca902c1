import { describe, expect, test } from 'bun:test'
import { createToE164 } from '../../src/calls/e164.ts'

describe('the E.164 form of a number', () => {
  test.each([
    ['in the national format', 'UZ', '712345678', '+998712345678'],
    ['with the code of the country', 'UZ', '998712345678', '+998712345678'],
    ['in E.164 form already', 'UZ', '+998712345678', '+998712345678'],
    ['of another country', 'UZ', '+4930123456', '+4930123456'],
    ['with a trunk prefix', 'RU', '89161234567', '+79161234567'],
    ['with an international prefix', 'DE', '00498912345678', '+498912345678'],
    ['of another country with 00, which is not the prefix here', 'RU', '00998901234567', '+998901234567'],
    ['of its own country with 00, which is not the prefix here', 'RU', '0079161234567', '+79161234567'],
    ['with 00 and spaces', 'US', '00 44 20 7946 0958', '+442079460958'],
    ['of the country, which begins with 0', 'IT', '0612345678', '+390612345678'],
    ['with 00 before too few digits', 'RU', '00491', null],
    ['with spaces and brackets', 'US', '+1 (212) 555-0100', '+12125550100'],
    ['that is too short', 'UZ', '101', null],
    ['that is too long', 'RU', '78123456789012345', null],
    ['that is a feature code', 'US', '*8', null],
    ['that is no number', 'US', 'anonymous', null],
    ['with a number inside a text', 'US', 'call 2125550100 now', null],
    ['that is empty', 'US', '', null],
    ['that is not known', 'US', null, null],
    ['where the country is not known', null, '+998712345678', null],
  ])('%s', (_, country, number, e164) => {
    const toE164 = createToE164(country)
    expect(toE164(number)).toBe(e164)
    expect(toE164(number)).toBe(e164)
  })
})
