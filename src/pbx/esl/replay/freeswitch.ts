import type { Conversation, Persona, ReplayClient } from '../../recorded/persona.ts'
import type { RecordedStep } from '../../recorded/recording.ts'
import type { EslEvent } from '../decoder.ts'
import { eslAnswerOf } from './inventory.ts'
import { createLiveEslChannels, type EslStep, eslSteps } from './snapshot.ts'

const HEARTBEAT_MS = 20_000

/** Returns a FreeSWITCH that plays recordings. */
export function createFreeswitch(): Persona {
  const live = createLiveEslChannels()
  const events = new WeakMap<RecordedStep, EslStep>()
  let core: string = crypto.randomUUID()
  let shown: readonly EslEvent[] = []

  return {
    load(recording) {
      const loaded = eslSteps(recording)
      live.begin(loaded)
      for (const step of loaded.steps) events.set(step, step)
      if (loaded.core !== '') core = loaded.core
      shown = loaded.steps.map(({ event }) => event)
      return loaded
    },
    advance(step) {
      const event = events.get(step)?.event
      if (event !== undefined) live.apply(event)
    },
    isQuiet: live.isEmpty,
    connect: (client) => converse(client, { live, events, core: () => core, shown: () => shown }),
  }
}

type Played = {
  readonly live: ReturnType<typeof createLiveEslChannels>
  readonly events: WeakMap<RecordedStep, EslStep>
  readonly core: () => string
  /** Returns all events of the recording. */
  readonly shown: () => readonly EslEvent[]
}

function converse(client: ReplayClient, { live, events, core, shown }: Played): Conversation {
  let input = ''
  let wanted = new Set<string>()
  /** Headers with the values that events may have; without any, all events may be sent. */
  const filters: Filter[] = []

  const reply = (text: string): void => client.write(`Content-Type: command/reply\nReply-Text: ${text}\n\n`)
  const respond = (body: string): void =>
    client.write(`Content-Type: api/response\nContent-Length: ${Buffer.byteLength(body)}\n\n${body}`)
  const heartbeat = setInterval(() => {
    if (!wanted.has('HEARTBEAT') && !wanted.has('ALL')) return
    send({ 'Event-Name': 'HEARTBEAT', 'Core-UUID': core() })
  }, HEARTBEAT_MS)

  const subscribe = (words: readonly string[], format: string): void => {
    wanted = new Set([...wanted, ...words])
    reply(`+OK event listener enabled ${format}`)
    client.begin()
  }
  const send = (event: Readonly<Record<string, string>>): void => {
    const body = JSON.stringify(event)
    client.write(`Content-Length: ${Buffer.byteLength(body)}\nContent-Type: text/event-json\n\n${body}`)
  }
  const runJob = (block: string): void => {
    const [line = '', ...headers] = block.split(/\r?\n/)
    const id = /^Job-UUID: (\S+)/i.exec(headers.find((header) => /^Job-UUID:/i.test(header)) ?? '')?.[1]
    const job = id ?? crypto.randomUUID()
    const output = eslAnswerOf(shown(), line.replace(/^bgapi\s+/, '').trim()) ?? '-ERR no reply\n'
    reply(`+OK Job-UUID: ${job}`)
    if (wanted.has('BACKGROUND_JOB') || wanted.has('ALL'))
      send({ 'Event-Name': 'BACKGROUND_JOB', 'Job-UUID': job, _body: output })
  }
  const answer = (line: string): void => {
    const [command = '', ...words] = line.trim().split(/\s+/)
    if (command === 'bgapi') runJob(line)
    else if (command === 'auth' || command === 'userauth') reply('+OK accepted')
    else if (command === 'event' || command === 'events') subscribe(words.slice(1), words[0] ?? 'plain')
    else if (command === 'filter') {
      filters.push(filterOf(words))
      reply('+OK filter added.')
    } else if (line.startsWith('api show channels')) respond(live.channels())
    else if (line.startsWith('api show calls')) respond(live.calls())
    else if (line.startsWith('api global_getvar core_uuid')) respond(core())
    else if (command === 'api') respond('-ERR no reply\n')
    else if (command === 'exit') {
      reply('+OK bye')
      client.close()
    } else reply('-ERR command not found')
  }

  client.write('Content-Type: auth/request\n\n')
  return {
    data(chunk) {
      input = (input + Buffer.from(chunk).toString('utf8')).slice(-MAX_INPUT)
      const commands = input.split(/\r?\n\r?\n/)
      input = commands.pop() ?? ''
      for (const command of commands) answer(command.trim())
    },
    wants(step) {
      const event = events.get(step)?.event
      if (event === undefined || wanted.size === 0) return false
      if (event.name === 'notice') return true
      if (filters.length > 0 && !filters.some((filter) => isPassed(filter, event))) return false
      if (wanted.has('ALL')) return true
      return wanted.has(event.name) && (event.name !== 'CUSTOM' || wanted.has(event.subclass))
    },
    stop: () => clearInterval(heartbeat),
  }
}

/** Commands are short: longer input without an end is not from a client. */
const MAX_INPUT = 65_536

type Filter = { readonly header: string; readonly value: RegExp | string }

/** Reads the arguments of `filter`: a header, and its value or a pattern between slashes. */
function filterOf([header = '', ...words]: readonly string[]): Filter {
  const text = words.join(' ')
  const [, pattern] = /^\/(.*)\/$/.exec(text) ?? []
  return { header, value: pattern === undefined ? text : new RegExp(pattern) }
}

function isPassed({ header, value }: Filter, event: EslEvent): boolean {
  const shown = event.get(header)
  return typeof value === 'string' ? shown.toLowerCase() === value.toLowerCase() : value.test(shown)
}
