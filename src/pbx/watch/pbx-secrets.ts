import { parsePbxUrl } from '../source/pbx-url.ts'

/** Replaces each secret in a displayed URL of a PBX. */
const HIDDEN = '***'

/** The parts of a PBX URL, as written. */
type Parts = {
  readonly scheme: string
  readonly user: string
  /** Percent-encoded; `undefined` if the URL has none. */
  readonly password: string | undefined
  readonly host: string
  readonly path: string
  /** The parameters as written: `name=office`. */
  readonly pairs: readonly string[]
}

/** Returns the URL of a PBX with every secret in it replaced by `***`. */
export function maskPbxUrl(url: string): string {
  const parts = partsOf(url)
  if (parts === undefined) return HIDDEN
  return textOf({
    ...parts,
    password: parts.password === undefined ? undefined : HIDDEN,
    pairs: parts.pairs.map((pair) => replaceSecret(pair, () => HIDDEN)),
  })
}

/**
 * Replaces each `***` by the secret in the stored URL. Returns the complete URL, or the reason why it is wrong. A
 * secret is only kept for the protocol, host and port that it was given for, so that it is never sent to another
 * program, nor unencrypted if it was given for TLS.
 */
export function restoreSecrets(url: string, stored: string | undefined): { url: string } | { wrong: string } {
  const parts = partsOf(url)
  // The parser of PBX URLs will refuse it.
  if (parts === undefined) return { url }
  const before = stored === undefined ? undefined : partsOf(stored)
  // With a repeated parameter, one value could be checked and the other used.
  const keys = parts.pairs.map((pair) => decoded(pair.split('=', 1)[0] ?? ''))
  const twice = keys.find((key, at) => keys.indexOf(key) < at)
  let wrong = twice === undefined ? undefined : `has the parameter ${twice} twice: give it once`
  const kept = (secret: string, place: string, earlier: Secret | undefined): string => {
    if (decoded(secret) !== HIDDEN) return secret
    if (earlier === undefined) wrong ??= `has ${HIDDEN} in place of a secret, but none is stored: write the secret`
    else if (earlier.place !== place)
      wrong ??= `has ${HIDDEN} in place of a secret that was given for another protocol, host or port: write the secret again`
    return earlier?.secret ?? secret
  }
  const earlier = before?.password === undefined ? undefined : { secret: before.password, place: placeOf(stored ?? '') }
  const password = parts.password === undefined ? undefined : kept(parts.password, placeOf(url), earlier)
  const places = { now: recordingsPlaceOf(parts.pairs), before: recordingsPlaceOf(before?.pairs ?? []) }
  const pairs = parts.pairs.map((pair) =>
    replaceSecret(pair, (secret, key) => {
      const found = before?.pairs.flatMap((one) => secretOf(one, key) ?? [])[0]
      const [now, was] = key === 'calls' ? [placeOf(url), placeOf(stored ?? '')] : [places.now, places.before]
      return kept(secret, now, found === undefined ? undefined : { secret: found, place: was })
    }),
  )
  return wrong === undefined ? { url: textOf({ ...parts, password, pairs }) } : { wrong }
}

/** A secret as written, and where it may be sent. */
type Secret = { readonly secret: string; readonly place: string }

function partsOf(url: string): Parts | undefined {
  const [, scheme, authority = '', path = '', query = ''] =
    /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? []
  if (scheme === undefined) return undefined
  const at = authority.lastIndexOf('@')
  const userinfo = at < 0 ? '' : authority.slice(0, at)
  const colon = userinfo.indexOf(':')
  return {
    scheme,
    user: colon < 0 ? userinfo : userinfo.slice(0, colon),
    password: colon < 0 ? undefined : userinfo.slice(colon + 1),
    host: authority.slice(at + 1),
    path,
    pairs: query.split('&').filter(Boolean),
  }
}

function textOf({ scheme, user, password, host, path, pairs }: Parts): string {
  const userinfo =
    user === '' && password === undefined ? '' : `${user}${password === undefined ? '' : `:${password}`}@`
  return `${scheme}${userinfo}${host}${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`
}

/** Replaces the secret of a parameter that has one; any other parameter stays as written. */
function replaceSecret(pair: string, replace: (secret: string, key: string) => string): string {
  const cut = pair.indexOf('=')
  const key = decoded(pair.slice(0, Math.max(cut, 0)))
  const written = pair.slice(cut + 1)
  if (key === 'recordings_token') return `${pair.slice(0, cut + 1)}${replace(written, key)}`
  if (key === 'calls') return replaceCallsSecret(pair, (secret) => replace(secret, key))
  if (key !== 'recordings') return pair
  const value = decoded(written)
  const secret = userinfoSecret(value)
  if (secret === undefined) return pair
  const changed =
    value.slice(0, secret.from) + replace(value.slice(secret.from, secret.to), key) + value.slice(secret.to)
  return `${pair.slice(0, cut + 1)}${written === value ? changed : encodeURIComponent(changed)}`
}

/** Replaces the secret in `calls=USER:SECRET`; the colon may be percent-encoded. */
function replaceCallsSecret(pair: string, replace: (secret: string) => string): string {
  const [, before, secret = ''] = /^(.*?(?::|%3A))(.*)$/is.exec(pair) ?? []
  return before === undefined ? pair : `${before}${replace(secret)}`
}

function secretOf(pair: string, key: string): string | undefined {
  let found: string | undefined
  replaceSecret(pair, (secret, of) => {
    if (of === key) found = secret
    return secret
  })
  return found
}

/** Returns the position of the secret in a recordings URL: its password, or the user if there is no password. */
function userinfoSecret(value: string): { from: number; to: number } | undefined {
  const [, scheme = '', authority = ''] = /^(https?:\/\/)([^/?#]*)/i.exec(value) ?? []
  const to = scheme.length + authority.lastIndexOf('@')
  if (to < scheme.length) return undefined
  const colon = value.slice(scheme.length, to).indexOf(':')
  return { from: scheme.length + colon + 1, to }
}

/** Returns protocol, host and port of a PBX; empty if the URL is invalid, which its parser refuses. */
function placeOf(url: string): string {
  const parsed = parsePbxUrl(url)
  return 'wrong' in parsed ? '' : `${parsed.pbx.protocol}://${parsed.pbx.host.toLowerCase()}:${parsed.pbx.port}`
}

/** Returns protocol, host and port of the recordings. */
function recordingsPlaceOf(pairs: readonly string[]): string {
  const found = pairs.find((pair) => decoded(pair.split('=', 1)[0] ?? '') === 'recordings')
  const value = decoded(found?.slice(found.indexOf('=') + 1) ?? '')
  return URL.canParse(value) ? new URL(value).origin : ''
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
