const PREFIX = 'hks_'
const RANDOM_BYTES = 32
const SHAPE = /^hks_[A-Za-z0-9_-]{43}$/

/** A new opaque token: 256 random bits. It is shown once; only its hash is stored. */
export function newToken(): string {
  return PREFIX + Buffer.from(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES))).toString('base64url')
}

/** What is stored of a token. @returns `undefined` if the text cannot be one. */
export function tokenHash(token: string): string | undefined {
  return SHAPE.test(token) ? new Bun.CryptoHasher('sha256').update(token).digest('hex') : undefined
}

/** Short enough to read, and long enough that no two tokens of a user share one. */
const ID_CHARACTERS = 16

/** Returns the id under which a token's owner sees it: the beginning of its hash, which says nothing about the token. */
export function tokenId(hash: string): string {
  return hash.slice(0, ID_CHARACTERS)
}

/** Returns the hash of a token that was just made. */
export function hashOf(token: string): string {
  const hash = tokenHash(token)
  if (hash === undefined) throw new Error('a new token has the shape of one')
  return hash
}
