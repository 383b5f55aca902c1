import type { AccountDirectory, CallOwners, Tenants } from '../../calls/calls.ts'
import type { Log } from '../../lib/log.ts'
import { kindOfContext } from '../endpoints/endpoint-classifier.ts'
import type { PbxSource, TenantRule } from '../source/pbx-url.ts'

/** The accounts of a PBX's calls, and calls without an account. */

/** Returns the owners of a PBX's calls. @throws Error when its account was not looked up. */
export function ownersOf(
  { account, tenants }: Pick<PbxSource, 'account' | 'tenants'>,
  accounts: Pick<AccountDirectory, 'get' | 'spellingOf'>,
): CallOwners {
  const accountId = account === null ? null : accounts.get(account)
  if (accountId === undefined) throw new Error(`the account ${account} was not looked up`)
  if (tenants === undefined) return { account, accountId }
  return { account, accountId, tenants: { accounts, isOnEveryChannel: tenants.by === 'context' } }
}

/** Returns the tenants of a PBX as if there were an account for every tenant value. */
export function anyTenants({ by }: TenantRule): Tenants {
  const isOnEveryChannel = by === 'context'
  return {
    accountOf: (value) => (isOnEveryChannel && kindOfContext(value) === 'trunk' ? undefined : value),
    isOnEveryChannel,
  }
}

/** Calls of a PBX that no account gets. */
type CallsWithoutAccount = {
  /** Counts calls, and logs each tenant value once with advice. */
  note(values: readonly (string | null)[]): void
  count(): number
}

/** A PBX has hundreds of customers; values that callers invent must not fill the memory. */
const MAX_REPORTED = 10_000

/** Creates the count of a PBX's calls without an account. */
export function newCallsWithoutAccount(pbx: string, log: Log): CallsWithoutAccount {
  const reported = new Set<string | null>()
  let count = 0
  return {
    note(values) {
      count += values.length
      for (const value of values) {
        if (reported.has(value) || reported.size >= MAX_REPORTED) continue
        reported.add(value)
        if (value === null)
          log.warn(
            { pbx },
            'calls of this PBX show no customer, so no account gets their events: name an account for them with account=… in its URL',
          )
        else
          log.warn(
            { pbx, account: value },
            `there is no account for these calls, so their events are not sent: add it with ${addAccountCommand(value)}`,
          )
      }
    },
    count: () => count,
  }
}

export const addAccountCommand = (name: string): string =>
  `hookswitch user add --account ${quoted(name)} --email … --name …`

const quoted = (text: string): string => (/^[\w.@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)
