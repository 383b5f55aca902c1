import ipaddr from 'ipaddr.js'
import { type AllowList, addressRefusal } from './address-guard.ts'

/**
 * Returns the URL's host as an IP address without brackets; `undefined` if it is a name. URL has normalised every
 * spelling.
 */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
  return ipaddr.isValid(host) ? host : undefined
}

/**
 * Returns why the literal address in a URL is refused, with the setting that would allow it; `undefined` if it is
 * allowed. Covers every spelling of an address, `localhost` and `*.localhost`. Other names are checked at each attempt,
 * when they are resolved.
 */
export function literalRefusal(url: URL, allow: AllowList): string | undefined {
  const literal = literalAddress(url)
  if (literal !== undefined) return addressRefusal(literal, allow)
  const name = url.hostname.toLowerCase().replace(/\.+$/, '')
  if (name !== 'localhost' && !name.endsWith('.localhost')) return undefined
  const allowed = ['127.0.0.1', '::1'].some((address) => addressRefusal(address, allow) === undefined)
  return allowed ? undefined : `${name} is this machine: the service must be started with --allow-net loopback`
}
