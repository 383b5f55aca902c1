import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/**
 * Certificates for tests, made where they are used: nothing that runs out, and no private key in the repository. X.509 (RFC 5280) as
 * far as a server on a name needs it, in DER; the keys are P-256.
 */
type Issuer = { readonly name: string; readonly key: KeyObject; readonly pem: string }
export type Certified = { readonly cert: string; readonly key: string }

const DAY_MS = 86_400_000

/** Creates a certificate authority. */
export function newAuthority(name: string): Issuer {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const extensions = [extension('2.5.29.19', sequence(der(0x01, Buffer.from([0xff]))), true)]
  return { name, key: privateKey, pem: certificate({ name, key: privateKey }, name, publicKey, extensions) }
}

/** A certificate for these names and IPv4 addresses; without an issuer it is self-signed. `days`: until it runs out. */
export function certify(names: readonly string[], issuer?: Issuer, days = 1): Certified {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const [name = ''] = names
  const alternative = names.map((one) =>
    /^[\d.]+$/.test(one) ? der(0x87, Buffer.from(one.split('.').map(Number))) : der(0x82, Buffer.from(one)),
  )
  const extensions = [extension('2.5.29.17', sequence(...alternative))]
  const cert = certificate(issuer ?? { name, key: privateKey }, name, publicKey, extensions, days)
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

type Signing = { readonly name: string; readonly key: KeyObject }

function certificate(by: Signing, name: string, key: KeyObject, extensions: readonly Buffer[], days = 1): string {
  const algorithm = sequence(identifier('1.2.840.10045.4.3.2')) // ecdsa-with-SHA256
  const body = sequence(
    der(0xa0, integer(2)),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    commonName(by.name),
    sequence(time(Date.now() - DAY_MS * 30), time(Date.now() + DAY_MS * days)),
    commonName(name),
    key.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, by.key)]))
  const lines =
    sequence(body, algorithm, signature)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

const commonName = (name: string) => sequence(der(0x31, sequence(identifier('2.5.4.3'), der(0x0c, Buffer.from(name)))))
const extension = (id: string, value: Buffer, critical = false) =>
  sequence(identifier(id), ...(critical ? [der(0x01, Buffer.from([0xff]))] : []), der(0x04, value))
/** UTCTime. */
const time = (atMs: number) =>
  der(0x17, Buffer.from(`${new Date(atMs).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`))
const integer = (value: number) => der(0x02, Buffer.from([value]))
const sequence = (...parts: readonly Buffer[]) => der(0x30, Buffer.concat(parts))

function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = rest.flatMap((part) => {
    const groups = [part & 0x7f]
    for (let left = part >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80)
    return groups
  })
  return der(0x06, Buffer.from([first * 40 + second, ...bytes]))
}

function der(tag: number, value: Buffer): Buffer {
  const { length } = value
  const head =
    length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), value])
}
