import { type NowUs, SECOND } from '../lib/time.ts'
import type { UserOfToken } from '../store/operations/accounts.ts'
import type { Store } from '../store/store.ts'
import { popTokenHash, tokenHash } from './token.ts'

/**
 * The user and token of a request. `name`: the name of an API token, `null` of a login; `tokenHash`: the hash under
 * which it is stored.
 */
export type Session = Omit<UserOfToken, 'lastUsedUs'> & { lastUsedUs: number | null }

/** The size of the session cache, more than a customer has systems; beyond it each request reads the store. */
const MAX_SESSIONS = 10_000
/** The last use of a token is only for people to read, so it is written at most once in this time. */
const NOTE_USE_EVERY_US = 300 * SECOND

type Sessions = {
  /** Returns the session of a token, synchronously if it is cached; `undefined` if the token is unknown. */
  get(token: string): Session | undefined | Promise<Session | undefined>
  /** Empties the cache, because tokens were revoked or another process changed the store. */
  forget(): void
}

/** Creates the cache of sessions, by the hash of their tokens. */
export function createSessions(accounts: Store['accounts'], now: NowUs): Sessions {
  const sessions = new Map<string, Session>()
  /** Counts invalidations of the cache, so that a look-up that started before one is not cached. */
  let generation = 0

  function forget(): void {
    generation += 1
    sessions.clear()
  }

  async function lookUp(token: string, hash: string): Promise<Session | undefined> {
    const before = generation
    const found = await accounts.userGetByToken(hash, popTokenHash(token))
    if (found === undefined) return undefined
    const session: Session = { ...found }
    if (before === generation && sessions.size < MAX_SESSIONS) sessions.set(hash, session)
    noteUse(session)
    return session
  }

  function noteUse(session: Session): void {
    const { lastUsedUs, tokenHash: hash } = session
    const atUs = now()
    // The absolute difference, because the clock may have been set back.
    if (lastUsedUs !== null && Math.abs(atUs - lastUsedUs) < NOTE_USE_EVERY_US) return
    session.lastUsedUs = atUs
    // The request does not fail when the store cannot be written.
    accounts.tokenSetUsed({ tokenHash: hash, atUs }).catch(() => {})
  }

  return {
    get(token) {
      const hash = tokenHash(token)
      if (hash === undefined) return undefined
      const cached = sessions.get(hash)
      if (cached === undefined) return lookUp(token, hash)
      noteUse(cached)
      return cached
    },
    forget,
  }
}
