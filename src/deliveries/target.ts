import { literalAddress } from '../webhooks/target.ts'

/** A URL taken apart for being called at an address that was checked. */
export type Target = {
  readonly url: URL
  /** The host when it is an address: nothing to look up. */
  readonly literal: string | undefined
  /** The name to look up, for SNI and the certificate. */
  readonly name: string
  readonly host: string
  readonly authorization: string | undefined
  /** The URL without `user:pass@` and fragment, for a proxy. */
  readonly plain: string
  /** The URL with an address in place of its name. */
  at(address: string): string
}

export function targetOf(text: string): Target {
  const url = new URL(text)
  const { protocol, port, pathname, search, username, password } = url
  const tail = `${port === '' ? '' : `:${port}`}${pathname}${search}`
  // Asked at each attempt, for the same address nearly always.
  let last = { address: '', url: '' }
  return {
    url,
    literal: literalAddress(url),
    name: url.hostname.replace(/\.$/, ''),
    host: url.host,
    authorization:
      username === '' && password === '' ? undefined : `Basic ${base64(`${decode(username)}:${decode(password)}`)}`,
    plain: `${protocol}//${url.hostname}${tail}`,
    at(address) {
      if (address !== last.address)
        last = { address, url: `${protocol}//${address.includes(':') ? `[${address}]` : address}${tail}` }
      return last.url
    },
  }
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** A `%` that encodes nothing is meant as it stands. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
