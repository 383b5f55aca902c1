import ipaddr from 'ipaddr.js'
import { type Address, isWithin, type Network, networkOf, parseNetwork } from '../lib/network.ts'

/** The networks that webhooks may reach besides the internet: the parsed `--allow-net`. */
export type AllowList = readonly Network[]

const LOOPBACK = ['127.0.0.0/8', '::1/128']
const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']

/**
 * Every range of the IANA IPv4 and IPv6 Special-Purpose Address Registries, and multicast. Some of them are reachable
 * (AS112, AMT), but have no receivers.
 */
const SPECIAL_V4 = [
  '0.0.0.0/8',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]
/** Only 2000::/3 is global unicast; these ranges in it are special. For 2002::/16 the embedded IPv4 address decides. */
const GLOBAL_V6 = networkOf('2000::/3')
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2620:4f:8000::/48', '3fff::/20']

const loopback = LOOPBACK.map(networkOf)
const privateNets = PRIVATE.map(networkOf)
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
const special = [...SPECIAL_V4, ...SPECIAL_V6].map(networkOf)

/**
 * Parses a list of `loopback`, `private`, addresses and networks (CIDR).
 * Returns the list, or the first wrong entry and what to write in its place.
 */
export function parseAllowList(
  entries: readonly string[],
): { readonly allow: AllowList } | { readonly wrong: string; readonly advice: string } {
  const allow: Network[] = []
  for (const entry of entries) {
    if (entry === 'loopback') allow.push(...loopback)
    else if (entry === 'private') allow.push(...privateNets)
    else {
      const parsed = parseNetwork(entry)
      if ('advice' in parsed) return { wrong: entry, advice: parsed.advice }
      allow.push(parsed.network)
    }
  }
  return { allow }
}

/**
 * Returns the IPv4 address that a mapped (::ffff:0:0/96), NAT64 (64:ff9b::/96) or 6to4 (2002::/16) address embeds; else
 * the address.
 */
function innermost(address: Address): Address {
  if (!(address instanceof ipaddr.IPv6)) return address
  const bytes = address.toByteArray()
  switch (address.range()) {
    case 'ipv4Mapped':
      return new ipaddr.IPv4(bytes.slice(12))
    case 'rfc6052':
      // A network's own 64:ff9b:1::/48 (RFC 8215) has the IPv4 address at a position that others cannot know.
      return address.match(NAT64) ? new ipaddr.IPv4(bytes.slice(12)) : address
    case '6to4':
      return new ipaddr.IPv4(bytes.slice(2, 6))
    default:
      return address
  }
}

/** The reason why an address is refused: its kind, and the setting that would allow it. */
type Refusal = { readonly kind: string; readonly setting: string }

function refusalOf(text: string, allow: AllowList): Refusal | undefined {
  const zoneless = text.split('%', 1)[0] ?? text
  if (!ipaddr.isValid(zoneless)) return { kind: 'not an IP address', setting: 'no setting' }
  const address = ipaddr.parse(zoneless)
  const decisive = innermost(address)
  if (isWithin(decisive, allow) || isWithin(address, allow)) return undefined
  if (isWithin(decisive, loopback)) return { kind: 'a loopback address', setting: '--allow-net loopback' }
  if (isWithin(decisive, privateNets)) return { kind: 'a private address', setting: '--allow-net private' }
  const global = decisive instanceof ipaddr.IPv4 || isWithin(decisive, [GLOBAL_V6])
  if (global && !isWithin(decisive, special)) return undefined
  return { kind: 'a special address', setting: `--allow-net ${decisive.toString()}` }
}

/**
 * Returns why requests to an IP address are refused, with the setting that would allow them; `undefined` if they are
 * allowed. Global unicast is allowed, everything else only if `allow` contains it. Text that is not an address is
 * refused.
 */
export function addressRefusal(text: string, allow: AllowList): string | undefined {
  const refusal = refusalOf(text, allow)
  return refusal === undefined
    ? undefined
    : `${text} is ${refusal.kind}: the service must be started with ${refusal.setting}`
}

/** The number of cached verdicts: several times the receivers of a large installation. */
const VERDICTS_KEPT = 4_096

/**
 * Returns a function like `addressRefusal` that caches its verdicts, because each attempt needs one. Its reasons never
 * contain the address: accounts must not learn about the network that the service is in.
 */
export function newAddressGuard(allow: AllowList): (address: string) => string | undefined {
  const verdicts = new Map<string, string | undefined>()
  return (address) => {
    if (verdicts.has(address)) return verdicts.get(address)
    if (verdicts.size >= VERDICTS_KEPT) verdicts.clear()
    const refusal = refusalOf(address, allow)
    const setting = refusal?.kind === 'a special address' ? '--allow-net with its network' : refusal?.setting
    const verdict = refusal === undefined ? undefined : `${refusal.kind}: ${setting} allows it`
    verdicts.set(address, verdict)
    return verdict
  }
}
