import { type Static, Type } from '@sinclair/typebox'
import type { PbxKind } from './pbx-facts.ts'

/** How calls are made on a PBX: click to call. A PBX without this makes none. */
export const CallsRule = Type.Object({
  /** The user of the manager interface that may originate calls, and its secret; both empty on a FreeSWITCH. */
  user: Type.String(),
  secret: Type.String(),
  /** The context in which numbers are dialled; `null`: the phone's own. */
  context: Type.Union([Type.String(), Type.Null()]),
  /** The kind of dialplan of a FreeSWITCH. */
  dialplan: Type.String(),
  /** Patterns of the numbers that may be called; empty: any. */
  to: Type.Array(Type.String()),
  /** The party that rings: a device of the phone, or its extension with all that the dialplan does for it. */
  phone: Type.Union([Type.Literal('device'), Type.Literal('extension')]),
})
export type CallsRule = Static<typeof CallsRule>

/** The parameters of a PBX URL that belong to calls. */
export const CALLS_PARAMETERS = ['calls', 'calls_context', 'calls_dialplan', 'calls_to', 'calls_phone'] as const

/** The context in which a FreePBX, and most others, has the numbers that a phone may dial. */
const ASTERISK_CONTEXT = 'from-internal'
const CONTEXT = /^[\w.-]{1,79}$/
const DIALPLAN = /^(\w{1,32}) ([\w.@-]{1,79})$/
const PATTERN = /^[0-9*#+?]{1,64}$/

type Query = ReadonlyMap<string, string>

/**
 * Returns how calls are made, `undefined` if the URL allows none, or the problem as the end of a sentence. `tenantsBy`:
 * the fact that names the customer of a channel, if there are several.
 */
export function callsOf(query: Query, kind: PbxKind, tenantsBy: string | undefined): CallsRule | string | undefined {
  const given = CALLS_PARAMETERS.find((name) => name !== 'calls' && query.get(name))
  const calls = query.get('calls') ?? ''
  if (calls === '' || calls === 'no')
    return given === undefined ? undefined : `has ${given} without calls: add calls=${exampleOf(kind)}`
  const to = (query.get('calls_to') ?? '').split(',').map((item) => item.trim())
  const patterns = to.filter(Boolean)
  const wrong = patterns.find((pattern) => !PATTERN.test(pattern))
  if (wrong !== undefined) return `has calls_to=${wrong}: use digits, *, #, + and ? as in calls_to=+49*,1??`
  const phone = query.get('calls_phone') || 'device'
  if (phone !== 'device' && phone !== 'extension')
    return `has calls_phone=${phone}: use calls_phone=device or calls_phone=extension`
  const where = kind === 'asterisk' ? ofAsterisk(query, calls, tenantsBy) : ofFreeswitch(query, calls)
  return typeof where === 'string' ? where : { ...where, to: patterns, phone }
}

const exampleOf = (kind: PbxKind): string => (kind === 'asterisk' ? 'USER:SECRET' : 'yes')

type Where = Pick<CallsRule, 'user' | 'secret' | 'context' | 'dialplan'>

function ofAsterisk(query: Query, calls: string, tenantsBy: string | undefined): Where | string {
  if (query.get('calls_dialplan')) return 'has calls_dialplan, which is for FreeSWITCH: use calls_context'
  const colon = calls.indexOf(':')
  const user = calls.slice(0, Math.max(colon, 0))
  const secret = calls.slice(colon + 1)
  if (user === '' || secret === '')
    return 'has calls= without a user and a secret: give the second user of manager.conf, as in calls=USER:SECRET'
  const context = query.get('calls_context') ?? ''
  if (tenantsBy === 'context') {
    if (context !== '') return 'has calls_context beside tenants=context, which is the context already: remove it'
    return { user, secret, context: null, dialplan: '' }
  }
  if (context !== '' && !CONTEXT.test(context)) return `has calls_context=${context}: give the name of a context`
  return { user, secret, context: context || ASTERISK_CONTEXT, dialplan: '' }
}

function ofFreeswitch(query: Query, calls: string): Where | string {
  if (query.get('calls_context')) return 'has calls_context, which is for Asterisk: use calls_dialplan=XML%20NAME'
  if (calls !== 'yes') return 'has calls= with a user: its password allows calls already, so give calls=yes'
  const given = query.get('calls_dialplan') ?? ''
  const [, dialplan = 'XML', context = null] = DIALPLAN.exec(given) ?? []
  if (given !== '' && context === null)
    return `has calls_dialplan=${given}: give the kind of dialplan and the context, as in calls_dialplan=XML%20default`
  return { user: '', secret: '', context, dialplan }
}
