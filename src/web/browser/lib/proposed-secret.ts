import { keep, readKept, removeKept } from './browser-storage.ts'

/**
 * The secrets that the form for a new PBX proposes: of the user who watches, and of the one who makes calls. They may
 * already be in the configuration of a PBX, so they stay the same over reloads and logins until a PBX is stored with
 * them. No other origin can read them.
 */
const KEYS = { watching: 'hookswitch.pbx-secret', calls: 'hookswitch.pbx-calls-secret' } as const
const SECRET_BYTES = 18

/** Returns the proposed secret of a user; makes the first one. */
export function proposedSecret(of: keyof typeof KEYS = 'watching'): string {
  const kept = readKept('browser', KEYS[of])
  if (kept !== null) return kept
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
  const secret = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  keep('browser', KEYS[of], secret)
  return secret
}

/** Forgets the proposed secrets: a PBX has been stored. */
export function forgetProposedSecret(): void {
  for (const key of Object.values(KEYS)) removeKept('browser', key)
}
