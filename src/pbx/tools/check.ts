import { isLoopbackHost } from '../../lib/loopback-host.ts'
import { hostAndPort, type PbxSource } from '../../lib/pbx-url.ts'
import { checkRecordings } from '../../recordings/check-recordings.ts'
import type { AllowedPlaces } from '../../recordings/sources/allowed-places.ts'
import { type Actions, createActions } from '../ami/actions.ts'
import { AmiDecoder } from '../ami/decoder.ts'
import type { EventClass } from '../ami/events.ts'
import type { AmiFrame } from '../ami/frame.ts'
import { LISTS, requestInventory as requestAmiInventory } from '../ami/inventory.ts'
import { logIn as logInToAmi } from '../ami/login.ts'
import { READ_LINE, WRITE_LINE } from '../ami/manager-conf.ts'
import type { InventoryReply } from '../connection/inventory-refresh.ts'
import { addressOf, openSocket } from '../connection/socket.ts'
import { TIMEOUTS } from '../connection/timeouts.ts'
import { lineOf, SETTING } from '../endpoints/endpoint-summary.ts'
import { createEndpoints } from '../endpoints/endpoints.ts'
import { type Commands, createCommands } from '../esl/commands.ts'
import { EslDecoder } from '../esl/decoder.ts'
import { QUESTIONS, requestInventory as requestEslInventory } from '../esl/inventory.ts'
import { logIn as logInToEsl } from '../esl/login.ts'
import { type AccountOf, amiTenants, eslTenants, judgeTenants } from './check-tenants.ts'
import type { Finding } from './finding.ts'

export type CheckOptions = {
  readonly recordingPath?: string | undefined
  readonly accountOf?: AccountOf | undefined
  /** Nothing but these places of recordings is read; without it that of the URL, whatever it is. */
  readonly allowed?: AllowedPlaces | undefined
}

/**
 * Connects, logs in, watches events for `listenMs` (0: not at all), and returns what works and what is missing. If the
 * URL gives the place of recordings it reads one: that at `recordingPath`, or the newest. With `accountOf` it returns
 * which customers of the PBX have no account.
 */
export async function checkPbx(
  source: PbxSource,
  listenMs: number,
  { recordingPath, accountOf, allowed }: CheckOptions = {},
): Promise<Finding[]> {
  const findings: Finding[] = []
  const find: Find = (level, text, line) => void findings.push({ level, text, ...(line === undefined ? {} : { line }) })
  const tenants = new Set<string>()
  const problem = await (source.protocol === 'esl'
    ? checkEsl(source, { find, tenants })
    : checkAmi(source, listenMs, { find, tenants }))
  if (problem === undefined && source.tenants !== undefined)
    findings.push(...judgeTenants(source.tenants, tenants, accountOf))
  if (problem !== undefined) find('missing', `${problem}${fixOf(problem, source.protocol)}`)
  if (source.recordings !== undefined)
    findings.push(await checkRecordings(source.recordings, { reportedPath: recordingPath, allowed }))
  else if (recordingPath !== undefined)
    find('missing', 'the PBX URL does not give the place of recordings: add recordings=/FOLDER or recordings=https://…')
  return findings
}

const WHERE = {
  ami: 'is Asterisk running there, with enabled = yes, this port and a bindaddr that can be reached from here in [general] of manager.conf?',
  amis: 'is Asterisk running there, with tlsenable = yes and this port as tlsbindaddr in [general] of manager.conf?',
  esl: 'is FreeSWITCH running there, with mod_event_socket loaded, and this listen-port and a listen-ip that can be reached from here in event_socket.conf.xml?',
} as const

/** Returns the advice for a problem with which the check ends; empty where the problem contains it. */
function fixOf(problem: string, protocol: PbxSource['protocol']): string {
  if (problem.startsWith('it refuses the user'))
    return ': check its section of manager.conf (secret, deny, permit), then run asterisk -rx "manager reload"'
  if (problem === 'it refuses the password') return ': check <param name="password"> in event_socket.conf.xml'
  if (problem.endsWith('no such host')) return ': check the name'
  return /^cannot connect|closed|does not answer|no greeting/.test(problem) ? `: ${WHERE[protocol]}` : ''
}

type Find = (level: Finding['level'], text: string, line?: string) => void
/** Takes findings, and the values by which channels show their customers. */
type Found = { readonly find: Find; readonly tenants: Set<string> }

async function checkAmi(source: PbxSource, listenMs: number, { find, tenants }: Found): Promise<string | undefined> {
  const socket = openSocket(addressOf(source), TIMEOUTS.connectMs)
  const actions = createActions(socket.write, TIMEOUTS)
  const decoder = new AmiDecoder()
  const watched = watchEvents(source)
  void socket.closed.then(actions.close)
  try {
    if (!(await socket.opened)) return await socket.closed
    socket.read((chunk) => {
      for (const frame of decoder.push(chunk))
        if (!actions.receive(frame) && frame.type === 'event') watched.note(frame)
      // The rest would show no more, and a PBX can send without end.
      if (decoder.consumed > MAX_BYTES) find('advice', TOO_MUCH)
      if (decoder.consumed > MAX_BYTES || decoder.fault !== undefined) socket.close()
    })
    find('ok', `${hostAndPort(source)} answers${source.protocol === 'amis' ? ', and its certificate is valid' : ''}`)
    if (source.protocol === 'ami' && !isLoopbackHost(source.host))
      find(
        'advice',
        'the events cross the network unencrypted: use amis:// (tlsenable = yes in manager.conf), or a VPN',
      )
    const login = await logInToAmi(source, actions, () => decoder.greeting)
    if (login.kind !== 'in') return login.reason
    find('ok', `the user ${source.user} may log in`)
    const channels = await checkAmiRights(source, actions, find)
    const reply = await requestAmiInventory(source, actions)
    checkEndpoints(source, reply, { find, right: 'add write = reporting', questions: LISTS })
    if (listenMs > 0) {
      await Promise.race([Bun.sleep(listenMs), socket.closed])
      judgeEvents(watched, listenMs, find)
    }
    const shown = source.tenants === undefined ? [] : amiTenants(source.tenants, channels)
    for (const value of [...watched.tenants, ...shown]) tenants.add(value)
    return undefined
  } finally {
    socket.close()
  }
}

/** A list of 50,000 channels takes 64 MB, the events of some seconds less. */
const MAX_BYTES = 128 * 1024 * 1024
const TOO_MUCH = 'it sent more than 128 MB: the check ended there, and what follows is of that part'
/** More customers than one PBX has. */
const MAX_TENANTS = 10_000

/** The facts that the events of a check show; the events themselves are not kept. */
type WatchedEvents = {
  note(event: AmiFrame): void
  readonly classes: ReadonlySet<string>
  readonly tenants: ReadonlySet<string>
  /** Whether events arrived besides the greeting, and whether one of them had a timestamp. */
  hasLive(): boolean
  hasTimestamps(): boolean
}

function watchEvents({ tenants: rule }: PbxSource): WatchedEvents {
  const known: ReadonlySet<string> = new Set([...Object.keys(CLASSES), 'cdr'])
  const classes = new Set<string>()
  const tenants = new Set<string>()
  let live = 0
  let stamped = 0
  return {
    note(event) {
      for (const name of event.get('Privilege').toLowerCase().split(',')) if (known.has(name)) classes.add(name)
      // The event that greets after the login never has a timestamp.
      if (event.name !== 'FullyBooted') live += 1
      if (event.has('Timestamp')) stamped += 1
      if (rule !== undefined && tenants.size < MAX_TENANTS)
        for (const value of amiTenants(rule, [event])) tenants.add(value)
    },
    classes,
    tenants,
    hasLive: () => live > 0,
    hasTimestamps: () => stamped > 0,
  }
}

const TOO_POWERFUL = ['Command', 'Originate', 'Redirect', 'UpdateConfig', 'GetConfig', 'Setvar', 'ModuleLoad', 'AGI']

/** Reports what its user may do; returns the channels that are up. */
async function checkAmiRights(source: PbxSource, actions: Actions, find: Find): Promise<readonly AmiFrame[]> {
  const variable = source.tenants?.variable
  const channels = await actions.list({ Action: 'Status', ...(variable ? { Variables: variable } : {}) })
  const fallback = channels.kind === 'rows' ? channels : await actions.list({ Action: 'CoreShowChannels' })
  if (fallback.kind === 'rows') find('ok', `it lists its channels: ${fallback.rows.length} now`)
  else
    find(
      'missing',
      'it does not list its channels, so that calls cannot be followed across a lost connection: add write = reporting',
      WRITE_LINE,
    )
  if ((await actions.send({ Action: 'CoreStatus' })).kind !== 'reply')
    find(
      'advice',
      'it does not show when it was started, so that a restart is noticed only by its calls: add write = reporting',
      WRITE_LINE,
    )
  const commands = await actions.send({ Action: 'ListCommands' })
  const excess = commands.kind === 'reply' ? TOO_POWERFUL.filter((name) => commands.frame.has(name)) : []
  if (excess.length > 0)
    find(
      'advice',
      `its user may do more than watch (${excess.join(', ')}): write = reporting is all that is needed`,
      WRITE_LINE,
    )
  return fallback.kind === 'rows' ? fallback.rows : []
}

type Questions = readonly (readonly [question: string, meaning: string])[]

/** Reports how its endpoints are classified, and why; `right`: the advice where it does not list them. */
function checkEndpoints(
  source: PbxSource,
  { inventory, denied }: InventoryReply,
  { find, right, questions }: { readonly find: Find; readonly right: string; readonly questions: Questions },
): void {
  if (inventory === undefined) {
    find('advice', 'it does not list its endpoints, so that only calls show which of them are phones')
    return
  }
  const missing = questions.flatMap(([question, meaning]) =>
    denied.includes(question) ? `${meaning} (${question})` : [],
  )
  if (missing.length > 0)
    find(
      'advice',
      `it does not list ${missing.join(', ')}: ${right}`,
      source.protocol === 'esl' ? undefined : WRITE_LINE,
    )
  const endpoints = createEndpoints(source)
  endpoints.configure(inventory)
  const known = endpoints.list()
  for (const kind of ['trunk', 'extension'] as const) {
    const line = lineOf(known, kind)
    if (line !== null) find('ok', line)
  }
  const undecided = lineOf(known, null)
  if (undecided !== null) find('advice', `${undecided}: calls will show what they are, or ${SETTING}`)
}

const CLASSES: Readonly<Record<Exclude<EventClass, 'cdr'>, string>> = {
  call: 'without it there are no call events',
  agent: 'without it there are no queue events',
  dialplan: 'without it the names of recordings and your variables are unknown',
  system: 'without it a restart or shutdown of Asterisk is noticed late',
}

function judgeEvents({ classes: seen, hasLive, hasTimestamps }: WatchedEvents, listenMs: number, find: Find): void {
  const seconds = Math.round(listenMs / 1_000)
  for (const [name, use] of Object.entries(CLASSES))
    if (seen.has(name)) find('ok', `events of class ${name} arrive`)
    else {
      const text = `no event of class ${name} arrived within ${seconds} s: is it in read = …? ${use}`
      find('advice', text, name === 'call' ? READ_LINE : undefined)
    }
  if (hasLive() && !hasTimestamps())
    find('advice', 'events have no timestamps: set timestampevents = yes in manager.conf', 'timestampevents = yes')
  if (!seen.has('cdr'))
    find(
      'advice',
      'no call detail record arrived: with enabled = yes, cdr_manager.conf adds the fields that it maps (optional)',
    )
}

async function checkEsl(source: PbxSource, { find, tenants }: Found): Promise<string | undefined> {
  const socket = openSocket(addressOf(source), TIMEOUTS.connectMs)
  const lost: string[] = []
  const commands = createCommands({
    write: socket.write,
    replyMs: TIMEOUTS.replyMs,
    lost(reason) {
      lost.push(reason)
      socket.close()
    },
  })
  const decoder = new EslDecoder()
  void socket.closed.then(commands.close)
  try {
    if (!(await socket.opened)) return await socket.closed
    find('ok', `${hostAndPort(source)} answers`)
    let bytes = 0
    socket.read((chunk) => {
      bytes += chunk.length
      if (bytes > MAX_BYTES) {
        find('advice', TOO_MUCH)
        return socket.close()
      }
      for (const frame of decoder.push(chunk)) {
        if (frame.contentType === 'text/rude-rejection')
          lost.push('its access list refuses our address: see event_socket.conf.xml')
        commands.receive(frame)
      }
    })
    const login = await logInToEsl(source, commands, TIMEOUTS.connectMs)
    if (login.kind !== 'in') return lost[0] ?? login.reason
    find('ok', 'the password is right, and it sends events')
    await checkEslRights(source, commands, find)
    if (source.tenants !== undefined) for (const value of await eslTenants(source.tenants, commands)) tenants.add(value)
    return undefined
  } finally {
    socket.close()
  }
}

async function checkEslRights(source: PbxSource, commands: Commands, find: Find): Promise<void> {
  if (source.secret === 'ClueCon') {
    const level = isLoopbackHost(source.host) ? 'advice' : 'missing'
    find(level, 'the password is the default one (ClueCon), which everybody knows: change it in event_socket.conf.xml')
  }
  const reply = await requestEslInventory(commands)
  checkEndpoints(source, reply, {
    find,
    right: 'allow its user these commands, or load their modules',
    questions: QUESTIONS,
  })
  const channels = await commands.send('api show channels as json')
  const count = /"row_count":\s*(\d+)/.exec(channels?.body ?? '')?.[1]
  if (count !== undefined) find('ok', `it lists its channels: ${count} now`)
  else
    find(
      'missing',
      'it does not list its channels, so that calls cannot be followed across a lost connection: allow "api show"',
    )
}
