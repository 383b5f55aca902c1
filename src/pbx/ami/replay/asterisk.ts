import type { Conversation, Persona, ReplayClient } from '../../recorded/persona.ts'
import type { RecordedStep } from '../../recorded/recording.ts'
import type { AmiFrame } from '../decoder.ts'
import { type AmiConfigured, completeOf } from './inventory.ts'
import { amiSteps, createLiveAmiChannels } from './snapshot.ts'

/** The difference of two uptimes of one run, each in whole seconds. */
const TOLERANCE_MS = 2_000
const CAPABLE = ['Status', 'CoreShowChannels', 'CoreStatus', 'BridgeList', 'Ping', 'Events', 'ListCommands', 'Logoff']

/** Returns an Asterisk that plays recordings. */
export function createAsterisk(): Persona {
  const live = createLiveAmiChannels()
  const frames = new WeakMap<RecordedStep, AmiFrame>()
  let bootMs = Number.NaN
  let configured: AmiConfigured | undefined
  let startedAt = new Date()

  return {
    load(recording) {
      const loaded = amiSteps(recording)
      live.reset(loaded.channels, loaded.beginMs)
      configured = loaded.configured
      for (const step of loaded.steps) frames.set(step, step.frame)
      const sameRun = Number.isNaN(loaded.bootMs) || Math.abs(loaded.bootMs - bootMs) < TOLERANCE_MS
      if (!sameRun) startedAt = new Date(Date.now() + loaded.bootMs - loaded.beginMs)
      if (!Number.isNaN(loaded.bootMs)) bootMs = loaded.bootMs
      return loaded
    },
    advance(step) {
      const frame = frames.get(step)
      if (frame !== undefined) live.apply(frame, step.atMs)
    },
    isQuiet: live.isEmpty,
    connect: (client) => converse(client, { live, frames, startedAt: () => startedAt, configured: () => configured }),
  }
}

type Fields = ReadonlyMap<string, string>

type Played = {
  readonly live: ReturnType<typeof createLiveAmiChannels>
  readonly frames: WeakMap<RecordedStep, AmiFrame>
  readonly startedAt: () => Date
  readonly configured: () => AmiConfigured | undefined
}

function converse(client: ReplayClient, { live, frames, startedAt, configured }: Played): Conversation {
  let input = ''
  let classes: ReadonlySet<string> | undefined
  let loggedIn = false

  const reply = (action: Fields, word: string, fields: Readonly<Record<string, string>>): void => {
    const id = action.get('actionid')
    const lines = Object.entries({ Response: word, ...(id === undefined ? {} : { ActionID: id }), ...fields })
    client.write(`${lines.map(([key, value]) => `${key}: ${value}\r\n`).join('')}\r\n`)
  }
  const logIn = (action: Fields): void => {
    const mask = action.get('events') ?? 'on'
    classes = /^(on|all|)$/i.test(mask) ? undefined : new Set(mask.toLowerCase().split(','))
    loggedIn = !/^off$/i.test(mask)
    reply(action, 'Success', { Message: 'Authentication accepted' })
    if (loggedIn) client.begin()
  }
  const lists: Readonly<Record<string, (id: string) => string>> = {
    status: (id) => live.status(id, client.nowMs()),
    coreshowchannels: (id) => live.channels(id, client.nowMs()),
    bridgelist: (id) => live.bridges(id),
  }
  const replies: Readonly<Record<string, () => Readonly<Record<string, string>>>> = {
    challenge: () => ({ Challenge: '117543270' }),
    ping: () => ({ Ping: 'Pong', Timestamp: (Date.now() / 1_000).toFixed(6) }),
    corestatus: () => startup(startedAt()),
    listcommands: () => Object.fromEntries(CAPABLE.map((name) => [name, '(Priv: <none>)'])),
    events: () => ({ Events: 'On' }),
    getvar: () => ({ Variable: '', Value: '' }),
  }
  /** Returns a list of the configuration, if the recording shows any of it. */
  const list = (name: string, id: string): string | undefined => {
    const complete = completeOf(name)
    const rows = complete === undefined ? undefined : configured()?.rows(name)
    return rows === undefined ? undefined : listOf(id, complete ?? '', rows)
  }
  const answer = (action: Fields): void => {
    const name = action.get('action')?.toLowerCase() ?? ''
    const id = action.get('actionid') ?? ''
    const text = lists[name]?.(id) ?? list(name, id)
    const fields = replies[name]
    if (name === 'login') logIn(action)
    else if (text !== undefined) client.write(text)
    else if (fields !== undefined) reply(action, 'Success', fields())
    else if (name === 'logoff') {
      reply(action, 'Goodbye', { Message: 'Thanks for all the fish.' })
      client.close()
    } else reply(action, 'Error', { Message: 'Permission denied' })
  }

  client.write('Asterisk Call Manager/11.0.0\r\n')
  return {
    data(chunk) {
      input = (input + Buffer.from(chunk).toString('utf8')).slice(-MAX_INPUT)
      const actions = input.split(/\r?\n\r?\n/)
      input = actions.pop() ?? ''
      for (const action of actions) answer(fieldsOf(action))
    },
    wants(step) {
      if (!loggedIn) return false
      const privilege = frames.get(step)?.get('Privilege').toLowerCase()
      return classes === undefined || !privilege || privilege.split(',').some((word) => classes?.has(word))
    },
    stop() {},
  }
}

function listOf(id: string, complete: string, rows: readonly Readonly<Record<string, string>>[]): string {
  const frame = (fields: Readonly<Record<string, string>>): string =>
    `${Object.entries(fields)
      .map(([key, value]) => `${key}: ${value}\r\n`)
      .join('')}\r\n`
  const event = ({ Event: name = 'ExtensionStatus', ...fields }: Readonly<Record<string, string>>): string =>
    frame({ Event: name, ActionID: id, ...fields })
  return [
    frame({ Response: 'Success', ActionID: id, EventList: 'start', Message: 'will follow' }),
    ...rows.map(event),
    frame({ Event: complete, ActionID: id, EventList: 'Complete', ListItems: String(rows.length) }),
  ].join('')
}

/** Actions are short: longer input without an end is not from a client. */
const MAX_INPUT = 65_536

function fieldsOf(text: string): Fields {
  const lines = text.split(/\r?\n/).map((line) => /^([^:]+):\s*(.*)$/.exec(line))
  return new Map(lines.flatMap((match) => (match === null ? [] : [[(match[1] ?? '').toLowerCase(), match[2] ?? '']])))
}

function startup(at: Date): Record<string, string> {
  const text = at.toISOString()
  return { CoreStartupDate: text.slice(0, 10), CoreStartupTime: text.slice(11, 19), CoreCurrentCalls: '0' }
}
