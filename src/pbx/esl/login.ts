import type { PbxSource } from '../../lib/pbx-url.ts'
import type { EslDialogue } from './commands.ts'

export type Login =
  | { readonly kind: 'in' }
  /** `refused`: it would be refused again. */
  | { readonly kind: 'refused' | 'lost'; readonly reason: string }

/** Logs in and subscribes. A user (`userauth`) may see less than the password alone does. */
export async function logInToEsl(source: PbxSource, dialogue: EslDialogue, subscription: string): Promise<Login> {
  const command = source.user === '' ? `auth ${source.secret}` : `userauth ${source.user}:${source.secret}`
  if (/[\r\n\0]/.test(command)) return { kind: 'refused', reason: 'the user or the password holds a line end' }
  const login = await dialogue.ask(command)
  if (login === undefined) return { kind: 'lost', reason: 'the connection is closed' }
  if (!login.get('Reply-Text').startsWith('+OK')) return { kind: 'refused', reason: 'it refuses the password' }
  const events = await dialogue.ask(`event json ${subscription}`)
  if (events === undefined) return { kind: 'lost', reason: 'the connection is closed' }
  const text = events.get('Reply-Text')
  return text.startsWith('+OK') ? { kind: 'in' } : { kind: 'refused', reason: `it refuses to tell events: ${text}` }
}
