import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { FieldError } from '../../lib/fault.ts'
import { objectOf } from '../../lib/foreign-json.ts'
import { rfc3339 } from '../../lib/time.ts'
import type { ClientTls } from '../../outbound/client-tls.ts'
import type { WebhookOptionsRecord } from '../../store/operations/webhooks.ts'

/** The certificates of a webhook, as they are stored: the key is among the secrets of its options. */
export type TlsOption = NonNullable<WebhookOptionsRecord['tls']>

/** The certificates of a webhook, as they are sent. */
type SentTls = { readonly certificate?: string | null; readonly key?: string | null; readonly ca?: string | null }

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
const NO_CERTIFICATE = 'must be a certificate in PEM: -----BEGIN CERTIFICATE-----, then base64'
const NO_KEY = 'must be a private key in PEM: -----BEGIN PRIVATE KEY-----, then base64'
const HAS_PASSPHRASE = 'has a passphrase: remove it, as with openssl pkey -in key.pem -out plain.pem'
const OTHER_KEY = 'is not the key of this certificate'

/** Returns the errors of the option `tls`. Called before the schema has accepted it. */
export function tlsErrors(tls: unknown, url: unknown): FieldError[] {
  const { certificate, key, ca } = objectOf(tls)
  if ([certificate, key, ca].every((one) => one == null)) return []
  const errors: FieldError[] = []
  const add = (path: string, message: string) => errors.push({ path: `/tls${path}`, message })
  if (typeof url === 'string' && !/^(https|mqtts):/i.test(url)) add('', 'needs a URL with https: or mqtts:')
  if (typeof ca === 'string' && certificatesIn(ca) === undefined) add('/ca', NO_CERTIFICATE)
  const shown = typeof certificate === 'string' ? certificatesIn(certificate) : undefined
  if (typeof certificate === 'string' && shown === undefined) add('/certificate', NO_CERTIFICATE)
  if (typeof key !== 'string') return errors
  if (certificate == null) add('/certificate', 'is missing: a key belongs to a certificate')
  const read = keyIn(key)
  if (typeof read === 'string') add('/key', read)
  else if (shown !== undefined && !shown[0].checkPrivateKey(read)) add('/key', OTHER_KEY)
  return errors
}

/**
 * Separates the key from checked certificates. The key of the secret names the public key: it is kept for a renewed
 * certificate of the same key, and for no other.
 */
export function separateTls(sent: SentTls | null | undefined): {
  readonly tls: TlsOption | null
  readonly secret: { readonly key: string; readonly value: string | null } | undefined
} {
  const { certificate = null, ca = null, key = null } = sent ?? {}
  if (certificate === null) return { tls: ca === null ? null : { certificate, ca }, secret: undefined }
  return { tls: { certificate, ca }, secret: { key: secretKeyOf(certificate), value: key } }
}

/** Returns the certificates and authorities for handshakes; `undefined`: the defaults alone. */
export function clientTlsOf({
  tls,
  flowSecrets,
}: Pick<WebhookOptionsRecord, 'tls' | 'flowSecrets'>): ClientTls | undefined {
  if (tls === null) return undefined
  const { certificate, ca } = tls
  const key = certificate === null ? undefined : flowSecrets[secretKeyOf(certificate)]
  const id = createHash('sha256')
    .update(JSON.stringify([certificate, ca]))
    .digest('hex')
  return {
    id,
    ...(certificate === null || key === undefined ? {} : { cert: certificate, key }),
    ...(ca === null ? {} : { ca }),
  }
}

/** Returns since when a certificate has expired and that it has; `undefined` if none has. */
export function tlsProblem(tls: TlsOption | null, nowUs: number): { since: string; message: string } | undefined {
  for (const [name, pem] of [
    ['client certificate', tls?.certificate],
    ['certificate authority', tls?.ca],
  ] as const) {
    const ends = (pem == null ? undefined : certificatesIn(pem))?.map(({ validTo }) => Date.parse(validTo) * 1_000)
    const sinceUs = Math.min(...(ends ?? []))
    if (sinceUs < nowUs) {
      const since = rfc3339(sinceUs)
      return { since, message: `the ${name} has expired: receivers may refuse the requests; set a new one in tls` }
    }
  }
  return undefined
}

function secretKeyOf(certificate: string): string {
  const der = certificatesIn(certificate)?.[0].publicKey.export({ type: 'spki', format: 'der' }) ?? ''
  return `tls/${createHash('sha256').update(der).digest('hex')}/key`
}

/** Returns the certificates of a text, the first its owner's; `undefined` if it has none, or one cannot be read. */
function certificatesIn(pem: string): readonly [X509Certificate, ...X509Certificate[]] | undefined {
  try {
    const [first, ...others] = (pem.match(CERTIFICATE) ?? []).map((one) => new X509Certificate(one))
    return first === undefined ? undefined : [first, ...others]
  } catch {
    return undefined
  }
}

/** Returns a private key, or why a text is no private key. */
function keyIn(pem: string): KeyObject | string {
  if (/ENCRYPTED/.test(pem)) return HAS_PASSPHRASE
  try {
    return createPrivateKey(pem)
  } catch {
    return NO_KEY
  }
}
