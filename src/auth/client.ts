import ipaddr from 'ipaddr.js'

type Net = ReturnType<typeof ipaddr.parseCIDR>

/**
 * Whom a request comes from: the socket's address, or the last hop of `X-Forwarded-For` if the socket is that of a proxy which
 * is trusted. IPv6 is cut to its /64, since that is what one customer of a provider has.
 */
export function createClientAddress(trustProxies: readonly string[]) {
  const trusted: Net[] = trustProxies.map((net) => ipaddr.parseCIDR(net))
  return (socketAddress: string, forwardedFor: string | null): string => {
    const socket = parsed(socketAddress)
    if (socket === undefined) return socketAddress
    const behindProxy = trusted.some(([net, bits]) => net.kind() === socket.kind() && socket.match(net, bits))
    const hop = behindProxy ? parsed(forwardedFor?.split(',').at(-1)?.trim() ?? '') : undefined
    return grouped(hop ?? socket)
  }
}

function parsed(text: string) {
  // Some proxies add the port: `1.2.3.4:5678`, `[2001:db8::1]:5678`.
  const bare = text
    .replace(/%.*$/, '')
    .replace(/^\[(.*)\](:\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : undefined
}

function grouped(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  if (address instanceof ipaddr.IPv4) return address.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString()}/64`
}
