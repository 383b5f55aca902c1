import { addAccountCommand } from '../connection/call-owners.ts'
import type { Finding } from '../connection/finding.ts'
import { kindOfContext } from '../endpoints/endpoint-classifier.ts'
import type { TenantRule } from '../source/pbx-url.ts'

/** Checks a PBX that serves several customers: its tenant values, and values that name no account. */

/** Returns the exact name of the account with this name in any case, or `undefined`. */
export type AccountOf = (name: string) => string | undefined

/** The most values that are named one by one. */
const MAX_NAMED = 50

type Accounts = {
  /** Absent: the accounts are unknown. */
  readonly accountOf?: AccountOf | undefined
  /** Whether accounts are added only after the check, so that a missing one is no fault yet. */
  readonly accountsFollow?: boolean | undefined
}

/** Returns findings on the tenant values that a PBX shows. */
export function judgeTenants(
  rule: TenantRule,
  values: ReadonlySet<string>,
  { accountOf, accountsFollow = false }: Accounts,
): Finding[] {
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
  // A context need not belong to a customer; a trunk's does not.
  const level = isContext || accountsFollow ? 'advice' : 'missing'
  const why = isContext ? '; if this is the context of a customer' : ', so the events of its calls are not sent'
  for (const value of without.slice(0, MAX_NAMED))
    findings.push({ level, text: `there is no account ${value}${why}: ${addAccountCommand(value)}` })
  if (without.length > MAX_NAMED)
    findings.push({
      level,
      text: `there is no account for ${without.length - MAX_NAMED} more names: ${listOf(without.slice(MAX_NAMED))}`,
    })
  return findings
}

const NO_STORE = 'without the store of the service their accounts are unknown here: add --data or --database-url'

function listOf(names: readonly string[]): string {
  const more = names.length - MAX_NAMED
  return [...names.slice(0, MAX_NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}
