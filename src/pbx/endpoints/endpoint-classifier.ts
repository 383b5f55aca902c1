// Distinguishes phones from trunks. PBXs do not mark them, and a mistake reverses the direction of all calls of the
// endpoint. So each kind of evidence has a rank, the best one decides, and a single call never overrules the
// configuration.

export type EndpointKind = 'extension' | 'trunk'

/** The configuration of an endpoint, as far as the PBX's user may read it. */
export type Configured = {
  /** It registers with a provider, or is a gateway. */
  readonly registers?: boolean
  /** The list in which the PBX has it as one of its own. */
  readonly listed?: Listed
  /** How the dialplan dials it; if it does both, `with_number`. */
  readonly dialled?: 'with_number' | 'alone'
  /** The context in which its calls begin. */
  readonly context?: string
  /** It is no endpoint: other endpoints call through it. */
  readonly profile?: boolean
  /** Its extension, and its owner's name. */
  readonly number?: string
  readonly name?: string
}

export type Listed = 'hint' | 'mailbox' | 'seat' | 'directory' | 'registration'

/** The evidence of calls for an endpoint. */
export type Seen = {
  /** The context in which its own channels begin. */
  readonly context?: string
  /** It was dialled with a number behind it, or it logged in as a user of the PBX. The first proof stays. */
  readonly proof?: 'with_number' | 'login'
  /** It was dialled without a number. */
  readonly alone?: boolean
  /** Its own short number, if its name has no number. */
  readonly number?: string
  /** Calls from it showed many numbers: other parties call through it. */
  readonly manyCallers?: boolean
  /** It called with an outside number that is not its name. */
  readonly foreignCaller?: boolean
}

/** The number of endpoints in a context, by kind, without those whose kind follows from the context. */
export type ContextUse = { readonly extensions: number; readonly trunks: number }

/** Patterns of names, with or without the technology: `*` matches any text, `?` one character. */
export type EndpointSettings = { readonly trunks: readonly string[]; readonly extensions: readonly string[] }

/** The evidence outside the endpoint itself. */
type Surroundings = {
  readonly settings: EndpointSettings
  readonly usersOf: (context: string) => ContextUse
  /**
   * The PBX lists its extensions, and some have made or received calls: a context that none of them uses is evidence.
   */
  readonly knowsExtensions: boolean
}

/** Why an endpoint has its kind, best evidence first. */
export type Reason =
  | 'setting'
  | 'registers'
  | Listed
  | 'dialplan_number'
  | 'call_number'
  | 'login'
  | 'context'
  | 'dialplan_alone'
  | 'many_callers'
  | 'context_shared'
  | 'call_alone'
  | 'foreign_caller'
  | 'numeric_name'
  | 'none'

/** `null`: there is no evidence. */
export type EndpointVerdict = { readonly kind: EndpointKind | null; readonly reason: Reason }

const UNDECIDED: EndpointVerdict = { kind: null, reason: 'none' }
const extension = (reason: Reason): EndpointVerdict => ({ kind: 'extension', reason })
const trunk = (reason: Reason): EndpointVerdict => ({ kind: 'trunk', reason })

/** Returns the kind by settings, configuration or proof: evidence that does not depend on other endpoints. */
export function classifyAlone(
  name: string,
  configured: Configured,
  seen: Seen,
  settings: EndpointSettings,
): EndpointVerdict {
  const set = bySetting(name, configured.number ?? seen.number ?? '', settings)
  if (set !== null) return { kind: set, reason: 'setting' }
  if (configured.registers === true) return trunk('registers')
  if (configured.listed !== undefined) return extension(configured.listed)
  if (configured.dialled === 'with_number') return trunk('dialplan_number')
  if (seen.proof === 'login') return extension('login')
  if (seen.proof === 'with_number') return trunk('call_number')
  return UNDECIDED
}

export function classify(name: string, configured: Configured, seen: Seen, around: Surroundings): EndpointVerdict {
  const sure = classifyAlone(name, configured, seen, around.settings)
  if (sure.kind !== null) return sure
  const context = configured.context ?? seen.context ?? ''
  const named = kindOfContext(context)
  if (named !== null) return { kind: named, reason: 'context' }
  if (configured.dialled === 'alone') return extension('dialplan_alone')
  if (seen.manyCallers === true) return trunk('many_callers')
  const users = around.usersOf(context)
  if (context !== '' && users.extensions > 0 && users.trunks === 0) return extension('context_shared')
  if (context !== '' && users.extensions === 0 && around.knowsExtensions) return trunk('context_shared')
  if (seen.alone === true) return extension('call_alone')
  // A peer of digits is no phone if others call through it.
  if (seen.foreignCaller === true) return trunk('foreign_caller')
  return numberInName(name) === null ? UNDECIDED : extension('numeric_name')
}

/** Technologies whose names are those of lines (`DAHDI/33`), not of phones. */
const LINES = /^(?:dahdi|zap|misdn|capi|khomp|dongle|quectel|datacard|mobile|ooh323|lcr|unistim)\//i

/**
 * Returns the extension that an endpoint's name shows, `101` of `PJSIP/101` and `PJSIP/101@acme.example`; `null` if it
 * shows none.
 */
export function numberInName(name: string): string | null {
  const [user = ''] = bareName(name).split('@')
  return isShortNumber(user) && !LINES.test(name) ? user : null
}

/**
 * Returns the kind that the operator's settings give an endpoint; if they name only extensions, all others are trunks.
 */
export function bySetting(name: string, number: string, { trunks, extensions }: EndpointSettings): EndpointKind | null {
  const isNamed = (pattern: string): boolean => matches(pattern, name) || matches(pattern, bareName(name))
  if (trunks.some(isNamed)) return 'trunk'
  if (extensions.some((pattern) => isNamed(pattern) || matches(pattern, number))) return 'extension'
  return extensions.length > 0 && trunks.length === 0 ? 'trunk' : null
}

/** Names of contexts in FreePBX, its relatives and most handbooks. Other names (`default`) are no evidence. */
const OUTSIDE =
  /^(from-|incoming-|inbound-)?(trunks?|pstn|did|external|outside|providers?|zaptel|dahdi|analog|isdn|sip-external|incoming|inbound|public)\b/i
const INSIDE = /^(from-|local-|outgoing-)?(internal|inside|phones?|extensions?|users?)\b/i

/** Returns the kind of endpoint by the name of its context; `null` if the name is no evidence. */
export function kindOfContext(context: string): EndpointKind | null {
  if (INSIDE.test(context)) return 'extension'
  return OUTSIDE.test(context) ? 'trunk' : null
}

/** Returns whether a text is a number as extensions have it. It proves nothing about the caller. */
export const isShortNumber = (text: string): boolean => /^\d{2,6}$/.test(text)

/** Returns an endpoint's name without its technology: `101` of `PJSIP/101`. */
export const bareName = (name: string): string => name.slice(name.indexOf('/') + 1)

/** Names are section names of a configuration; only the beginning of a longer one is compared. */
const MAX_NAME_CHARACTERS = 256

/**
 * Returns whether a text matches a pattern: `*` stands for any text, `?` for one character. Only the last `*` is ever
 * tried again, so no pattern takes more steps than its length times the length of the text.
 */
export function matches(pattern: string, text: string): boolean {
  const length = Math.min(text.length, MAX_NAME_CHARACTERS)
  let at = 0
  let inPattern = 0
  let star = -1
  let starAt = 0
  while (at < length) {
    if (pattern[inPattern] === '*') {
      star = inPattern
      starAt = at
      inPattern += 1
    } else if (inPattern < pattern.length && (pattern[inPattern] === '?' || pattern[inPattern] === text[at])) {
      inPattern += 1
      at += 1
    } else if (star >= 0) {
      starAt += 1
      at = starAt
      inPattern = star + 1
    } else return false
  }
  while (pattern[inPattern] === '*') inPattern += 1
  return inPattern === pattern.length
}
