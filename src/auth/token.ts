const PREFIX = 'hks_'
const RANDOM_BYTES = 32
const SHAPE = /^hks_[A-Za-z0-9_-]{43}$/

/** Creates an opaque token of 256 random bits. It is shown once; only its hash is stored. */
export function newToken(): string {
  return PREFIX + Buffer.from(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES))).toString('base64url')
}

/** Returns the hash under which a token is stored; `undefined` if the text is not a token. */
export function tokenHash(token: string): string | undefined {
  return SHAPE.test(token) ? new Bun.CryptoHasher('sha256').update(token).digest('hex') : undefined
}

/**
 * Returns the hash under which a token for the pop page is stored. It is another one than `tokenHash`, because a node
 * of an earlier version takes every token that it finds for one with all rights of its user: this one it never finds.
 */
export function popTokenHash(token: string): string {
  return new Bun.CryptoHasher('sha256').update(`pop ${token}`).digest('hex')
}

/** Short enough to read, and long enough to be unique among the tokens of a user. */
const ID_CHARACTERS = 16

/** Returns the id by which the user knows a token: the start of its hash, from which the token cannot be derived. */
export function tokenId(hash: string): string {
  return hash.slice(0, ID_CHARACTERS)
}

export function hashOf(token: string): string {
  const hash = tokenHash(token)
  if (hash === undefined) throw new Error('this is not a token')
  return hash
}
