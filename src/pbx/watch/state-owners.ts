import type { AccountDirectory } from '../../calls/calls.ts'
import type { BoardOptions, EndpointEntry } from '../../states/states.ts'
import { bareName } from '../endpoints/endpoint-classifier.ts'
import type { Endpoints } from '../endpoints/endpoints.ts'
import type { PbxSource } from '../source/pbx-url.ts'

/** Returns the accounts of the phones, trunks, agents and queues of a PBX. */
export function stateOwners(
  { account, tenants }: Pick<PbxSource, 'account' | 'tenants'>,
  accounts: Pick<AccountDirectory, 'spellingOf'>,
): BoardOptions {
  if (tenants === undefined) return { account, accountOf: () => account, accountOfQueue: () => account }
  const accountOf = (tenant: string | null): string | null =>
    tenant === null ? account : (accounts.spellingOf(tenant) ?? null)
  return {
    account,
    accountOf,
    accountOfQueue(queue, owners) {
      // `support@example.org` belongs to that customer; a queue without a domain belongs to the customer of all its
      // agents.
      const domain = /@([^@]+)$/.exec(queue)?.[1]
      if (tenants.by === 'domain' && domain !== undefined) return accountOf(domain)
      const [owner = account] = owners
      return owners.size > 1 ? null : owner
    },
  }
}

/**
 * Returns a function that returns the phones and trunks of a PBX, according to its calls and configuration, if they
 * have changed since the last call.
 */
export function endpointEntriesOf(endpoints: Pick<Endpoints, 'list' | 'version'>, hasTenants: boolean) {
  let version: number | undefined
  // An Asterisk reports each tenant value with its lists.
  const tenant = hasTenants ? undefined : null
  return (): readonly EndpointEntry[] | undefined => {
    const now = endpoints.version()
    if (now === version) return undefined
    version = now
    return endpoints.list().flatMap(({ name, number, display, kind }): EndpointEntry[] => {
      if (kind === null) return []
      const bare = bareName(name)
      if (kind === 'trunk') return [{ endpoint: name, kind, key: bare, name: display, tenant }]
      return [{ endpoint: name, kind: 'phone', key: number ?? bare, name: display, tenant }]
    })
  }
}
