import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { type Address, isWithin, networkOf } from '../lib/network.ts'
import type { Operators } from './operators.ts'

/** The client that sent a request. */
export type RequestClient = {
  readonly address: string
  /** The unit for rate limits. For IPv6 it is the /64, because providers assign one to each customer. */
  readonly network: string
  /** Its User-Agent. */
  readonly program: string | null
  /** The operator of the machine, who has no address; `undefined`: any other client. */
  readonly operator?: string | undefined
}

/** The part of the server that knows a request's socket address. */
export type SocketAddresses = { requestIP(request: Request): { readonly address: string } | null }

const MAX_PROGRAM_CHARACTERS = 200

/**
 * Creates a function that returns the client of a request. Its address is the socket's, or the last hop of
 * `X-Forwarded-For` if the socket belongs to a trusted proxy.
 */
export function createClientOf(trustProxies: readonly string[], operators?: Pick<Operators, 'nameOf'>) {
  const trusted = trustProxies.map(networkOf)

  function addressOf(socketAddress: string, forwardedFor: string | null): Address | undefined {
    const socket = parsed(socketAddress)
    if (socket === undefined) return undefined
    const behindProxy = isWithin(socket, trusted)
    const hop = behindProxy ? parsed(forwardedFor?.split(',').at(-1)?.trim() ?? '') : undefined
    return hop ?? socket
  }

  return (request: Request, peers: SocketAddresses | null): RequestClient => {
    const operator = operators?.nameOf(request)
    if (operator !== undefined) return { address: '', network: '', program: null, operator }
    const socketAddress = peers?.requestIP(request)?.address ?? 'unknown'
    const address = addressOf(socketAddress, request.headers.get('x-forwarded-for'))
    return {
      address: address?.toString() ?? socketAddress,
      network: address === undefined ? socketAddress : limitedNetworkOf(address),
      program: request.headers.get('user-agent')?.slice(0, MAX_PROGRAM_CHARACTERS) ?? null,
    }
  }
}

function parsed(text: string): Address | undefined {
  // Some proxies add the port: `1.2.3.4:5678`, `[2001:db8::1]:5678`.
  const bare = text
    .replace(/%.*$/, '')
    .replace(/^\[(.*)\](:\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
  return isIP(bare) !== 0 ? ipaddr.process(bare) : undefined
}

function limitedNetworkOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString()}/64`
}
