import { createHash } from 'node:crypto'
import type { PbxSource } from '../../lib/pbx-url.ts'
import type { AmiReply, Dialogue } from './actions.ts'
import { EVENT_CLASSES } from './events.ts'

export type Login =
  | { readonly kind: 'in' }
  /** `refused`: it would be refused again, and be noticed by what bans addresses. */
  | { readonly kind: 'refused' | 'lost'; readonly reason: string }

/** Logs in by MD5 challenge, so that the secret is not sent; plainly over TLS alone. */
export async function logIn(source: PbxSource, dialogue: Dialogue): Promise<Login> {
  const challenge = await dialogue.ask({ Action: 'Challenge', AuthType: 'MD5' })
  if (challenge.kind === 'silent') return { kind: 'lost', reason: challenge.message }
  const proof = proofOf(source, challenge)
  if (proof === undefined)
    return {
      kind: 'refused',
      reason: 'it offers no MD5 challenge, and a plain login is made over TLS alone: use amis://',
    }
  const reply = await dialogue.ask({
    Action: 'Login',
    Username: source.user,
    ...proof,
    Events: EVENT_CLASSES.join(','),
  })
  if (reply.kind === 'reply' || reply.kind === 'rows') return { kind: 'in' }
  if (reply.kind === 'silent') return { kind: 'lost', reason: reply.message }
  return { kind: 'refused', reason: `it refuses the user ${source.user}: ${reply.message}` }
}

function proofOf(source: PbxSource, challenge: AmiReply): Record<string, string> | undefined {
  const text = challenge.kind === 'reply' ? challenge.frame.get('Challenge') : ''
  if (text !== '') return { AuthType: 'MD5', Key: md5(text + source.secret) }
  return source.protocol === 'amis' ? { Secret: source.secret } : undefined
}

const md5 = (text: string): string => createHash('md5').update(text).digest('hex')
