import type { TenantRule } from '../source/pbx-url.ts'
import type { Commands } from './commands.ts'
import type { EslFrame } from './decoder.ts'
import { type ListRow, listRows } from './list-rows.ts'

/** Requests the tenant values of listed legs, if the list of channels lacks them. */

/**
 * Returns the variable that has the tenant value, `null` if none has: the domain is in a variable of the caller's leg.
 */
export const variableOfRule = ({ by, variable }: TenantRule): string | null =>
  by === 'domain' ? 'domain_name' : variable

/** More than a FreeSWITCH has at a time; each costs a command. */
const MAX_ASKED = 5_000

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
  const ids = listRows(channels.body)
    .filter((row) => !isShown(row))
    .flatMap(({ uuid = '' }) => (/^[0-9a-f-]{36}$/i.test(uuid) ? uuid : []))
  const asked = ids.slice(0, MAX_ASKED)
  const replies = await Promise.all(asked.map((id) => commands.send(`api uuid_getvar ${id} ${variable}`)))
  const rows = asked.flatMap((uuid, index) => {
    const value = replies[index]?.body.trim() ?? ''
    return value === '' || value === '_undef_' || value.startsWith('-') ? [] : [{ uuid, tenant: value }]
  })
  return listOf(channels, rows)
}

const listOf = ({ offset, contentType }: EslFrame, rows: readonly ListRow[]): EslFrame => ({
  offset,
  contentType,
  get: () => '',
  body: JSON.stringify({ rows }),
  event: undefined,
})
