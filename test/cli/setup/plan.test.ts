import { describe, expect, test } from 'bun:test'
import type { Machine } from '../../../src/cli/setup/machine.ts'
import { ASTERISK_COMMENT, withOwnLines, withoutOwnLines } from '../../../src/cli/setup/own-block.ts'
import { findPbxs, planFor, type SetupPlan } from '../../../src/cli/setup/plan.ts'
import { gatewaysText, parsePbxUrl } from '../../../src/pbx/source/pbx-url.ts'

// Finds the PBX of a machine and plans its changes, from the files that each distribution has.

type Given = {
  readonly files: Readonly<Record<string, string>>
  readonly folders?: readonly string[]
  readonly users?: readonly string[]
  readonly readable?: readonly string[]
  readonly group?: string
}

const machineOf = ({ files, folders = [], users = [], readable = [], group = 'asterisk' }: Given): Machine => ({
  read: (path) => files[path],
  exists: (path) => path in files || folders.includes(path),
  groupOf: () => group,
  mayRead: (_, path) => readable.includes(path),
  hasUser: (name) => users.includes(name),
})

const WANTED = { name: 'office', user: 'hookswitch', secret: 'made', serviceUser: 'hookswitch', isUnusualFolder: false }

function planned(
  given: Given,
  wanted: Partial<typeof WANTED> & { account?: string; gateways?: string; calls?: boolean; callsSecret?: string } = {},
): SetupPlan {
  const machine = machineOf(given)
  const [found, ...others] = findPbxs(machine)
  if (found === undefined || others.length > 0) throw new Error(`${others.length} others`)
  const plan = planFor(machine, found, { ...WANTED, ...wanted })
  if ('refused' in plan) throw new Error(plan.refused)
  return plan
}

const MANAGER = '/etc/asterisk/manager.conf'
const CUSTOM = '/etc/asterisk/manager_custom.conf'
const SOCKET = '/etc/freeswitch/autoload_configs/event_socket.conf.xml'
const USER = [
  '[hookswitch]',
  'secret = made',
  'deny = 0.0.0.0/0.0.0.0',
  'permit = 127.0.0.1/255.255.255.255',
  'read = system,call,agent,dialplan,cdr,user',
  'write = reporting',
]
const MONITOR = '/var/spool/asterisk/monitor'

const CALLS = [
  '[hookswitch-calls]',
  'secret = made for calls',
  'deny = 0.0.0.0/0.0.0.0',
  'permit = 127.0.0.1/255.255.255.255',
  'write = originate,call',
]

describe('calls', () => {
  const general = '[general]\nenabled = yes\ntimestampevents = yes\n'
  const wanted = { calls: true, callsSecret: 'made for calls' }

  test('are made by a second user of an Asterisk, if they are wanted', () => {
    const plan = planned({ files: { [MANAGER]: general } }, wanted)
    expect(plan.changes[0]?.lines).toEqual([...USER, '', ...CALLS])
    expect(plan.url).toBe(
      'ami://hookswitch:made@127.0.0.1:5038?name=office&calls=hookswitch-calls%3Amade%20for%20calls',
    )
    expect(parsePbxUrl(plan.url)).toMatchObject({
      pbx: { calls: { user: 'hookswitch-calls', secret: 'made for calls' } },
    })
    expect(planned({ files: { [MANAGER]: general } }).changes[0]?.lines).toEqual(USER)
  })

  test('stay when the command runs again, with both secrets', () => {
    const first = planned({ files: { [MANAGER]: general } }, wanted).changes[0]?.after ?? ''
    const again = planned({ files: { [MANAGER]: first } }, { secret: 'other', callsSecret: 'other' })
    expect(again.changes).toEqual([])
    expect(again.url).toContain('hookswitch:made@')
    expect(again.url).toContain('calls=hookswitch-calls%3Amade%20for%20calls')
  })

  test('need no lines on a FreeSWITCH', () => {
    const plan = planned({ files: { [SOCKET]: '<param name="password" value="p"/>' } }, wanted)
    expect([plan.changes, plan.url]).toEqual([[], 'esl://:p@127.0.0.1:8021?name=office&calls=yes'])
  })
})

describe('Asterisk', () => {
  test.each<[what: string, manager: string, added: string[], url: string]>([
    [
      'as it is shipped, off: it begins to listen on this machine alone',
      '[general]\nenabled = no\nport = 5038\nbindaddr = 0.0.0.0\n',
      ['[general](+)', 'enabled = yes', 'bindaddr = 127.0.0.1', 'timestampevents = yes', ''],
      'ami://hookswitch:made@127.0.0.1:5038?name=office',
    ],
    [
      'on, with another port',
      '; AMI\n[general]\nenabled=yes ; on\nport = 6038\ntimestampevents => yes\n[other]\nenabled = no\n',
      [],
      'ami://hookswitch:made@127.0.0.1:6038?name=office',
    ],
    [
      'without an address: it begins to listen on this machine alone',
      '[general]\n;enabled = yes\n',
      ['[general](+)', 'enabled = yes', 'bindaddr = 127.0.0.1', 'timestampevents = yes', ''],
      'ami://hookswitch:made@127.0.0.1:5038?name=office',
    ],
    [
      'an empty file',
      '',
      ['[general]', 'enabled = yes', 'bindaddr = 127.0.0.1', 'timestampevents = yes', ''],
      'ami://hookswitch:made@127.0.0.1:5038?name=office',
    ],
  ])('%s', (_, manager, added, url) => {
    const plan = planned({ files: { [MANAGER]: manager } })
    expect(plan.found).toEqual({ distribution: 'Asterisk', folder: '/etc/asterisk' })
    expect(plan.changes.map(({ path, lines }) => [path, lines])).toEqual([[MANAGER, [...added, ...USER]]])
    expect(plan.changes[0]?.after.startsWith(manager)).toBe(true)
    expect(plan.url).toBe(url)
    expect(plan.reload).toEqual([['asterisk', '-rx', 'manager reload']])
    expect(plan.notes).toEqual([])
  })

  test('a second setup keeps the secret and changes nothing', () => {
    const manager = '[general]\nenabled = yes\n'
    const first = planned({ files: { [MANAGER]: manager } })
    const files = { [MANAGER]: first.changes[0]?.after ?? '' }
    const second = planned({ files }, { secret: 'another' })
    expect(second.changes).toEqual([])
    expect(second.url).toBe(first.url)
  })

  test('a user of this name that another has made is left alone', () => {
    const machine = machineOf({ files: { [MANAGER]: '[general]\n[hookswitch]\nsecret = theirs\n' } })
    const [found] = findPbxs(machine)
    expect(found && planFor(machine, found, WANTED)).toEqual({
      refused: `${MANAGER} has a user [hookswitch] already, which was not made by this command: remove its section, or give another name with --user`,
    })
  })

  test('an address at which it cannot be reached is said, and not changed', () => {
    const plan = planned({ files: { [MANAGER]: '[general]\nenabled = yes\nbindaddr = 192.0.2.7\n' } })
    expect(plan.notes).toEqual([expect.stringContaining('bindaddr of [general] is 192.0.2.7')])
  })

  test('recordings: their folder goes into the URL, and the user of the service joins its group if it has to', () => {
    const given = { files: { [MANAGER]: '[general]\n' }, folders: [MONITOR], users: ['hookswitch'] }
    const url = `ami://hookswitch:made@127.0.0.1:5038?name=office&account=acme&recordings=${MONITOR}`
    const plan = planned(given, { account: 'acme' })
    expect(plan.url).toBe(url)
    expect(plan.joins).toMatchObject({ user: 'hookswitch', group: 'asterisk' })
    expect(planned({ ...given, readable: [MONITOR] }).joins).toBeNull()
    expect(planned({ ...given, users: [] }).joins).toBeNull()
    expect(planned({ ...given, group: 'root' }).joins).toBeNull()
  })
})

describe('FreePBX and Issabel', () => {
  const manager =
    '[general]\nenabled = yes\nport = 5038\n#include manager_additional.conf\n#include manager_custom.conf\n'

  test('get their lines where the web interface keeps them', () => {
    const plan = planned({ files: { [MANAGER]: manager, [CUSTOM]: '; mine\n' } })
    expect(plan.found.distribution).toBe('FreePBX')
    expect(plan.changes.map(({ path }) => path)).toEqual([CUSTOM])
    expect(plan.changes[0]?.lines).toEqual(['[general](+)', 'timestampevents = yes', '', ...USER])
    expect(plan.changes[0]?.after.startsWith('; mine\n')).toBe(true)
  })

  test('get a new file if they have none', () => {
    const plan = planned({ files: { [MANAGER]: manager, '/etc/issabel.conf': '' } })
    expect(plan.found.distribution).toBe('Issabel')
    expect(plan.changes).toMatchObject([{ path: CUSTOM, before: null }])
  })
})

describe('FreeSWITCH', () => {
  const socket = (password: string, more = '') =>
    `<configuration name="event_socket.conf"><settings><!-- <param name="password" value="old"/> -->${more}<param name="password" value="${password}"/></settings></configuration>`

  test('is used unchanged: its only password stays', () => {
    const plan = planned({ files: { [SOCKET]: socket('a/b', `<param value='8022' name='listen-port'/>`) } })
    expect(plan).toMatchObject({ changes: [], reload: [], notes: [], url: 'esl://:a%2Fb@127.0.0.1:8022?name=office' })
  })

  test('the published password is named as a risk', () => {
    const { notes } = planned({ files: { [SOCKET]: socket('ClueCon') } })
    expect(notes).toEqual([expect.stringContaining('published default (ClueCon)')])
  })

  test('gets an event socket if it has none, on this machine alone', () => {
    const plan = planned({ files: { '/etc/freeswitch/freeswitch.xml': '' } })
    expect(plan.changes).toMatchObject([{ path: SOCKET, before: null }])
    expect(plan.changes[0]?.after).toContain('<param name="listen-ip" value="127.0.0.1"/>')
    expect(plan.url).toBe('esl://:made@127.0.0.1:8021?name=office')
    expect(plan.reload.at(-1)).toEqual(['fs_cli', '-x', 'reload mod_event_socket'])
  })

  test('each domain of FusionPBX is a customer, and its two places of the password are compared', () => {
    const config = '/etc/fusionpbx/config.conf'
    const folders = ['/var/lib/freeswitch/recordings']
    const files = { [SOCKET]: socket('one'), [config]: 'database.0.type = pgsql\nswitch.event_socket.password = two\n' }
    const plan = planned({ files, folders, users: ['hookswitch'], group: 'www-data' })
    expect(plan.found.distribution).toBe('FusionPBX')
    expect(plan.url).toBe(
      'esl://:one@127.0.0.1:8021?name=office&tenants=domain&recordings=/var/lib/freeswitch/recordings',
    )
    const { url } = planned({ files }, { gateways: gatewaysText([{ id: '04d7', name: ' Carrier, Ltd: & Sons' }]) })
    const parsed = parsePbxUrl(url)
    expect(parsed).toMatchObject({ pbx: { gateways: { '04d7': 'Carrier Ltd: & Sons' } } })
    expect(plan.joins).toMatchObject({ group: 'www-data' })
    expect(plan.notes).toEqual([
      expect.stringContaining(`${config} has another password`),
      expect.stringContaining('each domain is a customer'),
      expect.stringContaining('trunks belong to no domain'),
    ])
    expect(planned({ files }, { account: 'operator' }).notes.join()).not.toContain('trunks')
  })

  test.each([
    [socket(''), /has no password/],
    [socket('$${event_socket_password}'), /variable of vars.xml/],
  ])('%s is refused with the reason', (xml, reason) => {
    const machine = machineOf({ files: { [SOCKET]: xml } })
    const [found] = findPbxs(machine)
    expect(found && planFor(machine, found, WANTED)).toEqual({ refused: expect.stringMatching(reason) })
  })
})

test('FusionPBX is where its own configuration says', () => {
  const config = { '/etc/fusionpbx/config.conf': 'switch.conf.dir = /opt/freeswitch\n' }
  const files = { ...config, '/opt/freeswitch/freeswitch.xml': '', '/srv/other/freeswitch.xml': '' }
  const machine = machineOf({ files })
  expect(findPbxs(machine)).toEqual([{ distribution: 'FusionPBX', folder: '/opt/freeswitch' }])
  expect(findPbxs(machine, '/srv/other')).toEqual([{ distribution: 'FreeSWITCH', folder: '/srv/other' }])
})

test('two PBXs on one machine are both found', () => {
  const found = findPbxs(machineOf({ files: { [MANAGER]: '', [SOCKET]: '' } }))
  expect(found.map(({ distribution }) => distribution)).toEqual(['Asterisk', 'FreeSWITCH'])
})

test.each(['', '\n', 'a', 'a\n', 'a\n\n', '[general]\nenabled = yes\n\n\n; end', '; hookswitch end\n'])(
  'the other content of a file stays to the byte: %j',
  (text) => {
    const once = withOwnLines(text, ['one', 'two'], ASTERISK_COMMENT)
    const twice = withOwnLines(once, ['three'], ASTERISK_COMMENT)
    expect(once.startsWith(text)).toBe(true)
    expect(withoutOwnLines(once, ASTERISK_COMMENT)).toBe(text)
    expect(withoutOwnLines(twice, ASTERISK_COMMENT)).toBe(text)
    // Lines that somebody added behind ours stay too.
    expect(withoutOwnLines(`${once}later\n`, ASTERISK_COMMENT)).toBe(`${text}later\n`)
  },
)
