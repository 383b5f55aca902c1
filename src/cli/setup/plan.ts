import { callsUserLines, managerUserLines } from '../../pbx/ami/manager-conf.ts'
import { eventSocketLines } from '../../pbx/esl/event-socket-conf.ts'
import { type FusionPbx, findFusionPbx } from './fusionpbx.ts'
import type { Machine } from './machine.ts'
import { ASTERISK_COMMENT, ownLines, withOwnLines, withoutOwnLines } from './own-block.ts'

// Plans the setup of a PBX on its machine, by reading its files. Changes nothing.

type Distribution = 'Asterisk' | 'FreePBX' | 'Issabel' | 'FreeSWITCH' | 'FusionPBX'

/** A PBX on this machine: its distribution, and the folder of its configuration. */
export type FoundPbx = { readonly distribution: Distribution; readonly folder: string }

/** A file to write. `before`: `null` if it is new; `lines`: the added lines. */
export type FileChange = {
  readonly path: string
  readonly before: string | null
  readonly after: string
  readonly lines: readonly string[]
}

export type SetupPlan = {
  readonly found: FoundPbx
  readonly changes: readonly FileChange[]
  /** The group that the service's user has to join to read recordings. */
  readonly joins: { readonly user: string; readonly group: string; readonly why: string } | null
  /** The commands that make the changes effective. */
  readonly reload: readonly (readonly string[])[]
  /** The URL of the PBX, with its secret. */
  readonly url: string
  /** Steps that are left to do, and hints. */
  readonly notes: readonly string[]
}

/** Why there is no plan, and how to get one. */
type Refusal = { readonly refused: string }

const ASTERISK_FOLDERS = ['/etc/asterisk']
const FREESWITCH_FOLDERS = ['/etc/freeswitch', '/usr/local/freeswitch/conf', '/usr/local/freeswitch/etc/freeswitch']
const EVENT_SOCKET = 'autoload_configs/event_socket.conf.xml'

/** The system user of the packages. */
export const SERVICE_USER = 'hookswitch'
/** The only files that are ever written, in the folder of the configuration. */
export const FILES = ['manager.conf', 'manager_custom.conf', EVENT_SOCKET] as const
const ASTERISK_RELOAD = ['-rx', 'manager reload'] as const
const FREESWITCH_RELOADS = [
  ['fs_cli', '-x', 'load mod_event_socket'],
  ['fs_cli', '-x', 'reload mod_event_socket'],
] as const
/** The only commands that are ever run after a change; Asterisk's may name its configuration. */
export const RELOADS: readonly (readonly string[])[] = [['asterisk', ...ASTERISK_RELOAD], ...FREESWITCH_RELOADS]

/** Returns the PBXs on this machine. `folder`: search only there. */
export function findPbxs(machine: Machine, folder?: string): FoundPbx[] {
  const asterisk = (folder === undefined ? ASTERISK_FOLDERS : [folder])
    .filter((one) => machine.exists(`${one}/manager.conf`) || machine.exists(`${one}/asterisk.conf`))
    .map((one): FoundPbx => ({ distribution: asteriskOf(machine, one), folder: one }))
  const fusion = findFusionPbx(machine)
  const named = fusion?.settings.get('switch.conf.dir')
  const usual = named === undefined ? FREESWITCH_FOLDERS : [named]
  const freeswitch = (folder === undefined ? usual : [folder])
    .filter((one) => machine.exists(`${one}/${EVENT_SOCKET}`) || machine.exists(`${one}/freeswitch.xml`))
    .map(
      (one): FoundPbx => ({
        distribution: fusion !== undefined && (named ?? one) === one ? 'FusionPBX' : 'FreeSWITCH',
        folder: one,
      }),
    )
  return [...asterisk, ...freeswitch]
}

/** FreePBX and its relatives rewrite manager.conf, but keep manager_custom.conf, which it includes. */
function asteriskOf(machine: Machine, folder: string): Distribution {
  if (machine.exists('/etc/issabel.conf')) return 'Issabel'
  const includes = /^[ \t]*#include[ \t]+"?manager_custom\.conf/m.test(machine.read(`${folder}/manager.conf`) ?? '')
  return includes || machine.exists('/etc/freepbx.conf') ? 'FreePBX' : 'Asterisk'
}

type Wanted = {
  /** The name of the PBX in events. */
  readonly name: string
  /** The account of its calls; `undefined`: the default one. */
  readonly account?: string | undefined
  /** The AMI user to create. */
  readonly user: string
  /** The new secret of that user. */
  readonly secret: string
  /** The system user of the service. */
  readonly serviceUser: string
  /** Whether the configuration is in an unusual folder, so that commands have to name it. */
  readonly isUnusualFolder: boolean
  /** The names of gateways, for the URL. */
  readonly gateways?: string | undefined
  /** Whether calls may be made on the PBX. */
  readonly calls?: boolean
  /** The new secret of the user who has them made. */
  readonly callsSecret?: string
}

/** Returns the plan for a PBX, or the reason why none is possible. */
export const planFor = (machine: Machine, found: FoundPbx, wanted: Wanted): SetupPlan | Refusal =>
  found.distribution === 'FreeSWITCH' || found.distribution === 'FusionPBX'
    ? planFreeSwitch(machine, found, wanted)
    : planAsterisk(machine, found, wanted)

const MONITOR = '/var/spool/asterisk/monitor'

function planAsterisk(machine: Machine, found: FoundPbx, wanted: Wanted): SetupPlan | Refusal {
  const { folder, distribution } = found
  const isManaged = distribution !== 'Asterisk'
  const main = machine.read(`${folder}/manager.conf`) ?? ''
  const path = `${folder}/${isManaged ? 'manager_custom.conf' : 'manager.conf'}`
  const before = machine.read(path) ?? null
  const others = [main, before ?? ''].map((text) => withoutOwnLines(text, ASTERISK_COMMENT)).join('\n')
  if (new RegExp(`^[ \\t]*\\[${wanted.user}\\]`, 'm').test(others))
    return {
      refused: `${path} has a user [${wanted.user}] already, which was not made by this command: remove its section, or give another name with --user`,
    }
  const own = ownLines(before ?? '', ASTERISK_COMMENT) ?? []
  const secret = secretIn(own, wanted.user)
  const callsUser = `${wanted.user}-calls`
  // Changes of an earlier setup stay: --undo alone takes them back.
  const earlierCalls = secretIn(own, callsUser)
  const callsSecret = wanted.calls === true ? (earlierCalls ?? wanted.callsSecret) : earlierCalls
  const general = sectionsOf(isManaged ? main : withoutOwnLines(main, ASTERISK_COMMENT), 'general')
  const setting = (name: string) => general.findLast(([key]) => key === name)?.[1]
  const isOn = (name: string) => /^(yes|true|on|1)$/i.test(setting(name) ?? '')
  const settings = [
    // The interface was off, so nobody uses it: let it listen on this machine only, not on all addresses as in the
    // shipped file.
    ...(isOn('enabled') ? [] : ['enabled = yes', 'bindaddr = 127.0.0.1']),
    ...(isOn('timestampevents') ? [] : ['timestampevents = yes']),
  ]
  const isFirst = general.length === 0 && !/^[ \t]*\[general\]/m.test(others)
  const made = secret ?? wanted.secret
  const lines = [
    ...(settings.length === 0 ? [] : [`[general]${isFirst ? '' : '(+)'}`, ...settings, '']),
    ...managerUserLines({ name: wanted.user, secret: made, from: '127.0.0.1' }),
    ...(callsSecret === undefined
      ? []
      : ['', ...callsUserLines({ name: callsUser, secret: callsSecret, from: '127.0.0.1' })]),
  ]
  const after = withOwnLines(before ?? '', lines, ASTERISK_COMMENT)
  const bindaddr = setting('bindaddr') ?? ''
  const isElsewhere = isOn('enabled') && bindaddr !== '' && !['0.0.0.0', '::', '127.0.0.1', '[::]'].includes(bindaddr)
  const port = setting('port') ?? '5038'
  const recordings = machine.exists(MONITOR) ? MONITOR : undefined
  const asterisk = ['asterisk', ...(wanted.isUnusualFolder ? ['-C', `${folder}/asterisk.conf`] : [])]
  return {
    found,
    changes: after === before ? [] : [{ path, before, after, lines }],
    joins: joinsOf(machine, wanted, recordings),
    reload: [[...asterisk, ...ASTERISK_RELOAD]],
    url: urlOf({
      login: `ami://${wanted.user}:${encodeURIComponent(made)}`,
      port,
      ...wanted,
      recordings,
      calls: callsSecret === undefined ? undefined : `${callsUser}:${callsSecret}`,
    }),
    notes: [
      ...(isElsewhere
        ? [
            `bindaddr of [general] is ${bindaddr}, which setup does not change; the connection to 127.0.0.1 needs 0.0.0.0 or 127.0.0.1 there`,
          ]
        : []),
      ...(isManaged && !/manager_custom\.conf/.test(main)
        ? [
            `${folder}/manager.conf does not include manager_custom.conf: apply the configuration of ${distribution} once`,
          ]
        : []),
    ],
  }
}

/** Returns the secret of a user in the lines that an earlier setup wrote. */
const secretIn = (own: readonly string[], user: string): string | undefined =>
  sectionsOf(own.join('\n'), user).find(([key]) => key === 'secret')?.[1]

/** Returns the settings of all sections of a name, in their order, without comments. */
function sectionsOf(text: string, name: string): [key: string, value: string][] {
  const found: [string, string][] = []
  let isInside = false
  for (const line of text.split('\n').map((one) => one.replace(/(^|\s);.*$/, '').trim())) {
    const section = /^\[([^\]]+)\]/.exec(line)
    if (section !== null) isInside = section[1] === name
    const [, key, value] = isInside ? (/^([\w-]+)\s*=>?\s*(.*)$/.exec(line) ?? []) : []
    if (key !== undefined && value !== undefined) found.push([key.toLowerCase(), value])
  }
  return found
}

const FREESWITCH_RECORDINGS = '/var/lib/freeswitch/recordings'
const DEFAULT_PASSWORD = 'ClueCon'

function planFreeSwitch(machine: Machine, found: FoundPbx, wanted: Wanted): SetupPlan | Refusal {
  const { folder, distribution } = found
  const path = `${folder}/${EVENT_SOCKET}`
  const before = machine.read(path) ?? null
  const parameter = (name: string) => paramOf(before ?? '', name)
  const own = before === null ? eventSocketOf(wanted.secret) : undefined
  const password = own === undefined ? parameter('password') : wanted.secret
  if (password === undefined || password === '')
    return { refused: `${path} has no password: add <param name="password" value="…"/> to its settings` }
  if (password.includes('$${'))
    return {
      refused: `the password in ${path} is a variable of vars.xml (${password}): give its value with hookswitch pbx add 'esl://:PASSWORD@127.0.0.1?name=${wanted.name}'`,
    }
  const port = parameter('listen-port') ?? '8021'
  const fusion = distribution === 'FusionPBX' ? findFusionPbx(machine) : undefined
  const isFusion = fusion !== undefined
  const folderOfRecordings = fusion?.settings.get('switch.recordings.dir') ?? FREESWITCH_RECORDINGS
  const recordings = machine.exists(folderOfRecordings) ? folderOfRecordings : undefined
  return {
    found,
    changes: own === undefined ? [] : [{ path, before: null, after: own, lines: own.trimEnd().split('\n') }],
    joins: joinsOf(machine, wanted, recordings),
    reload: own === undefined ? [] : FREESWITCH_RELOADS,
    url: urlOf({
      login: `esl://:${encodeURIComponent(password)}`,
      port,
      ...wanted,
      recordings,
      tenants: isFusion ? 'domain' : undefined,
      calls: wanted.calls === true ? 'yes' : undefined,
    }),
    notes: [
      ...passwordNotes({ password, path, fusion }),
      ...(isFusion ? [FUSION_ACCOUNTS] : []),
      ...(isFusion && wanted.account === undefined ? [FUSION_TRUNKS] : []),
    ],
  }
}

const FUSION_ACCOUNTS =
  'each domain is a customer: calls of a domain are events of the account of that name. Add accounts with hookswitch user add --account DOMAIN …, or many with --from FILE'

const FUSION_TRUNKS =
  'trunks belong to no domain, so no account sees their states. Give yours with --account NAME: it also gets the calls that show no domain'

function passwordNotes({ password, path, fusion }: { password: string; path: string; fusion: FusionPbx | undefined }) {
  const notes: string[] = []
  if (password === DEFAULT_PASSWORD)
    notes.push(
      `the password in ${path} is the published default (${DEFAULT_PASSWORD}): anyone who reaches the port controls the PBX. Setup does not change this line: ` +
        `change it${fusion !== undefined ? ', in the configuration of FusionPBX (switch.event_socket.password) too,' : ''} and run this command again`,
    )
  const other = fusion?.settings.get('switch.event_socket.password')
  if (other !== undefined && other !== password)
    notes.push(
      `${fusion?.path} has another password of the event socket than ${path}: the pages of FusionPBX cannot reach FreeSWITCH. Make them equal`,
    )
  return notes
}

/** Returns the value of a `<param>`, `undefined` if no line outside comments has it. */
function paramOf(xml: string, name: string): string | undefined {
  for (const tag of withoutComments(xml).split('<param').slice(1)) {
    const end = tag.indexOf('>')
    const attributes = /^\s/.test(tag) && end >= 0 ? tag.slice(0, end) : ''
    const attribute = (key: string) => new RegExp(`\\b${key}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(attributes)
    const found = attribute('name')
    const value = attribute('value')
    if (found !== null && (found[1] ?? found[2]) === name) return value?.[1] ?? value?.[2]
  }
  return undefined
}

/** Returns XML without its comments; a regular expression would read the rest again after each unclosed one. */
function withoutComments(xml: string): string {
  const [first = '', ...rest] = xml.split('<!--')
  return first + rest.map((part) => (part.includes('-->') ? part.slice(part.indexOf('-->') + 3) : '')).join('')
}

/** Returns the file of the event socket that setup makes where FreeSWITCH has none. */
export const eventSocketOf = (
  password: string,
): string => `<!-- hookswitch begin: written by hookswitch pbx setup, removed by hookswitch pbx setup --undo -->
<configuration name="event_socket.conf" description="Socket Client"><settings>
${eventSocketLines({ address: '127.0.0.1', port: '8021', password })
  .map((line) => `  ${line}\n`)
  .join('')}</settings></configuration>
`

/** The service's user may have to join the group that owns the recordings. */
function joinsOf(machine: Machine, { serviceUser }: Wanted, recordings: string | undefined): SetupPlan['joins'] {
  if (recordings === undefined || !machine.hasUser(serviceUser) || machine.mayRead(serviceUser, recordings)) return null
  const group = machine.groupOf(recordings)
  // The group has no permission either, or all of them.
  if (group === undefined || group === 'root') return null
  return { user: serviceUser, group, why: `to read the recordings in ${recordings}` }
}

type UrlParts = {
  readonly login: string
  readonly port: string
  readonly name: string
  readonly account?: string | undefined
  readonly recordings: string | undefined
  readonly tenants?: string | undefined
  readonly gateways?: string | undefined
  readonly calls?: string | undefined
}

function urlOf({ login, port, name, account, recordings, tenants, gateways, calls }: UrlParts): string {
  const parameters = Object.entries({ name, account, tenants, recordings, gateways, calls }).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${encodeURIComponent(value).replaceAll('%2F', '/')}`],
  )
  return `${login}@127.0.0.1:${port}?${parameters.join('&')}`
}
