import type { TenantRule } from '../../lib/pbx-url.ts'
import type { AmiFrame } from '../ami/frame.ts'
import { addAccountCommand } from '../connection/call-owners.ts'
import { kindOfContext } from '../endpoints/endpoint-classifier.ts'
import { cleanValue } from '../endpoints/sanitize.ts'
import type { Commands } from '../esl/commands.ts'
import { listRows } from '../esl/list-rows.ts'
import type { Finding } from './finding.ts'

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

/** Returns the values that events and listed channels of an Asterisk show. */
export function amiTenants({ by, variable }: TenantRule, frames: readonly AmiFrame[]): Set<string> {
  return new Set(frames.flatMap((frame) => frameValues(frame)).flatMap((value) => cleanValue(value) ?? []))

  function frameValues(frame: AmiFrame): string[] {
    if (by === 'accountcode') return [frame.get('AccountCode'), frame.get('DestAccountCode')]
    if (by === 'context') return [frame.get('Context'), frame.get('DestContext')]
    const own = frame.get('Variable') === variable ? [frame.get('Value')] : []
    const prefix = `${variable}=`
    const listed = [...frame.all('Variable'), ...frame.all('ChanVariable')].filter((pair) => pair.startsWith(prefix))
    return [...own, ...listed.map((pair) => pair.slice(prefix.length))]
  }
}

/** Returns the values that the channels, the directory and the registrations of a FreeSWITCH show. */
export async function eslTenants({ by }: TenantRule, commands: Commands): Promise<Set<string>> {
  const channels = listRows((await commands.send('api show channels as json'))?.body ?? '')
  if (by === 'accountcode') return valuesOf(channels.map(({ accountcode }) => accountcode))
  if (by === 'context') return valuesOf(channels.flatMap((row) => [row.initial_context, row.context]))
  // Which variables a channel has is shown by its events alone.
  if (by === 'variable') return new Set()
  const registered = listRows((await commands.runJob('show registrations as json')) ?? '')
  const users = (await commands.runJob('list_users')) ?? ''
  const [head = '', ...lines] = users.split('\n')
  const column = head.split('|').indexOf('domain')
  const domains = lines.map((line) => line.split('|')[column])
  const inUse = channels.map(({ presence_id: presence }) => presence?.split('@')[1])
  return valuesOf([...domains, ...inUse, ...registered.map(({ realm }) => realm)])
}

const valuesOf = (values: readonly (string | undefined)[]): Set<string> =>
  new Set(values.flatMap((value) => cleanValue(value ?? '') ?? []))
