import type { TenantRule } from '../source/pbx-url.ts'
import type { Commands } from './commands.ts'
import type { EslFrame } from './decoder.ts'
import { requestVariable } from './leg-variables.ts'
import type { ListRow } from './list-rows.ts'

/** Requests the tenant values of listed legs, if the list of channels lacks them. */

/**
 * Returns the variable that has the tenant value, `null` if none has: the domain is in a variable of the caller's leg.
 */
export const variableOfRule = ({ by, variable }: TenantRule): string | null =>
  by === 'domain' ? 'domain_name' : variable

/** Returns another list with the tenant values of the legs in a list of channels, or `undefined` if none is needed. */
export async function requestTenants(
  commands: Commands,
  rule: TenantRule | undefined,
  channels: EslFrame | undefined,
): Promise<EslFrame | undefined> {
  const variable = rule === undefined ? null : variableOfRule(rule)
  if (rule === undefined || variable === null || channels === undefined) return undefined
  // A trunk profile may give callers a presence: their number at the carrier's address.
  const isShown = ({ direction, presence_id: presence = '' }: ListRow): boolean =>
    rule.by === 'domain' && presence.includes('@') && direction !== 'inbound'
  return requestVariable(commands, channels, { variable, column: 'tenant', isAsked: (row) => !isShown(row) })
}
