import { keep, readKept, removeKept } from './browser-storage.ts'

/**
 * The secret that the form for a new PBX proposes. It may already be in the configuration of a PBX, so it stays the
 * same over reloads and logins until a PBX is stored with it. No other origin can read it.
 */
const KEY = 'hookswitch.pbx-secret'
const SECRET_BYTES = 18

/** Returns the proposed secret; makes the first one. */
export function proposedSecret(): string {
  const kept = readKept('browser', KEY)
  if (kept !== null) return kept
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
  const secret = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  keep('browser', KEY, secret)
  return secret
}

/** Forgets the proposed secret: a PBX has been stored. */
export const forgetProposedSecret = (): void => removeKept('browser', KEY)
