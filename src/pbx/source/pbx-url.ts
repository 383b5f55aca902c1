import { type Static, Type } from '@sinclair/typebox'
import { isSupportedCountry } from 'libphonenumber-js/min'
import { nameProblem } from '../../lib/name.ts'
import { isDubiousAddress } from '../../lib/network.ts'
import { comparedText, textProblem } from '../../lib/text.ts'
import { RecordingsSource } from '../../recordings/sources/recordings-source.ts'
import { CALLS_PARAMETERS, CallsRule, callsOf } from './calls-rule.ts'
import { PBX_FACTS, PBX_PROTOCOLS, type PbxKind, PROTOCOL_NAMES, protocolOf } from './pbx-facts.ts'

/** The fact about a channel that names its customer, where one PBX serves several. */
export const TenantRule = Type.Object({
  /** `domain`: of FreeSWITCH; `context`: of the dialplan; `variable`: a channel variable. */
  by: Type.Union([
    Type.Literal('domain'),
    Type.Literal('accountcode'),
    Type.Literal('context'),
    Type.Literal('variable'),
  ]),
  /** The name of the channel variable, else `null`. */
  variable: Type.Union([Type.String({ minLength: 1 }), Type.Null()]),
})
export type TenantRule = Static<typeof TenantRule>

/** The address of a PBX, how to log in, and which of its endpoints are trunks and extensions. */
export const PbxSource = Type.Object({
  protocol: Type.Union(PROTOCOL_NAMES.map((name) => Type.Literal(name))),
  /** Its name in events, metrics and the log. */
  name: Type.String({ minLength: 1 }),
  /**
   * The account that owns its calls. With `tenants`: the account of calls that show no customer; `null`: they belong to
   * nobody.
   */
  account: Type.Union([Type.String({ minLength: 1 }), Type.Null()]),
  /** The PBX serves several accounts: each call belongs to the account that this value names. */
  tenants: Type.Optional(TenantRule),
  host: Type.String({ minLength: 1 }),
  port: Type.Integer({ minimum: 1, maximum: 65535 }),
  user: Type.String(),
  secret: Type.String(),
  trunks: Type.Array(Type.String()),
  extensions: Type.Array(Type.String()),
  /**
   * The names that people use for the gateways of a FreeSWITCH, by the names in its configuration, which may be ids.
   */
  gateways: Type.Optional(Type.Record(Type.String(), Type.String())),
  /** Channel variables that are copied into events. */
  variables: Type.Array(Type.String()),
  /** The country in which its numbers are dialled (ISO 3166, `UZ`): events have their E.164 form then. */
  country: Type.Optional(Type.String()),
  /** The file of certificates that `amis` trusts instead of the system's. */
  caFile: Type.Optional(Type.String()),
  recordings: Type.Optional(RecordingsSource),
  calls: Type.Optional(CallsRule),
  /** The names of events of its dialplan that are passed on: `UserEvent`s, or subclasses of CUSTOM events. */
  custom: Type.Optional(Type.Array(Type.String())),
})
export type PbxSource = Static<typeof PbxSource>

const PARAMETERS: readonly string[] = [
  'name',
  'account',
  'tenants',
  'trunks',
  'extensions',
  'gateways',
  'variables',
  'country',
  'ca',
  'recordings',
  'recordings_root',
  'recordings_token',
  'custom',
  ...CALLS_PARAMETERS,
]

/** Returns the address of a PBX for people: `192.0.2.1:5038`, `[2001:db8::1]:5038`. */
export const hostAndPort = ({ host, port }: Pick<PbxSource, 'host' | 'port'>): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

type Parsed = { pbx: PbxSource } | { wrong: string }

/**
 * Parses `ami://user:secret@host:5038?name=office`. Returns the source, or the problem of the URL without its secret.
 */
export function parsePbxUrl(text: string): Parsed {
  if (!URL.canParse(text))
    return { wrong: 'is not a URL like ami://user:secret@host:5038 or esl://:password@host:8021' }
  const url = new URL(text)
  const protocol = protocolOf(url.protocol.slice(0, -1))
  if (protocol === undefined) return { wrong: `starts with ${url.protocol}//: use ami://, amis:// or esl://` }
  const { kind, port: usualPort } = PBX_PROTOCOLS[protocol]
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (host === '') return { wrong: 'has no host' }
  if (isDubiousAddress(host)) return { wrong: `has the host ${host}: write all four decimal parts of its address` }
  if (url.pathname !== '' && url.pathname !== '/')
    return { wrong: 'has a path: remove it, or write / as %2F if it is part of the secret' }
  if (url.port === '0') return { wrong: 'has port 0' }
  const user = decoded(url.username)
  const secret = decoded(url.password)
  const query = queryOf(url.search)
  if (user === undefined || secret === undefined || query === undefined)
    return { wrong: 'has a % that is not percent-encoding: write it as %25' }
  if (url.hash !== '') return { wrong: 'has a #: write it as %23' }
  if (PBX_FACTS[kind].hasUser && user === '') return { wrong: 'has no user: give it as ami://user:secret@host' }
  const unknown = [...query.keys()].find((key) => !PARAMETERS.includes(key))
  if (unknown !== undefined) return { wrong: `has the unknown parameter ${unknown}: use ${PARAMETERS.join(', ')}` }
  if (secret === '') return { wrong: 'has no secret: percent-encode characters that a URL cannot contain' }
  for (const [part, value] of [['user', user], ['secret', secret], ...query] as const) {
    const hidden = textProblem(value)
    if (hidden !== undefined) return { wrong: `cannot be used: its ${part} ${hidden}` }
  }
  const named = comparedText(query.get('name') ?? '')
  const problem = named ? nameProblem(named) : undefined
  if (problem !== undefined) return { wrong: `has a name that cannot be used (name=…): it ${problem}` }
  const port = url.port === '' ? usualPort : Number(url.port)
  const caFile = query.get('ca')
  const country = query.get('country')?.toUpperCase()
  if (country !== undefined && !isSupportedCountry(country))
    return { wrong: `has the unknown country ${country}: use the two letters of ISO 3166, as in country=UZ` }
  const recordings = recordingsOf(query)
  if (typeof recordings === 'string') return { wrong: recordings }
  const gateways = gatewaysOf(query.get('gateways'), kind)
  if (typeof gateways === 'string') return { wrong: gateways }
  const tenants = tenantsOf(query.get('tenants'), kind)
  if (typeof tenants === 'string') return { wrong: tenants }
  const calls = callsOf(query, kind, tenants?.by)
  if (typeof calls === 'string') return { wrong: calls }
  const custom = customOf(query.get('custom'))
  if (typeof custom === 'string') return { wrong: custom }
  return {
    pbx: {
      protocol,
      name: named || `${url.hostname}:${port}`,
      account: comparedText(query.get('account') ?? '') || (tenants === undefined ? 'default' : null),
      host,
      port,
      user,
      secret,
      trunks: list(query.get('trunks')),
      extensions: list(query.get('extensions')),
      variables: list(query.get('variables')),
      ...(gateways === undefined ? {} : { gateways }),
      ...(country === undefined ? {} : { country }),
      ...(caFile ? { caFile } : {}),
      ...(tenants === undefined ? {} : { tenants }),
      ...(recordings === undefined ? {} : { recordings }),
      ...(calls === undefined ? {} : { calls }),
      ...(custom.length === 0 ? {} : { custom }),
    },
  }
}

/**
 * Parses `domain`, `accountcode`, `context` or `variable:NAME`. Returns the rule, `undefined` for an empty text, or the
 * problem as the end of a sentence.
 */
export function tenantsOf(text: string | undefined, kind?: PbxKind): TenantRule | string | undefined {
  if (text === undefined || text === '') return undefined
  const [, by, variable = null] = /^(domain|accountcode|context|variable(?=:))(?::(\w[\w.-]*))?$/.exec(text) ?? []
  const isKnown = by === 'variable' ? variable !== null : variable === null
  if (!isKnown || (by !== 'domain' && by !== 'accountcode' && by !== 'context' && by !== 'variable'))
    return `has tenants=${text}: use tenants=domain, tenants=accountcode, tenants=context or tenants=variable:NAME`
  if (by === 'domain' && kind !== undefined && !PBX_FACTS[kind].hasDomains)
    return 'has tenants=domain, which only FreeSWITCH knows: use tenants=accountcode, tenants=context or tenants=variable:NAME'
  return { by, variable }
}

/** Parses `ID:Name,ID:Name`. Returns the names, `undefined` for an empty text, or the problem. */
function gatewaysOf(text: string | undefined, kind: PbxKind): Record<string, string> | string | undefined {
  const items = list(text)
  if (items.length === 0) return undefined
  if (!PBX_FACTS[kind].hasGateways) return 'has gateways=, which only FreeSWITCH has: remove it'
  const pairs = items.map((item) => /^([^:]+):(.+)$/.exec(item)?.slice(1) ?? [item])
  const bad = pairs.find(({ length }) => length !== 2)
  if (bad !== undefined)
    return `has gateways=${bad[0]}: give the name and what people call it, as in gateways=gw1:Carrier`
  return Object.fromEntries(pairs)
}

const MAX_CUSTOM = 20

/** Returns the names of custom events, each once, or the problem. */
function customOf(text: string | undefined): string[] | string {
  const names = [...new Set(list(text))]
  const wrong = names.find((name) => !/^[A-Za-z0-9_.:-]{1,64}$/.test(name))
  if (wrong !== undefined) return `has custom=${wrong}: use letters, digits, _ . : and -, 64 at most`
  return names.length > MAX_CUSTOM ? `has ${names.length} names in custom=: give ${MAX_CUSTOM} at most` : names
}

/** Writes the names of gateways for a PBX URL. */
export const gatewaysText = (gateways: readonly { readonly id: string; readonly name: string }[]): string =>
  gateways
    .map(({ id, name }) => ({ id, name: name.replace(/[,\s]+/g, ' ').trim() }))
    .filter(({ name }) => name !== '')
    .map(({ id, name }) => `${id}:${name}`)
    .join(',')

/** Returns the place of the recordings, `undefined` if the URL names none, or the problem. */
function recordingsOf(query: ReadonlyMap<string, string>): RecordingsSource | string | undefined {
  const location = query.get('recordings') ?? ''
  const root = query.get('recordings_root') || null
  const token = query.get('recordings_token') || undefined
  if (location === '')
    return root === null && token === undefined
      ? undefined
      : 'has recordings_root or recordings_token without recordings: add recordings=/path/of/the/folder'
  if (root !== null && !/^(\/|[A-Za-z]:[\\/])/.test(root))
    return `has recordings_root=${root}: give the whole path on the PBX`
  const isUrl = /^https?:/i.test(location)
  if (!isUrl && !location.startsWith('/'))
    return 'has recordings= without a whole path: give a folder like /mnt/monitor, or a URL like https://host/monitor/'
  if (isUrl) return remoteRecordings(location, root, token)
  return token === undefined ? { location, root } : 'has recordings_token, which is for a URL: remove it'
}

function remoteRecordings(location: string, root: string | null, token: string | undefined): RecordingsSource | string {
  if (!URL.canParse(location)) return 'has recordings= that is not a URL like https://host/monitor/'
  const url = new URL(location)
  const user = decoded(url.username)
  const password = decoded(url.password)
  if (user === undefined || password === undefined) return 'has a % in recordings= that is not percent-encoding'
  if (url.search !== '' || url.hash !== '') return 'has recordings= with ? or #: give the URL of the folder'
  url.username = ''
  url.password = ''
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  const hasUser = user !== '' || password !== ''
  if (hasUser && token !== undefined) return 'has recordings_token and a user in recordings=: give one of them'
  const basic = hasUser ? `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` : undefined
  const authorization = token === undefined ? basic : `Bearer ${token}`
  return { location: url.href, root, ...(authorization === undefined ? {} : { authorization }) }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Parses a query string. URLSearchParams would read `+`, which is part of numbers and patterns, as a space. */
function queryOf(search: string): Map<string, string> | undefined {
  const query = new Map<string, string>()
  for (const pair of search.slice(1).split('&').filter(Boolean)) {
    const cut = pair.indexOf('=')
    const key = decoded(cut < 0 ? pair : pair.slice(0, cut))
    const value = decoded(cut < 0 ? '' : pair.slice(cut + 1))
    if (key === undefined || value === undefined) return undefined
    query.set(key, value)
  }
  return query
}

const list = (value = '') =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)

/** Returns the kind of a PBX. */
export const pbxKindOf = ({ protocol }: Pick<PbxSource, 'protocol'>): PbxKind => PBX_PROTOCOLS[protocol].kind

/** A PBX with the URL that names it. */
export type GivenPbx = PbxSource & { readonly url: string }

/**
 * Returns the account to which all calls of a PBX belong; `undefined` if it serves several, or if its URL cannot be
 * read. `byDefault` is the account of a URL that names none.
 */
export function accountOfPbx(url: string, byDefault: string): string | undefined {
  const parsed = parsePbxUrl(url)
  return 'wrong' in parsed || parsed.pbx.tenants !== undefined ? undefined : (parsed.pbx.account ?? byDefault)
}
