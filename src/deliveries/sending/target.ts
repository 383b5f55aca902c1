import { literalAddress } from '../../webhooks/target.ts'

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
  /** Where it is called at an address that was checked. */
  at(address: string): Place
}

/**
 * Where a request may go: the URL with an address in place of its name. `address` is `null` behind a proxy; requests to one `origin`
 * may share kept connections.
 */
export type Place = { readonly url: string; readonly origin: string; readonly address: string | null }

export function targetOf(text: string): Target {
  const url = new URL(text)
  const { protocol, port, pathname, search, username, password } = url
  const tail = `${port === '' ? '' : `:${port}`}${pathname}${search}`
  // Asked at each attempt, for the same address nearly always.
  let last: Place = { address: '', url: '', origin: '' }
  return {
    url,
    literal: literalAddress(url),
    name: url.hostname.replace(/\.$/, ''),
    host: url.host,
    authorization:
      username === '' && password === '' ? undefined : `Basic ${base64(`${decode(username)}:${decode(password)}`)}`,
    plain: `${protocol}//${url.hostname}${tail}`,
    at(address) {
      if (address !== last.address) {
        const origin = `${protocol}//${address.includes(':') ? `[${address}]` : address}${port === '' ? '' : `:${port}`}`
        last = { address, url: origin + pathname + search, origin: `${origin} ${url.hostname}` }
      }
      return last
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
