import { Fault, type FieldError } from '../lib/fault.ts'
import { type NowUs, nowUs, rfc3339 } from '../lib/time.ts'
import type { TokenRecord } from '../store/operations/accounts.ts'
import type { Store } from '../store/store.ts'
import { mayCall, NO_CALLS } from './call-right.ts'
import type { NamedToken, NewToken, TokenInfo } from './model.ts'
import type { Session } from './sessions.ts'
import { hashOf, newToken, popTokenHash, tokenId } from './token.ts'

/** Checks the rules for new tokens that the schema cannot express. */
export function tokenRule(body: unknown): FieldError[] {
  if (typeof body !== 'object' || body === null || !('extension' in body)) return []
  const { extension } = body
  if (Reflect.get(body, 'pop') !== true)
    return [{ path: '/extension', message: 'is for a token with "pop": true alone' }]
  return typeof extension === 'string' && /\s/.test(extension)
    ? [{ path: '/extension', message: 'must be one extension, without spaces' }]
    : []
}

export type TokenService = ReturnType<typeof createTokenService>

/** Bounds the list: a script that logs in at each run creates any number of tokens. */
const MAX_LISTED = 200
const ID = /^[0-9a-f]{16}$/

type Dependencies = {
  accounts: Store['accounts']
  /** Called after a token was revoked, to empty the cache of sessions. */
  onRevoked: () => void
  /** Whether users who are no administrators may have calls made; a setting. */
  usersMayCall?: boolean
  now?: NowUs
}

/** Creates the service by which users list, create and revoke their own tokens. */
export function createTokenService({ accounts, onRevoked, usersMayCall = true, now = nowUs }: Dependencies) {
  return {
    /** Returns the user's tokens, most recently used first. */
    async list({ user, tokenHash }: Session): Promise<TokenInfo[]> {
      const rows = await accounts.tokenList(user.id, MAX_LISTED)
      return rows.map((row) => tokenInfo(row, tokenHash))
    },

    /**
     * Creates an API token and returns it; it cannot be read again.
     * @throws Fault 401 if the session was revoked in the meantime; 403 if the user may not give it the right to calls.
     */
    async create(session: Session, given: NewToken): Promise<NamedToken> {
      const { calls = false, pop = false, extension = null } = given
      const { user, tokenHash: madeWith } = session
      if (calls && !mayCall(session, usersMayCall)) throw new Fault('forbidden', NO_CALLS)
      const token = newToken()
      const tokenHash = pop ? popTokenHash(token) : hashOf(token)
      const made = { name: given.name.trim(), calls, pop, extension }
      const added = await accounts.tokenAddNamed({ ...made, userId: user.id, tokenHash, madeWith, atUs: now() })
      if (!added) throw new Fault('unauthenticated', 'This session has ended. Log in again.')
      return { id: tokenId(tokenHash), ...made, access_token: token }
    },

    /**
     * Revokes one of the user's tokens; the token of the session too.
     * @throws Fault 404 if the user has no token with this id.
     */
    async revoke({ user }: Session, id: string): Promise<void> {
      if (!ID.test(id) || !(await accounts.tokenDeleteOwn({ userId: user.id, id })))
        throw new Fault('not_found', 'You have no token with this id: GET /auth/token lists your tokens.')
      onRevoked()
    },
  }
}

/** Returns a token as the API shows it. `current`: the hash of the token of the request. */
export const tokenInfo = (
  { hash, name, calls, pop, extension, client, createdUs, lastUsedUs }: TokenRecord,
  current: string | undefined,
): TokenInfo => ({
  id: tokenId(hash),
  name,
  calls,
  pop,
  extension,
  client,
  created_at: rfc3339(createdUs),
  last_used_at: lastUsedUs === null ? null : rfc3339(lastUsedUs),
  current: hash === current,
})
