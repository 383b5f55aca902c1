import ipaddr from 'ipaddr.js'

type Net = ReturnType<typeof ipaddr.parseCIDR>
type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Who sends a request. */
export type Client = {
  readonly address: string
  /** What is counted as one: IPv6 is cut to its /64, since that is what one customer of a provider has. */
  readonly network: string
  /** Its User-Agent. */
  readonly program: string | null
}

/** A server, as far as it knows who is at the other end. */
export type Peers = { requestIP(request: Request): { readonly address: string } | null }

const MAX_PROGRAM_CHARACTERS = 200

/**
 * Returns whom a request comes from: the socket's address, or the last hop of `X-Forwarded-For` if the socket is that of a proxy
 * which is trusted.
 */
export function createClientOf(trustProxies: readonly string[]) {
  const trusted: Net[] = trustProxies.map((net) => ipaddr.parseCIDR(net))

  function addressOf(socketAddress: string, forwardedFor: string | null): Address | undefined {
    const socket = parsed(socketAddress)
    if (socket === undefined) return undefined
    const behindProxy = trusted.some(([net, bits]) => net.kind() === socket.kind() && socket.match(net, bits))
    const hop = behindProxy ? parsed(forwardedFor?.split(',').at(-1)?.trim() ?? '') : undefined
    return hop ?? socket
  }

  return (request: Request, peers: Peers | null): Client => {
    const socketAddress = peers?.requestIP(request)?.address ?? 'unknown'
    const address = addressOf(socketAddress, request.headers.get('x-forwarded-for'))
    return {
      address: address?.toString() ?? socketAddress,
      network: address === undefined ? socketAddress : networkOf(address),
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
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : undefined
}

function networkOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString()}/64`
}
