import { describe, expect, test } from 'bun:test'
import { parsePbxUrl } from '../../../src/lib/pbx-url.ts'
import {
  findNameError,
  findPortError,
  newPbxFields,
  type PbxFields,
  pbxFieldsOf,
  pbxUrlOf,
  withFreeName,
} from '../../../src/web/browser/lib/pbx-fields.ts'
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
    ['an Asterisk', {}],
    ['one with TLS on another port', { protocol: 'amis', port: '5061' }],
    ['a FreeSWITCH, which has no user', { protocol: 'esl', user: '' }],
    ['an IPv6 address', { host: '2001:db8::1', port: '5040' }],
    ['nothing but the necessary', { account: '', more: '' }],
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

describe('what to write into the PBX', () => {
  test('has the secret of the form, and for the same machine its own address only', () => {
    const { file, text } = pbxSetupOf({ ...fields, host: 'localhost' })
    expect(file).toBe('/etc/asterisk/manager.conf')
    expect(text.split('\n')).toEqual([
      '[general]',
      'enabled = yes',
      'bindaddr = 127.0.0.1',
      'timestampevents = yes',
      '',
      '[hook@switch]',
      'secret = a:b/c?#%@ü',
      'read = system,call,agent,dialplan,cdr',
      'write = reporting',
    ])
    expect(pbxSetupOf(fields).text).toContain('bindaddr = 0.0.0.0')
  })

  test('has no mask in place of the stored secret', () => {
    expect(pbxSetupOf({ ...fields, secret: '***' }).text).toContain('secret = …\n')
  })

  test('is XML for a FreeSWITCH', () => {
    const { text } = pbxSetupOf({ ...fields, protocol: 'esl', secret: 'a"<&' })
    expect(text).toContain('<param name="password" value="a&quot;&lt;&amp;"/>')
    expect(text).toContain('value="8021"')
  })
})
