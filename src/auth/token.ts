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
