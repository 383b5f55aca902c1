import type { LoginOutcome } from '../connection/protocol.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import type { Commands } from './commands.ts'
import { APPLICATION_BEGINS, APPLICATION_ENDS, APPLICATION_FILTERS, subscriptionOf } from './events.ts'

const CLOSED: LoginOutcome = { kind: 'lost', reason: 'the connection is closed' }

/**
 * Awaits the greeting, logs in, and subscribes to the events that are read. A user (`userauth`) may see fewer events
 * than the password alone.
 */
export async function logIn(source: PbxSource, commands: Commands, greetingMs: number): Promise<LoginOutcome> {
  const outcome = await authenticate(source, commands, greetingMs)
  if (outcome.kind !== 'in') return outcome
  const subscription = await commands.send(`event json ${subscriptionOf(source.custom)}`)
  if (subscription === undefined) return CLOSED
  const text = subscription.get('Reply-Text')
  if (!text.startsWith('+OK')) return { kind: 'refused', reason: `it refuses to send events: ${text}` }
  void followApplications(commands)
  return outcome
}

/** Awaits the greeting and logs in. */
export async function authenticate(source: PbxSource, commands: Commands, greetingMs: number): Promise<LoginOutcome> {
  const command = source.user === '' ? `auth ${source.secret}` : `userauth ${source.user}:${source.secret}`
  if (/[\r\n\0]/.test(command)) return { kind: 'refused', reason: 'the user or password contains a line break' }
  if (!(await commands.greeting(greetingMs)))
    return { kind: 'lost', reason: 'it accepts the connection, but sends no greeting' }
  const login = await commands.send(command)
  if (login === undefined) return CLOSED
  if (!login.get('Reply-Text').startsWith('+OK')) return { kind: 'refused', reason: 'it refuses the password' }
  return { kind: 'in' }
}

/** Subscribes to the events of `bridge`, unless FreeSWITCH refuses a filter: it would send every application's. */
async function followApplications(commands: Commands): Promise<void> {
  for (const filter of APPLICATION_FILTERS) {
    const reply = await commands.send(`filter ${filter}`)
    if (reply?.get('Reply-Text').startsWith('+OK') !== true) return
  }
  await commands.send(`event json ${APPLICATION_BEGINS} ${APPLICATION_ENDS}`)
}
