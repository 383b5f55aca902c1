import { createHash } from 'node:crypto'
import type { LoginOutcome } from '../connection/protocol.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import type { Actions, AmiReply } from './actions.ts'
import { EVENT_CLASSES, type EventClass } from './events.ts'

/**
 * Logs in by MD5 challenge, so that the secret is not sent; in plain text only over TLS. Subscribes to the event
 * classes that are read (by default all that are wanted). `greeting` returns the first line of the connection. An
 * Asterisk that is too old is refused.
 */
export async function logIn(
  source: PbxSource,
  actions: Actions,
  greeting: () => string,
  classes: readonly EventClass[] = EVENT_CLASSES,
): Promise<LoginOutcome> {
  const challenge = await actions.send({ Action: 'Challenge', AuthType: 'MD5' })
  if (challenge.kind === 'unanswered') return { kind: 'lost', reason: challenge.message }
  if (isTooOld(greeting())) return { kind: 'refused', reason: `${TOO_OLD} (${greeting()})` }
  const proof = proofOf(source, challenge)
  if (proof === undefined)
    return {
      kind: 'refused',
      reason: 'it offers no MD5 challenge, and a plain-text login is only allowed over TLS: use amis://',
    }
  // Asterisk leaves out classes that the user may not read.
  const reply = await actions.send({
    Action: 'Login',
    Username: source.user,
    ...proof,
    Events: classes.length === 0 ? 'off' : classes.join(','),
  })
  if (reply.kind === 'reply' || reply.kind === 'rows') return { kind: 'in' }
  if (reply.kind === 'unanswered') return { kind: 'lost', reason: reply.message }
  return { kind: 'refused', reason: `it refuses the user ${source.user}: ${reply.message}` }
}

const TOO_OLD =
  'its Asterisk is older than 13.5, and its events do not state which channels belong to one call: upgrade it'

/** Events have a `Linkedid` since version 2.8 of the protocol, in Asterisk 13.5. */
function isTooOld(greeting: string): boolean {
  const [, major = '', minor = ''] = /^Asterisk Call Manager\/(\d{1,3})\.(\d{1,3})/.exec(greeting) ?? []
  if (major === '') return false
  return Number(major) < 2 || (Number(major) === 2 && Number(minor) < 8)
}

function proofOf(source: PbxSource, challenge: AmiReply): Record<string, string> | undefined {
  const text = challenge.kind === 'reply' ? challenge.frame.get('Challenge') : ''
  if (text !== '') return { AuthType: 'MD5', Key: md5(text + source.secret) }
  return source.protocol === 'amis' ? { Secret: source.secret } : undefined
}

const md5 = (text: string): string => createHash('md5').update(text).digest('hex')
