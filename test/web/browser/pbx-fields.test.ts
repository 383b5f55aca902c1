import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parsePbxUrl } from '../../../src/pbx/source/pbx-url.ts'
import {
  countryOf,
  findNameError,
  findPortError,
  newPbxFields,
  type PbxFields,
  pbxFieldsOf,
  pbxUrlOf,
  withCountry,
  withFreeName,
  withProduct,
} from '../../../src/web/browser/lib/pbx-fields.ts'
import { type PbxProduct, PRODUCT_NAMES } from '../../../src/web/browser/lib/pbx-products.ts'
import { pbxSetupOf } from '../../../src/web/browser/lib/pbx-setup-text.ts'

const fields: PbxFields = {
  ...newPbxFields('a secret'),
  name: 'head office',
  host: 'pbx.example',
  user: 'hook@switch',
  secret: 'a:b/c?#%@ü',
  account: 'acme & co',
  more: 'trunks=carrier*&country=UZ',
}

describe('the fields of the form', () => {
  test.each([
    ['', null],
    [' 5038 ', null],
    ['0', 'The port is 0: give a number from 1 to 65535.'],
    ['99999', 'The port is 99999: give a number from 1 to 65535.'],
    ['5038x', 'The port is 5038x: give a number from 1 to 65535.'],
  ])('have the port %j, about which the form reports %j', (port, error) => {
    expect(findPortError({ ...fields, port })).toBe(error)
  })

  test("propose a free name, and refuse another PBX's name, which it would replace", () => {
    const proposed = newPbxFields('a secret')
    expect(withFreeName(proposed, []).name).toBe('office')
    expect(withFreeName(proposed, ['office', 'office-2', 'lab']).name).toBe('office-3')
    expect(withFreeName({ ...proposed, name: 'lab' }, ['lab']).name).toBe('lab')
    expect(findNameError({ ...proposed, name: ' lab ' }, ['lab'])).toMatch(/^There is a PBX lab already: give/)
    expect(findNameError(proposed, ['lab'])).toBeNull()
  })

  test('give the country in its place among the parameters, in any case, and take it out again', () => {
    expect(countryOf(fields)).toBe('UZ')
    const german = withCountry(fields, ' d&e=1')
    expect([german.more, countryOf(german)]).toEqual(['trunks=carrier*&country=DE', 'DE'])
    expect(parsePbxUrl(pbxUrlOf(german))).toMatchObject({ pbx: { country: 'DE', trunks: ['carrier*'] } })
    expect(withCountry(german, '').more).toBe('trunks=carrier*')
    expect(countryOf(newPbxFields('a secret'))).toBe('')
  })

  test('become a URL that means the same', () => {
    expect(parsePbxUrl(pbxUrlOf(fields))).toMatchObject({
      pbx: {
        protocol: 'ami',
        name: 'head office',
        host: 'pbx.example',
        port: 5038,
        user: 'hook@switch',
        secret: 'a:b/c?#%@ü',
        account: 'acme & co',
        trunks: ['carrier*'],
        country: 'UZ',
      },
    })
  })

  test.each<[string, Partial<PbxFields>]>([
    ['an Asterisk', { product: 'asterisk' }],
    ['one with TLS on another port', { product: 'asterisk', protocol: 'amis', port: '5061' }],
    ['a FreeSWITCH, which has no user', { product: 'freeswitch', protocol: 'esl', user: '' }],
    ['an IPv6 address', { product: 'asterisk', host: '2001:db8::1', port: '5040' }],
    ['nothing but the necessary', { product: 'asterisk', account: '', more: '' }],
  ])('of %s come back from its URL', (_, change) => {
    const changed = { ...fields, ...change }
    expect(pbxFieldsOf(pbxUrlOf(changed), changed.name)).toEqual(changed)
  })

  test('keep the secret of a URL hidden', () => {
    const url = 'ami://hookswitch:***@127.0.0.1:5038?recordings=https://me:***@h/&name=office'
    expect(pbxFieldsOf(url, 'office')).toMatchObject({ secret: '***', more: 'recordings=https://me:***@h/' })
    expect(pbxUrlOf(pbxFieldsOf(url, 'office'))).toContain(
      ':***@127.0.0.1:5038?name=office&recordings=https://me:***@h/',
    )
  })
})

const CONNECT = ['connect', 'click-to-call']
  .map((name) => readFileSync(join(import.meta.dir, `../../../src/docs/${name}.md`), 'utf8'))
  .join('\n')

describe('what to write into the PBX', () => {
  const local: PbxFields = { ...fields, host: '127.0.0.1', user: 'hookswitch', secret: 'choose-a-long-one' }
  /** As the guide has it. */
  const CALLS = 'choose-another-long-one'
  const linesOf = (product: PbxProduct, change: Partial<PbxFields> = {}) =>
    pbxSetupOf({ ...withProduct(local, product, ''), ...change }, CALLS).copies[0]?.text.split('\n') ?? []

  test.each(PRODUCT_NAMES)('is for %s what the guide shows', (product) => {
    for (const { text } of pbxSetupOf(withProduct(local, product, ''), CALLS).copies)
      for (const line of text.split('\n')) expect(CONNECT).toContain(line)
  })

  test('has the secret of the form, and for the same machine its own address only', () => {
    expect(linesOf('asterisk', { user: 'hook@switch', secret: 'a:b/c?#%@ü' })).toEqual([
      '[general]',
      'enabled = yes',
      'bindaddr = 127.0.0.1',
      'timestampevents = yes',
      '',
      '[hook@switch]',
      'secret = a:b/c?#%@ü',
      'deny = 0.0.0.0/0.0.0.0',
      'permit = 127.0.0.1/255.255.255.255',
      'read = system,call,agent,dialplan,cdr,user',
      'write = reporting',
    ])
    expect(linesOf('asterisk', { host: 'pbx.example' })).toContain('bindaddr = 0.0.0.0')
    expect(linesOf('asterisk', { host: 'pbx.example' })).toContain('permit = ADDRESS/255.255.255.255')
  })

  test('is for FreePBX in the file that its pages never overwrite', () => {
    expect(pbxSetupOf(local, CALLS).copies[0]?.file).toBe('/etc/asterisk/manager_custom.conf')
    expect(linesOf('freepbx').slice(0, 3)).toEqual(['[general](+)', 'timestampevents = yes', ''])
  })

  test.each(['asterisk', 'freepbx'] as const)(
    'says for %s which user only reads, and reloads after all lines',
    (product) => {
      const { copies, hint } = pbxSetupOf(withProduct(local, product, ''), CALLS)
      // The user of click to call stands above the hint, and may do more than read.
      expect(hint).toStartWith('The user `hookswitch` can only read.')
      expect(copies.at(-1)?.text).toBe('asterisk -rx "manager reload"')
    },
  )

  test('has a secret of its own for the user who makes calls, the same in the lines and in the parameter', () => {
    const [, lines, parameter] = pbxSetupOf(withProduct(local, 'asterisk', ''), 'f00d').copies
    expect(lines?.text).toContain('secret = f00d')
    expect(parameter?.text).toBe('calls=hookswitch-calls:f00d')
  })

  test('is for FusionPBX no new password, but where to read the one that it has', () => {
    const { caution, copies } = pbxSetupOf({ ...local, product: 'fusionpbx', protocol: 'esl' }, CALLS)
    expect(caution).toContain('Do not change it here')
    expect(copies.map(({ text }) => text.replace(/ .*/, ''))).toEqual(['sudo', 'sudo'])
    expect(JSON.stringify(copies)).not.toContain('choose-a-long-one')
  })

  test('has no mask in place of the stored secret', () => {
    expect(linesOf('asterisk', { secret: '***' })).toContain('secret = …')
  })

  test('is for FreeSWITCH lines of its file, as XML', () => {
    expect(linesOf('freeswitch', { secret: 'a"<&' })).toEqual([
      '<param name="listen-ip" value="127.0.0.1"/>',
      '<param name="listen-port" value="8021"/>',
      '<param name="password" value="a&quot;&lt;&amp;"/>',
    ])
  })
})

describe('another product', () => {
  test('has its usual port, and the proposed secret unless it has its own', () => {
    const proposed = newPbxFields('proposed')
    const fusion = withProduct({ ...proposed, port: '5138' }, 'fusionpbx', 'proposed')
    expect(fusion).toMatchObject({ protocol: 'esl', port: '', secret: '' })
    expect(withProduct(fusion, 'asterisk', 'proposed')).toMatchObject({ protocol: 'ami', secret: 'proposed' })
    expect(withProduct({ ...proposed, secret: 'typed' }, 'fusionpbx', 'proposed').secret).toBe('typed')
    expect(withProduct({ ...proposed, secret: '***' }, 'fusionpbx', 'proposed').secret).toBe('***')
  })
})
