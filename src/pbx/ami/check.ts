import { isLoopbackHost } from '../../lib/loopback-host.ts'
import { checkEndpoints } from '../connection/endpoint-findings.ts'
import { type Check, type Find, type Found, MAX_BYTES, TOO_MUCH, withAdvice } from '../connection/finding.ts'
import { addressOf, openSocket } from '../connection/socket.ts'
import { TIMEOUTS } from '../connection/timeouts.ts'
import { cleanValue } from '../endpoints/sanitize.ts'
import { hostAndPort, type PbxSource, type TenantRule } from '../source/pbx-url.ts'
import { type Actions, createActions } from './actions.ts'
import { checkCalls } from './check-calls.ts'
import { AmiDecoder } from './decoder.ts'
import type { EventClass } from './events.ts'
import type { AmiFrame } from './frame.ts'
import { LISTS, requestInventory } from './inventory.ts'
import { logIn } from './login.ts'
import { READ_LINE, WRITE_LINE } from './manager-conf.ts'

/** Checks an Asterisk. */
export const checkAmi: Check = async (source, listenMs, found) => {
  const problem = await findProblem(source, listenMs, found)
  if (problem?.startsWith('it refuses the user'))
    return `${problem}: check its section of manager.conf (secret, deny, permit), then run asterisk -rx "manager reload"`
  return problem && withAdvice(problem, source.protocol === 'amis' ? WHERE_TLS : WHERE)
}

const WHERE =
  'is Asterisk running there, with enabled = yes, this port and a bindaddr that can be reached from here in [general] of manager.conf?'
const WHERE_TLS =
  'is Asterisk running there, with tlsenable = yes and this port as tlsbindaddr in [general] of manager.conf?'

async function findProblem(source: PbxSource, listenMs: number, { find, tenants }: Found): Promise<string | undefined> {
  const socket = openSocket(addressOf(source), TIMEOUTS.connectMs)
  const actions = createActions(socket.write, TIMEOUTS)
  const decoder = new AmiDecoder({ idPrefix: actions.idPrefix })
  const watched = watchEvents(source)
  void socket.closed.then(actions.close)
  try {
    if (!(await socket.opened)) return await socket.closed
    socket.read((chunk) => {
      for (const frame of decoder.push(chunk))
        if (!actions.receive(frame) && frame.type === 'event') watched.note(frame)
      // More events would show nothing new, and a PBX can send for ever.
      if (decoder.consumed > MAX_BYTES) find('advice', TOO_MUCH)
      if (decoder.consumed > MAX_BYTES || decoder.fault !== undefined) socket.close()
    })
    find('ok', `${hostAndPort(source)} answers${source.protocol === 'amis' ? ', and its certificate is valid' : ''}`)
    if (source.protocol === 'ami' && !isLoopbackHost(source.host))
      find(
        'advice',
        'the events cross the network unencrypted: use amis:// (tlsenable = yes in manager.conf), or a VPN',
      )
    const login = await logIn(source, actions, () => decoder.greeting)
    if (login.kind !== 'in') return decoder.fault ?? login.reason
    find('ok', `the user ${source.user} may log in`)
    const channels = await checkRights(source, actions, find)
    const reply = await requestInventory(source, actions)
    checkEndpoints(source, reply, { find, questions: LISTS, right: 'add write = reporting', line: WRITE_LINE })
    await checkCalls(source, find)
    if (source.custom !== undefined)
      find(
        'advice',
        'events of the dialplan (custom=) need user in read = …; whether it is there shows with the first',
        READ_LINE,
      )
    if (listenMs > 0) {
      await Promise.race([Bun.sleep(listenMs), socket.closed])
      judgeEvents(watched, listenMs, find)
    }
    const shown = source.tenants === undefined ? [] : tenantValues(source.tenants, channels)
    for (const value of [...watched.tenants, ...shown]) tenants.add(value)
    return undefined
  } finally {
    socket.close()
  }
}

/** More customers than a PBX has. */
const MAX_TENANTS = 10_000

/** The facts in the events of a check; the events themselves are not kept. */
type WatchedEvents = {
  note(event: AmiFrame): void
  readonly classes: ReadonlySet<string>
  readonly tenants: ReadonlySet<string>
  /** Returns whether events arrived besides the greeting, and whether one of them had a time stamp. */
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
      // The greeting event after the login never has a time stamp.
      if (event.name !== 'FullyBooted') live += 1
      if (event.has('Timestamp')) stamped += 1
      if (rule !== undefined && tenants.size < MAX_TENANTS)
        for (const value of tenantValues(rule, [event])) tenants.add(value)
    },
    classes,
    tenants,
    hasLive: () => live > 0,
    hasTimestamps: () => stamped > 0,
  }
}

const TOO_POWERFUL = ['Command', 'Originate', 'Redirect', 'UpdateConfig', 'GetConfig', 'Setvar', 'ModuleLoad', 'AGI']

/** Reports the permissions of the user; returns the channels that are up. */
async function checkRights(source: PbxSource, actions: Actions, find: Find): Promise<readonly AmiFrame[]> {
  const variable = source.tenants?.variable
  const channels = await actions.list({ Action: 'Status', ...(variable ? { Variables: variable } : {}) })
  const fallback = channels.kind === 'rows' ? channels : await actions.list({ Action: 'CoreShowChannels' })
  if (fallback.kind === 'rows') find('ok', `it lists its channels: ${fallback.rows.length} now`)
  else
    find(
      'missing',
      'it does not list its channels, so calls cannot be followed across a lost connection: add write = reporting',
      WRITE_LINE,
    )
  if ((await actions.send({ Action: 'CoreStatus' })).kind !== 'reply')
    find(
      'advice',
      'it does not show its start time, so a restart is noticed only by its calls: add write = reporting',
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

const CLASSES: Readonly<Record<Exclude<EventClass, 'cdr' | 'user'>, string>> = {
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

/** Returns the tenant values in events and listed channels of an Asterisk. */
function tenantValues({ by, variable }: TenantRule, frames: readonly AmiFrame[]): Set<string> {
  return new Set(frames.flatMap((frame) => frameValues(frame)).flatMap((value) => cleanValue(value) ?? []))

  function frameValues(frame: AmiFrame): string[] {
    if (by === 'accountcode') return [frame.get('AccountCode'), frame.get('DestAccountCode')]
    if (by === 'context') return [frame.get('Context'), frame.get('DestContext')]
    const own = frame.get('Variable') === variable ? [frame.get('Value')] : []
    const prefix = `${variable}=`
    const listed = [...frame.all('Variable'), ...frame.all('ChanVariable')].filter((pair) => pair.startsWith(prefix))
    return [...own, ...listed.map((pair) => pair.slice(prefix.length))]
  }
}
