import { isIP } from 'node:net'

/** The names by which a service may be opened, besides addresses and `localhost`. */
type HostNames = { readonly publicUrl?: string | undefined; readonly names: readonly string[] }

/**
 * Creates the check of the header `Host`. A name that an attacker owns may resolve to this machine (DNS rebinding): a
 * page under that name would be of the same origin as this service. Such a page always sends its own name.
 */
export function createHostCheck({ publicUrl, names }: HostNames): (host: string | null) => boolean {
  const own = publicUrl === undefined ? [] : [new URL(publicUrl).hostname]
  const known = new Set(['localhost', ...own, ...names].map(bare))
  // Every browser sends the header; probes of load balancers may speak HTTP/1.0 and leave it out.
  return (host) => host === null || host === '' || isAllowed(host, known)
}

function isAllowed(host: string, known: ReadonlySet<string>): boolean {
  const [, address, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{0,5})?$/.exec(host) ?? []
  if (address !== undefined) return isIP(address) === 6
  return isIP(name) === 4 || known.has(bare(name))
}

/** Returns a name as it is compared: `Calls.example.com.` is `calls.example.com`. */
const bare = (name: string): string => name.toLowerCase().replace(/\.$/, '')
