import type { TenantRule } from '../../lib/pbx-url.ts'
import { addAccountCommand } from '../connection/call-owners.ts'
import type { Finding } from '../connection/finding.ts'
import { kindOfContext } from '../endpoints/endpoint-classifier.ts'

/** The check of a PBX that serves several customers: the values that it shows, and those that name no account. */

/** Returns the spelling of the account with this name in any case, or `undefined`. */
export type AccountOf = (name: string) => string | undefined

/** So many are named one by one. */
const MAX_NAMED = 50

/** Returns what the values mean that a PBX shows. Without `accountOf` it is not known which accounts there are. */
export function judgeTenants(rule: TenantRule, values: ReadonlySet<string>, accountOf?: AccountOf): Finding[] {
  const setting = `tenants=${rule.by}${rule.variable === null ? '' : `:${rule.variable}`}`
  if (values.size === 0)
    return [{ level: 'advice', text: `it shows no customer now (${setting}): check it again during a call` }]
  const named = [...values].toSorted()
  const findings: Finding[] = [{ level: 'ok', text: `its customers (${setting}): ${listOf(named)}` }]
  if (accountOf === undefined) return [...findings, { level: 'advice', text: NO_STORE }]
  const isContext = rule.by === 'context'
  const without = named.filter(
    (value) => accountOf(value) === undefined && !(isContext && kindOfContext(value) === 'trunk'),
  )
  if (without.length === 0) return [...findings, { level: 'ok', text: 'each customer has an account' }]
  // A context need not be a customer's: that of a trunk is not.
  const level = isContext ? 'advice' : 'missing'
  const why = isContext ? '; if this is the context of a customer' : ', so nobody gets the events of its calls'
  for (const value of without.slice(0, MAX_NAMED))
    findings.push({ level, text: `there is no account ${value}${why}: ${addAccountCommand(value)}` })
  if (without.length > MAX_NAMED)
    findings.push({
      level,
      text: `there is no account of ${without.length - MAX_NAMED} more names: ${listOf(without.slice(MAX_NAMED))}`,
    })
  return findings
}

const NO_STORE =
  'it is not known here which of them have an account: add the store of the service, with --data or --database-url'

function listOf(names: readonly string[]): string {
  const more = names.length - MAX_NAMED
  return [...names.slice(0, MAX_NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}
