import type { Configured } from '../endpoints/endpoint-classifier.ts'
import type { Inventory } from '../endpoints/endpoints.ts'
import { userOf } from './address.ts'
import { listRows } from './list-rows.ts'

/**
 * The configuration of a FreeSWITCH: users and gateways by name, and the profiles through which other endpoints call.
 */

/**
 * The answers to `sofia status` (also of each profile), `list_users`, `show registrations as json`, `callcenter_config
 * agent list` and `xml_locate`.
 */
type EslAnswers = {
  readonly sofia: string
  readonly profiles: Readonly<Record<string, string>>
  readonly users: string
  readonly registrations: string
  readonly agents: string
  /** The configuration of mod_callcenter, as XML; `''` without an answer. */
  readonly callcenter?: string
}

/** More profiles than any FreeSWITCH has; each costs a command. */
const MAX_PROFILES = 20

/** Returns the inventory in the answers. */
export function inventoryOf(answers: EslAnswers, gatewayNames: Readonly<Record<string, string>> = {}): Inventory {
  const endpoints = new Map<string, Configured>()
  const note = (name: string, change: Configured): void => {
    if (name !== '') endpoints.set(name, { ...endpoints.get(name), ...change })
  }
  for (const { kind, name, address } of sofiaRows(answers.sofia)) {
    if (kind !== 'gateway') continue
    // FusionPBX names gateways by ids: people recognize the address instead.
    const shown = gatewayNames[name] ?? (isId(name) ? address : '')
    note(name, { registers: true, ...(shown === '' ? {} : { name: shown }) })
  }
  for (const [profile, text] of Object.entries(answers.profiles)) {
    const context = /^Context\s+(\S+)/m.exec(text)?.[1]
    note(profile, { profile: true, ...(context === undefined ? {} : { context }) })
  }
  for (const { reg_user: user } of listRows(answers.registrations))
    if (user !== undefined) note(userOf(user), { listed: 'registration' })
  const agents: Record<string, string> = {}
  for (const agent of table(answers.agents)) {
    // Other agents are reached through a gateway or the dialplan.
    const user = /(?:^|[\]}/])user\/([^@/]+)/.exec(agent.get('contact') ?? '')?.[1]
    if (user === undefined) continue
    note(user, { listed: 'seat' })
    const name = agent.get('name') ?? ''
    if (userOf(name) !== user && name !== '') agents[name] = user
  }
  for (const [name, same] of Map.groupBy(table(answers.users), (user) => user.get('userid') ?? ''))
    note(name, { listed: 'directory', ...commonOf(same.map(shownBy)) })
  return {
    endpoints: Object.fromEntries(endpoints),
    mailboxes: {},
    queues: queuesOf(answers.callcenter ?? ''),
    agents,
  }
}

const isId = (name: string): boolean => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(name)

/**
 * Returns the display names of queues: FusionPBX names a queue by its extension and domain, and has its name as the
 * label.
 */
function queuesOf(xml: string): Record<string, string> {
  const queues: Record<string, string> = {}
  for (const [, tag = ''] of xml.matchAll(/<queue\s([^>]*)>/g)) {
    const [name, label] = ['name', 'label'].map((key) => attributeOf(tag, key))
    const display = label?.replace(/@[^@]*$/, '') ?? ''
    if (name && display !== '' && label !== name) queues[name] = display.slice(0, 256)
  }
  return queues
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Returns the value of an attribute of a tag, as FreeSWITCH prints XML. */
const attributeOf = (tag: string, key: string): string | undefined =>
  new RegExp(`(?:^|\\s)${key}="([^"]*)"`)
    .exec(tag)?.[1]
    ?.replace(/&(#x?[\da-f]{1,6}|\w+);/gi, (entity, name: string) => ENTITIES[name] ?? characterOf(name) ?? entity)

/** Returns the character of a reference like `#xFC` or `#252`, which FreeSWITCH prints for all that is no ASCII. */
function characterOf(name: string): string | undefined {
  if (!name.startsWith('#')) return undefined
  const code = Number(name.replace(/^#x/i, '0x').replace('#', ''))
  return Number.isInteger(code) && code <= 0x10ffff ? String.fromCodePoint(code) : undefined
}

type Shown = Pick<Configured, 'number' | 'name'>

function shownBy(user: ReadonlyMap<string, string>): Shown {
  const number = user.get('effective_caller_id_number') ?? ''
  const name = user.get('effective_caller_id_name')
  return { ...(/^\d{2,6}$/.test(number) ? { number } : {}), ...(name ? { name: name.slice(0, 256) } : {}) }
}

/** Returns the facts that all users of one name share: in several domains they are different people. */
function commonOf([first = {}, ...others]: readonly Shown[]): Shown {
  const { number, name } = first
  return {
    ...(number !== undefined && others.every((one) => one.number === number) ? { number } : {}),
    ...(name !== undefined && others.every((one) => one.name === name) ? { name } : {}),
  }
}

/** Rows like `external::trunk  gateway  sip:… REGED` and `external  profile  sip:… RUNNING (0)`. */
function sofiaRows(text: string): { kind: 'profile' | 'gateway'; name: string; address: string }[] {
  return text.split('\n').flatMap((line) => {
    const [, name = '', kind = '', data = ''] = /^\s*(\S+)\s+(profile|gateway)\s+(\S*)/.exec(line) ?? []
    const address = data.replace(/^sips?:/, '')
    if (kind === 'profile') return { kind, name, address }
    return kind === 'gateway' ? { kind, name: name.slice(name.lastIndexOf('::') + 2), address } : []
  })
}

/** Returns the names of the SIP profiles in the output of `sofia status`. */
export const profilesOf = (sofia: string): string[] =>
  sofiaRows(sofia)
    .flatMap(({ kind, name }) => (kind === 'profile' ? name : []))
    .slice(0, MAX_PROFILES)

/** Returns the rows of lines with `|` between columns; the first line names the columns. */
export function table(text: string): Map<string, string>[] {
  const [head = '', ...lines] = text.split('\n').map((line) => line.replace(/\r$/, ''))
  const names = head.split('|')
  if (names.length < 2) return []
  return lines
    .filter((line) => line.includes('|'))
    .map((line) => new Map(line.split('|').map((value, index) => [names[index] ?? '', value])))
}
