const CODE_BYTES = 32
const CODE = /^[A-Za-z0-9_-]{43}$/

/** Creates the code of a link with which a user chooses a password: 256 random bits, stored as a hash. */
export const newCode = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(CODE_BYTES))).toString('base64url')

export const hashOfCode = (code: string): string => new Bun.CryptoHasher('sha256').update(code).digest('hex')

export const isCode = (text: string): boolean => CODE.test(text)
