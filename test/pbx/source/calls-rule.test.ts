import { describe, expect, test } from 'bun:test'
import { parsePbxUrl } from '../../../src/pbx/source/pbx-url.ts'

const rulesOf = (url: string) => {
  const parsed = parsePbxUrl(url)
  return 'wrong' in parsed ? parsed.wrong : parsed.pbx.calls
}
const AMI = 'ami://u:s@h'
const ESL = 'esl://:s@h'

describe('calls in the URL of a PBX', () => {
  test('are off unless the URL allows them', () => {
    expect(rulesOf(AMI)).toBeUndefined()
    expect(rulesOf(`${AMI}?calls=no`)).toBeUndefined()
    expect(rulesOf(ESL)).toBeUndefined()
  })

  test('are made by a second user of an Asterisk, in its usual context', () => {
    expect(rulesOf(`${AMI}?calls=clicker:a%3Ab%26c`)).toEqual({
      user: 'clicker',
      secret: 'a:b&c',
      context: 'from-internal',
      dialplan: '',
      to: [],
      phone: 'device',
    })
    expect(rulesOf(`${AMI}?calls=c:s&calls_context=phones&calls_to=%2B49*,1??&calls_phone=extension`)).toMatchObject({
      context: 'phones',
      to: ['+49*', '1??'],
      phone: 'extension',
    })
  })

  test('are made by the same login on a FreeSWITCH, in the context of the phone or of the URL', () => {
    const off = { user: '', secret: '', to: [], phone: 'device' as const }
    expect(rulesOf(`${ESL}?calls=yes`)).toEqual({ ...off, context: null, dialplan: 'XML' })
    expect(rulesOf(`${ESL}?calls=yes&calls_dialplan=XML%20acme.example`)).toEqual({
      ...off,
      context: 'acme.example',
      dialplan: 'XML',
    })
  })

  test('take the context of the phone where it names the customer', () => {
    expect(rulesOf(`${AMI}?tenants=context&calls=c:s`)).toMatchObject({ context: null })
  })

  const wrong: readonly [query: string, problem: RegExp][] = [
    [`${AMI}?calls=clicker`, /without a user and a secret/],
    [`${AMI}?calls=clicker:`, /without a user and a secret/],
    [`${AMI}?calls=:secret`, /without a user and a secret/],
    [`${AMI}?calls_to=1*`, /calls_to without calls: add calls=USER:SECRET/],
    [`${ESL}?calls_phone=extension`, /calls_phone without calls: add calls=yes/],
    [`${AMI}?calls=c:s&calls_context=a%0ab`, /control character|name of a context/],
    [`${AMI}?calls=c:s&calls_context=a,b`, /name of a context/],
    [`${AMI}?calls=c:s&calls_to=abc`, /calls_to=abc/],
    [`${AMI}?calls=c:s&calls_phone=both`, /calls_phone=both/],
    [`${AMI}?calls=c:s&calls_dialplan=XML%20a`, /for FreeSWITCH/],
    [`${AMI}?tenants=context&calls=c:s&calls_context=x`, /beside tenants=context/],
    [`${ESL}?calls=u:s`, /give calls=yes/],
    [`${ESL}?calls=yes&calls_context=x`, /for Asterisk/],
    [`${ESL}?calls=yes&calls_dialplan=XML`, /kind of dialplan and the context/],
    [`${ESL}?calls=yes&calls_dialplan=XML%20a%20b`, /kind of dialplan and the context/],
  ]
  test.each(wrong)('%s is refused', (url, problem) => {
    expect(rulesOf(url)).toMatch(problem)
  })
})
