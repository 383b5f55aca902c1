import { timingSafeEqual } from 'node:crypto'

// Signing and verifying by the Standard Webhooks specification 1.0: HMAC-SHA256 over `id.timestamp.body`, in base64,
// with the version `v1`. Pure but for `newSecret`: the time is a parameter.

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** How far a timestamp may be from the receiver's clock, as in the specification's own libraries. */
const TOLERANCE_S = 5 * 60

/** Makes the text of a secret from 32 random bytes. */
function secretFrom(random: Uint8Array): string {
  if (random.length !== SECRET_BYTES) throw new RangeError(`a secret is made of ${SECRET_BYTES} bytes`)
  return PREFIX + Buffer.from(random).toString('base64')
}

/** Creates a signing secret. */
export const newSecret = () => secretFrom(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)))

type Signed = {
  readonly 'webhook-id': string
  readonly 'webhook-timestamp': string
  readonly 'webhook-signature': string
}

/** Returns the signature header: one signature per secret, the present one first, separated by spaces. */
export type Signer = (id: string, timestampS: number, body: string) => string

/** Returns a function that signs requests with one or several secrets. */
export function signerOf(secrets: readonly string[]): Signer {
  const keyed = secrets.map(
    (secret) => new Bun.CryptoHasher('sha256', Buffer.from(secret.slice(PREFIX.length), 'base64')),
  )
  const [first] = keyed
  return (id, timestampS, body) => {
    const head = `${id}.${timestampS}.`
    // Hashed in two pieces: putting them together would copy every body. A copy has hashed the key already.
    const sign = (one: Bun.CryptoHasher) => `v1,${one.copy().update(head).update(body).digest('base64')}`
    return keyed.length === 1 && first !== undefined ? sign(first) : keyed.map(sign).join(' ')
  }
}

/** Returns the signature header of a body that is read from a stream. */
export type StreamSigner = (id: string, timestampS: number, body: ReadableStream<Uint8Array>) => Promise<string>

/** Returns a function that signs streams with one or several secrets, a part at a time. */
export function streamSignerOf(secrets: readonly string[]): StreamSigner {
  const keys = secrets.map((secret) => Buffer.from(secret.slice(PREFIX.length), 'base64'))
  return async (id, timestampS, body) => {
    const hashers = keys.map((key) => new Bun.CryptoHasher('sha256', key).update(`${id}.${timestampS}.`))
    for await (const part of body) for (const hasher of hashers) hasher.update(part)
    return hashers.map((hasher) => `v1,${hasher.digest('base64')}`).join(' ')
  }
}

/** Returns why a signed request is refused, `undefined` if its signature is valid. Header names are in lower case. */
export function faultOfSigned(
  secret: string,
  headers: Readonly<Partial<Signed>>,
  body: string,
  nowS: number,
): string | undefined {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers
  if (id === undefined || timestamp === undefined || signature === undefined) return 'a webhook-* header is missing'
  const timestampS = Number(timestamp)
  if (!Number.isSafeInteger(timestampS)) return 'webhook-timestamp is not a number'
  if (Math.abs(nowS - timestampS) > TOLERANCE_S) return 'webhook-timestamp is more than 5 minutes from this clock'
  const expected = Buffer.from(signerOf([secret])(id, timestampS, body))
  const matches = signature.split(' ').some((one) => {
    const given = Buffer.from(one)
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
  return matches ? undefined : 'no signature matches the secret'
}
