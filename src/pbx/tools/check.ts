import { isLoopbackHost, type PbxSource } from '../../lib/pbx-url.ts'
import { createDialogue, type Dialogue } from '../ami/actions.ts'
import { AmiDecoder, type AmiFrame } from '../ami/decoder.ts'
import type { EventClass } from '../ami/events.ts'
import { askInventory, LISTS } from '../ami/inventory.ts'
import { logIn } from '../ami/login.ts'
import type { Learned } from '../connection/inventory-refresh.ts'
import { openLink } from '../connection/socket.ts'
import { PATIENCE } from '../connection/timeouts.ts'
import { lineOf, SETTING } from '../endpoint-summary.ts'
import { createEndpoints } from '../endpoints.ts'
import { createEslDialogue, type EslDialogue } from '../esl/commands.ts'
import { EslDecoder } from '../esl/decoder.ts'
import { SUBSCRIPTION } from '../esl/events.ts'
import { askEslInventory, QUESTIONS } from '../esl/inventory.ts'
import { logInToEsl } from '../esl/login.ts'

/** `ok`: fine. `missing`: calls are told wrong, or not at all. `advice`: more could be told, or it could be safer. */
export type Finding = { readonly level: 'ok' | 'missing' | 'advice'; readonly text: string }

/** Connects, logs in, looks for `listenMs` (0: not at all) at the events, and says what can be seen and what is missing. */
export async function checkPbx(source: PbxSource, listenMs: number): Promise<Finding[]> {
  const findings: Finding[] = []
  const find = (level: Finding['level'], text: string): void => void findings.push({ level, text })
  const problem = await (source.protocol === 'esl' ? checkEsl(source, find) : checkAmi(source, listenMs, find))
  if (problem !== undefined) find('missing', `${problem}${mendOf(problem, source.protocol)}`)
  return findings
}

const WHERE = {
  ami: 'is Asterisk running there, with enabled = yes, this port and a bindaddr that we reach in [general] of manager.conf?',
  amis: 'is Asterisk running there, with tlsenable = yes and this port as tlsbindaddr in [general] of manager.conf?',
  esl: 'is FreeSWITCH running there, with mod_event_socket loaded, and this listen-port and a listen-ip that we reach in event_socket.conf.xml?',
} as const

/** What to look at when no more could be found out; empty where the problem says it itself. */
function mendOf(problem: string, protocol: PbxSource['protocol']): string {
  if (problem.startsWith('it refuses the user'))
    return ': look at its section of manager.conf (secret, deny, permit), then: asterisk -rx "manager reload"'
  if (problem === 'it refuses the password') return ': look at <param name="password"> in event_socket.conf.xml'
  if (problem.endsWith('no such host')) return ': look at the name in the URL'
  return /^cannot connect|closed|says nothing/.test(problem) ? `: ${WHERE[protocol]}` : ''
}

type Find = (level: Finding['level'], text: string) => void

async function checkAmi(source: PbxSource, listenMs: number, find: Find): Promise<string | undefined> {
  const { promise: opened, resolve } = Promise.withResolvers<string | undefined>()
  const decoder = new AmiDecoder()
  const events: AmiFrame[] = []
  const link = openLink(
    { host: source.host, port: source.port, tls: source.protocol === 'amis' ? { caFile: source.caFile } : undefined },
    {
      open: () => resolve(undefined),
      data(chunk) {
        for (const frame of decoder.push(chunk))
          if (!dialogue.take(frame) && frame.type === 'event' && events.length < MAX_EVENTS) events.push(frame)
      },
      close(reason) {
        resolve(reason)
        dialogue.close()
      },
    },
  )
  const dialogue = createDialogue((text) => link.write(text), PATIENCE)
  try {
    const problem = await opened
    if (problem !== undefined) return problem
    find(
      'ok',
      `${source.host}:${source.port} answers${source.protocol === 'amis' ? ', and its certificate is right' : ''}`,
    )
    if (source.protocol === 'ami' && !isLoopbackHost(source.host))
      find(
        'advice',
        'the events cross the network unencrypted: use amis:// (tlsenable = yes in manager.conf), or a VPN',
      )
    const login = await logIn(source, dialogue)
    if (login.kind !== 'in') return login.reason
    find('ok', `the user ${source.user} may log in`)
    await checkAmiRights(dialogue, find)
    checkEndpoints(source, await askInventory(source, dialogue), { find, right: 'add write = reporting', tells: LISTS })
    if (listenMs > 0) {
      await Bun.sleep(listenMs)
      judgeEvents(events, listenMs, find)
    }
    return undefined
  } finally {
    link.close()
  }
}

const MAX_EVENTS = 100_000
const TOO_POWERFUL = ['Command', 'Originate', 'Redirect', 'UpdateConfig', 'GetConfig', 'Setvar', 'ModuleLoad', 'AGI']

async function checkAmiRights(dialogue: Dialogue, find: Find): Promise<void> {
  const channels = await dialogue.list({ Action: 'Status' })
  const fallback = channels.kind === 'rows' ? channels : await dialogue.list({ Action: 'CoreShowChannels' })
  if (fallback.kind === 'rows') find('ok', `it says what is up: ${fallback.rows.length} channels now`)
  else
    find(
      'missing',
      'it does not say what is up, so that calls cannot be mended after a lost connection: add write = reporting',
    )
  if ((await dialogue.ask({ Action: 'CoreStatus' })).kind !== 'reply')
    find(
      'advice',
      'it does not say when it was started, so that a restart is only noticed by its calls: add write = reporting',
    )
  const commands = await dialogue.ask({ Action: 'ListCommands' })
  const excess = commands.kind === 'reply' ? TOO_POWERFUL.filter((name) => commands.frame.has(name)) : []
  if (excess.length > 0)
    find('advice', `its user may do more than watch (${excess.join(', ')}): write = reporting is all that is needed`)
}

type Questions = readonly (readonly [question: string, tells: string])[]

/** What its endpoints are taken for, and why; `right`: what to do where it does not say. */
function checkEndpoints(
  source: PbxSource,
  { inventory, denied }: Learned,
  { find, right, tells }: { readonly find: Find; readonly right: string; readonly tells: Questions },
): void {
  if (inventory === undefined) {
    find('advice', 'it does not answer what is configured, so that calls alone show which endpoints are phones')
    return
  }
  const missing = tells.flatMap(([question, what]) => (denied.includes(question) ? `${what} (${question})` : []))
  if (missing.length > 0) find('advice', `it does not say ${missing.join(', ')}: ${right}`)
  const endpoints = createEndpoints(source)
  endpoints.configure(inventory)
  const known = endpoints.list()
  for (const kind of ['trunk', 'extension'] as const) {
    const line = lineOf(known, kind)
    if (line !== null) find('ok', line)
  }
  const undecided = lineOf(known, null)
  if (undecided !== null) find('advice', `${undecided}: calls will show, or ${SETTING}`)
}

const CLASSES: Readonly<Record<Exclude<EventClass, 'cdr'>, string>> = {
  call: 'calls are not told without it',
  agent: 'queues are not told without it',
  dialplan: 'names of recordings, and chosen variables, are not known without it',
  system: 'a restart or shutdown of Asterisk is noticed late without it',
}

function judgeEvents(events: readonly AmiFrame[], listenMs: number, find: Find): void {
  const seen = new Set(events.flatMap((event) => event.get('Privilege').toLowerCase().split(',')))
  const seconds = Math.round(listenMs / 1_000)
  for (const [name, use] of Object.entries(CLASSES))
    if (seen.has(name)) find('ok', `events of class ${name} come`)
    else find('advice', `no event of class ${name} came within ${seconds} s: is it in read = …? ${use}`)
  // What greets us at the login never has one.
  const live = events.filter((event) => event.name !== 'FullyBooted')
  if (live.length > 0 && !live.some((event) => event.has('Timestamp')))
    find('advice', 'events have no time of their own: set timestampevents = yes in manager.conf')
  if (!seen.has('cdr'))
    find('advice', 'no call detail record came: cdr_manager.conf with enabled = yes adds what it maps (optional)')
}

async function checkEsl(source: PbxSource, find: Find): Promise<string | undefined> {
  const { promise: asked, resolve } = Promise.withResolvers<string | undefined>()
  const decoder = new EslDecoder()
  const link = openLink(
    { host: source.host, port: source.port },
    {
      open: () => find('ok', `${source.host}:${source.port} answers`),
      data(chunk) {
        for (const frame of decoder.push(chunk)) {
          if (frame.contentType === 'auth/request') resolve(undefined)
          else if (frame.contentType === 'text/rude-rejection')
            resolve('its access list refuses our address: see event_socket.conf.xml')
          else dialogue.take(frame)
        }
      },
      close(reason) {
        resolve(reason)
        dialogue.close()
      },
    },
  )
  const dialogue = createEslDialogue((text) => link.write(text), PATIENCE.replyMs, resolve)
  const late = setTimeout(() => resolve('it accepts the connection, and says nothing'), PATIENCE.connectMs)
  try {
    const problem = await asked
    if (problem !== undefined) return problem
    const login = await logInToEsl(source, dialogue, SUBSCRIPTION)
    if (login.kind !== 'in') return login.reason
    find('ok', 'the password is right, and events may be had')
    await checkEslRights(source, dialogue, find)
    return undefined
  } finally {
    clearTimeout(late)
    link.close()
  }
}

async function checkEslRights(source: PbxSource, dialogue: EslDialogue, find: Find): Promise<void> {
  if (source.secret === 'ClueCon') {
    const level = isLoopbackHost(source.host) ? 'advice' : 'missing'
    find(level, 'the password is the default one (ClueCon), which everybody knows: change it in event_socket.conf.xml')
  }
  const learned = await askEslInventory(dialogue)
  checkEndpoints(source, learned, {
    find,
    right: 'its user may not ask, or the module is not loaded',
    tells: QUESTIONS,
  })
  const channels = await dialogue.ask('api show channels as json')
  const count = /"row_count":\s*(\d+)/.exec(channels?.body ?? '')?.[1]
  if (count !== undefined) find('ok', `it says what is up: ${count} channels now`)
  else
    find(
      'missing',
      'it does not say what is up, so that calls cannot be mended after a lost connection: allow "api show"',
    )
}
