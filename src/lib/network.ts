import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

export type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A network: its first address and the length of its prefix. */
export type Network = readonly [Address, number]

/** Parses a network that is known to be right. */
export const networkOf = (cidr: string): Network => ipaddr.parseCIDR(cidr)

/** Returns whether an address is in one of some networks. */
export const isWithin = (address: Address, networks: readonly Network[]): boolean =>
  networks.some(([net, bits]) => net.kind() === address.kind() && address.match(net, bits))

/** Short forms that everybody writes. Other short forms mean different networks to different programs. */
const SHORT_FORMS: Readonly<Record<string, string>> = {
  '10/8': '10.0.0.0/8',
  '172.16/12': '172.16.0.0/12',
  '192.168/16': '192.168.0.0/16',
  '169.254/16': '169.254.0.0/16',
}

/** This machine's own addresses, in every form in which IPv6 embeds them: mapped, NAT64 and 6to4. */
const THIS_MACHINE = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '::/128',
  '::1/128',
  '::ffff:0:0/104',
  '::ffff:7f00:0/104',
  '64:ff9b::/104',
  '64:ff9b::7f00:0/104',
  '2002::/24',
  '2002:7f00::/24',
].map(networkOf)

/** An address or a network in its usual spelling; text that is neither gives what to write in its place. */
type ParsedNetwork = { readonly network: Network } | { readonly advice: string }

/**
 * Parses an address, or a network like `10.0.0.0/8`, as a setting that opens something has it: spellings that programs
 * read differently (`10.1.2`, `010.0.0.0/8`), a prefix that cuts the address off (`10.1.2.3/8`) and a network that
 * holds this machine beside others (`0.0.0.0/0`) are refused with what to write.
 */
export function parseNetwork(text: string): ParsedNetwork {
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(SHORT_FORMS[text] ?? text) ?? []
  const most = isIPv4(address) ? 32 : isIPv6(address) && !address.includes('%') ? 128 : undefined
  const bits = prefix === undefined ? most : Number(prefix)
  if (most === undefined || bits === undefined || bits > most) return { advice: spellingAdvice(text) }
  const network = networkOf(`${address}/${bits}`)
  const advice = hostBitsAdvice(network) ?? thisMachineAdvice(network)
  return advice === undefined ? { network } : { advice }
}

/** Returns what to write in place of a text that is no network. */
function spellingAdvice(text: string): string {
  const [, digits = '', prefix = ''] = /^([\d.]+?)\.?(\/\d{1,2})?$/.exec(text) ?? []
  const parts = digits.split('.')
  const isShort = parts.length < 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)
  if (!isShort) return 'give a network like 10.0.0.0/8 or an address, with four decimal parts that do not begin with 0'
  const whole = [...parts, '0', '0', '0'].slice(0, 4).join('.')
  return `write all four parts, as in ${whole}${prefix || `/${parts.length * 8}`}`
}

function hostBitsAdvice([address, bits]: Network): string | undefined {
  const family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  const first = family.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString()
  if (first === address.toString()) return undefined
  return `write ${first}/${bits} for this network, or ${address.toString()} for the address alone`
}

function thisMachineAdvice([address, bits]: Network): string | undefined {
  const isHidden = THIS_MACHINE.some(
    ([own, ownBits]) => own.kind() === address.kind() && bits < ownBits && own.match(address, bits),
  )
  return isHidden ? 'that also contains this machine itself: name the networks that are meant one by one' : undefined
}

/**
 * Returns whether a host is an IPv4 address in a spelling that programs read differently: `10.1`, `010.0.0.1`,
 * `0x7f.1`.
 */
export const isDubiousAddress = (host: string): boolean =>
  /^(0x[\da-f]*|\d+)(\.(0x[\da-f]*|\d+))*$/i.test(host) && !isIPv4(host)
