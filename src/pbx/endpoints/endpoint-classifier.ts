// Distinguishes phones from trunks. PBXs do not mark them, and to take one for the other reverses the direction of all
// its calls. So each kind of evidence has a rank, the best decides, and a single call never overrules what is
// configured.

export type EndpointKind = 'extension' | 'trunk'

/** The configuration of an endpoint, as far as the PBX's user may read it. */
export type Configured = {
  /** It registers with a provider, or is a gateway. */
  readonly registers?: boolean
  /** The PBX lists it as one of its own. */
  readonly listed?: Listed
  /** How the dialplan dials it; if it does both, with a number. */
  readonly dialled?: 'with_number' | 'alone'
  /** The context that its calls begin in. */
  readonly context?: string
  /** It is no endpoint: others come and go through it. */
  readonly profile?: boolean
  /** Its extension, and whose it is. */
  readonly number?: string
  readonly name?: string
}

export type Listed = 'hint' | 'mailbox' | 'seat' | 'directory' | 'registration'

/** The evidence of calls about an endpoint. */
export type Seen = {
  /** The context that its own channels begin in. */
  readonly context?: string
  /** It was dialled with a number behind it, or it logged in as a user of the PBX. The first of them stays. */
  readonly proof?: 'with_number' | 'login'
  /** It was dialled with no number behind it. */
  readonly alone?: boolean
  /** Its own short number, where its name is none. */
  readonly number?: string
  /** Calls from it showed many numbers: others call through it. */
  readonly manyCallers?: boolean
}

/** How many endpoints use a context, of those whose kind does not come from contexts. */
export type ContextUse = { readonly extensions: number; readonly trunks: number }

/** Patterns of names, with or without the technology: `*` matches anything, `?` for one character. */
export type EndpointSettings = { readonly trunks: readonly string[]; readonly extensions: readonly string[] }

/** The evidence beside the endpoint itself. */
export type Surroundings = {
  readonly settings: EndpointSettings
  readonly usersOf: (context: string) => ContextUse
  /**
   * The PBX lists its extensions, and some have called or been called: a context that none of them uses is evidence.
   */
  readonly knowsExtensions: boolean
}

/** Why an endpoint is what it is, best evidence first. */
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
  | 'numeric_name'
  | 'none'

/** `null`: there is no evidence. */
export type EndpointVerdict = { readonly kind: EndpointKind | null; readonly reason: Reason }

const UNDECIDED: EndpointVerdict = { kind: null, reason: 'none' }
const extension = (reason: Reason): EndpointVerdict => ({ kind: 'extension', reason })
const trunk = (reason: Reason): EndpointVerdict => ({ kind: 'trunk', reason })

/** Returns the kind by settings, configuration or proof: by evidence that does not depend on other endpoints. */
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

/** Returns what an endpoint is, from all that is known. */
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
  return isShortNumber(bareName(name)) ? extension('numeric_name') : UNDECIDED
}

/**
 * Returns the kind that the operator gives an endpoint; who names the extensions alone means that the rest are
 * trunks.
 */
export function bySetting(name: string, number: string, { trunks, extensions }: EndpointSettings): EndpointKind | null {
  const isNamed = (pattern: string): boolean => matches(pattern, name) || matches(pattern, bareName(name))
  if (trunks.some(isNamed)) return 'trunk'
  if (extensions.some((pattern) => isNamed(pattern) || matches(pattern, number))) return 'extension'
  return extensions.length > 0 && trunks.length === 0 ? 'trunk' : null
}

/** As FreePBX, its kin and most handbooks call contexts. Others (`default`) may be anybody's. */
const OUTSIDE =
  /^(from-|incoming-|inbound-)?(trunks?|pstn|did|external|outside|providers?|zaptel|dahdi|analog|isdn|sip-external|incoming|inbound|public)\b/i
const INSIDE = /^(from-|local-|outgoing-)?(internal|inside|phones?|extensions?|users?)\b/i

/** Returns the kind of endpoint that a context is for, by its name; `null` if the name is no evidence. */
export function kindOfContext(context: string): EndpointKind | null {
  if (INSIDE.test(context)) return 'extension'
  return OUTSIDE.test(context) ? 'trunk' : null
}

/** Returns whether a text is a number as extensions have it. It proves nothing of who calls with it. */
export const isShortNumber = (text: string): boolean => /^\d{2,6}$/.test(text)

/** Returns an endpoint's name without its technology: `101` of `PJSIP/101`. */
export const bareName = (name: string): string => name.slice(name.indexOf('/') + 1)

/** Names are those of sections of a configuration; a longer one is compared by its beginning. */
const MAX_NAME_CHARACTERS = 256

/**
 * Returns whether a text matches a pattern: `*` stands for any text, `?` for one character. Only the last `*` is ever
 * tried again: no pattern takes more steps than its length times that of the text.
 */
function matches(pattern: string, text: string): boolean {
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
