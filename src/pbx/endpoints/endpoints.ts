import type { Endpoint } from '../../calls/signal.ts'
import {
  bareName,
  bySetting,
  type Configured,
  type ContextUse,
  classify,
  classifyAlone,
  type EndpointKind,
  type EndpointSettings,
  type EndpointVerdict,
  isShortNumber,
  type Seen,
} from './endpoint-classifier.ts'
import { cleanText } from './sanitize.ts'

/**
 * The endpoints of the PBX's configuration, as far as its user may list them; a new inventory replaces the one
 * before.
 */
export type Inventory = {
  /** By name, with the technology where the PBX has such: `PJSIP/101`. */
  readonly endpoints: Readonly<Record<string, Configured>>
  /** Full names by the number of their mailbox. */
  readonly mailboxes: Readonly<Record<string, string>>
  /** Display names of queues whose own name is another one; absent if an earlier version stored it. */
  readonly queues?: Readonly<Record<string, string>>
  /** The users by the names of the agents that ring them, where an agent's name is not that of its user. */
  readonly agents?: Readonly<Record<string, string>>
}

/** The knowledge that survives a restart, as plain data. */
export type SavedEndpoints = {
  readonly inventory: Inventory | null
  readonly seen: Readonly<Record<string, Seen>>
  /** The PBX was asked for its configuration and did not give it; absent if an earlier version stored it. */
  readonly isUnanswered?: boolean
}

/** An endpoint for people to see. */
export type KnownEndpoint = {
  readonly name: string
  readonly number: string | null
  readonly display: string | null
} & EndpointVerdict

/** The caller, as its channel shows it. */
type Caller = {
  readonly number: string
  readonly display: string
  /** The context in which its own calls begin; `''` if unknown. */
  readonly context: string
  /** It logged in as a user of the PBX. */
  readonly user?: boolean
  /** It has begun a call, and `number` is what it shows: a phone shows one number, a trunk those of its callers. */
  readonly begins?: boolean
}

/** The party that is dialled, as the dial shows it. */
type Callee = {
  /** The number that goes with the dial; `null` where the endpoint alone is dialled. */
  readonly sent: string | null
  /** It was dialled as a URI: `sent` is its user part, which a phone has too. */
  readonly uri?: boolean
  readonly number: string
  readonly display: string
  readonly context?: string
}

/** The endpoints of one PBX: their configuration, the evidence of calls, and the kind that follows from both. */
export type Endpoints = {
  caller(name: string, caller: Caller): Endpoint
  callee(name: string, callee: Callee): Endpoint
  /** Returns the party of an endpoint that the dialplan names, without a channel. */
  named(name: string, sent: string | null): Endpoint
  /** Returns the kind of an endpoint, `null` if there is no evidence. */
  kindOf(name: string): EndpointKind | null
  /** Returns the context in which its calls begin by the configuration, `''` if that is not known. */
  contextOf(name: string): string
  /** Returns the display name of a queue, `null` if it is not known. */
  queueName(queue: string): string | null
  /** Returns the user that an agent of queues rings, `null` if that is not known. */
  userOfAgent(agent: string): string | null
  /** Returns whether a number is known to be one of the PBX's own extensions. */
  isExtension(number: string): boolean
  configure(inventory: Inventory): void
  /** Returns whether there was ever an inventory. */
  isConfigured(): boolean
  /** Notes that the PBX did not give its configuration. */
  noteUnanswered(): void
  /** Returns whether it did not, and has not since. */
  isUnanswered(): boolean
  /** Returns the callers for whose kind there is no evidence: they are treated as trunks. */
  undecidedCallers(): string[]
  /** Returns all that are known, in the order of their names. */
  list(): readonly KnownEndpoint[]
  /** Returns what should survive a restart. */
  saved(): SavedEndpoints
  /** Returns how often what should survive has changed. */
  version(): number
}

/**
 * More endpoints than any PBX has that configuration does not name: channel names may hold numbers that callers
 * choose.
 */
const MAX_SEEN = 10_000
/** A phone may show its extension and a number of the company, and both may be changed: more are those of others. */
const MANY_CALLERS = 4
/** So many are named to the operator. */
const MAX_UNDECIDED = 20
const NOTHING: Configured = {}
const UNSEEN: Seen = {}

/** Returns the endpoints of one PBX, with the knowledge of an earlier process if there is any. */
export function createEndpoints(settings: EndpointSettings, saved?: SavedEndpoints): Endpoints {
  const evidence = createEvidence(settings, saved)
  const { note, configuredOf, seenOf, verdictOf } = evidence
  const undecided = new Set<string>()
  const callers = newCallerCount((name) => seenOf(name).manyCallers === true)
  /** Sorting thousands of them for each reader of the page would be felt. */
  let sorted: { readonly version: number; readonly endpoints: readonly KnownEndpoint[] } | undefined

  function extension(name: string, number: string, display: string): Endpoint {
    const configured = configuredOf(name)
    const bare = bareName(name)
    if (!isShortNumber(bare) && isShortNumber(number)) note(name, { number })
    const own = configured.number ?? (isShortNumber(bare) ? bare : (seenOf(name).number ?? bare))
    return { kind: 'extension', number: cleanText(own), name: cleanText(display) ?? cleanText(configured.name ?? '') }
  }

  return {
    caller(name, { number, display, context, user, begins = false }) {
      if (context !== '') note(name, { context })
      if (user === true) note(name, { proof: 'login' })
      if (begins && callers.add(name, number)) note(name, { manyCallers: true })
      const kind = bySetting(name, number, settings) ?? verdictOf(name).kind
      if (kind === null && undecided.size < MAX_UNDECIDED) undecided.add(name)
      if (kind === 'extension' || (kind === null && bareName(name) === number)) return extension(name, number, display)
      const outside = cleanText(number)
      return { kind: 'external', number: outside, name: outside === null ? null : cleanText(display) }
    },
    callee(name, { sent, uri = false, number, display, context = '' }) {
      const behind = uri && !isSentAway(name, sent, number) ? null : sent
      const known = seenOf(name).context ?? ''
      // A dialled channel begins in the same context as its endpoint's own calls.
      if (context !== '' && known === '') note(name, { context })
      note(name, behind === null ? { alone: true } : { proof: 'with_number' })
      const kind = bySetting(name, number, settings) ?? verdictOf(name).kind
      if (kind !== 'trunk') return extension(name, number, display)
      return { kind: 'external', number: cleanText(behind ?? number), name: null }
    },
    named(name, sent) {
      const kind = verdictOf(name).kind ?? (sent === null ? 'extension' : 'trunk')
      if (kind === 'extension') return extension(name, '', '')
      return { kind: 'external', number: cleanText(sent ?? ''), name: null }
    },
    kindOf: (name) => verdictOf(name).kind,
    contextOf: (name) => configuredOf(name).context ?? '',
    queueName: evidence.queueName,
    userOfAgent: evidence.userOfAgent,
    isExtension: evidence.isExtension,
    configure: evidence.configure,
    isConfigured: evidence.isConfigured,
    noteUnanswered: evidence.noteUnanswered,
    isUnanswered: evidence.isUnanswered,
    undecidedCallers: () => [...undecided].filter((name) => verdictOf(name).kind === null),
    list() {
      const version = evidence.version()
      if (sorted?.version !== version) sorted = { version, endpoints: listAll(evidence) }
      return sorted.endpoints
    },
    saved: evidence.saved,
    version: evidence.version,
  }
}

/** The evidence about the endpoints of one PBX, and the kinds that follow from it. */
type Evidence = Pick<
  Endpoints,
  | 'queueName'
  | 'userOfAgent'
  | 'isExtension'
  | 'configure'
  | 'isConfigured'
  | 'noteUnanswered'
  | 'isUnanswered'
  | 'saved'
  | 'version'
> & {
  /** Adds what a call has shown. */
  note(name: string, change: Seen): void
  configuredOf(name: string): Configured
  seenOf(name: string): Seen
  verdictOf(name: string): EndpointVerdict
  names(): ReadonlySet<string>
}

function createEvidence(settings: EndpointSettings, saved: SavedEndpoints | undefined): Evidence {
  let inventory = indexed(saved?.inventory ?? null)
  const seen = new Map<string, Seen>(Object.entries(saved?.seen ?? {}))
  let isUnanswered = saved?.isUnanswered === true
  let version = 0
  let contexts = newContextCount()

  const configuredOf = (name: string): Configured => {
    const configured = inventory.endpoints.get(name) ?? NOTHING
    const fullName = inventory.mailboxes.get(configured.number ?? bareName(name))
    if (fullName === undefined) return configured
    return { ...configured, listed: configured.listed ?? 'mailbox', name: configured.name ?? fullName }
  }
  const seenOf = (name: string): Seen => seen.get(name) ?? UNSEEN
  const surely = (name: string, what: Seen): EndpointVerdict => classifyAlone(name, configuredOf(name), what, settings)
  const recount = (): void => {
    contexts = newContextCount()
    for (const [name, what] of seen) contexts.add(what, surely(name, what), 1)
  }
  const forgetOldest = (): void => {
    const [oldest] = seen
    if (oldest === undefined) return
    contexts.add(oldest[1], surely(...oldest), -1)
    seen.delete(oldest[0])
  }
  const around = {
    settings,
    usersOf: (context: string) => contexts.usersOf(context),
    get knowsExtensions() {
      return inventory.numbers.size > 0 && contexts.anyExtension()
    },
  }

  recount()
  return {
    note(name, change) {
      const known = seenOf(name)
      const next = { ...known, ...change }
      // A proof stays.
      if (known.proof !== undefined) next.proof = known.proof
      if (isSame(known, next)) return
      contexts.add(known, surely(name, known), -1)
      seen.delete(name)
      seen.set(name, next)
      contexts.add(next, surely(name, next), 1)
      if (seen.size > MAX_SEEN) forgetOldest()
      version += 1
    },
    configuredOf,
    seenOf,
    verdictOf: (name) => classify(name, configuredOf(name), seenOf(name), around),
    names: () => new Set([...inventory.endpoints.keys(), ...seen.keys()]),
    queueName: (queue) => cleanText(inventory.queues.get(queue) ?? ''),
    userOfAgent: (agent) => inventory.agents.get(agent) ?? null,
    isExtension: (number) => inventory.numbers.has(number),
    configure(now) {
      inventory = indexed(now)
      isUnanswered = false
      version += 1
      recount()
    },
    isConfigured: () => inventory.source !== null,
    noteUnanswered() {
      if (isUnanswered) return
      isUnanswered = true
      version += 1
    },
    isUnanswered: () => isUnanswered,
    saved: () => ({ inventory: inventory.source, seen: Object.fromEntries(seen), isUnanswered }),
    version: () => version,
  }
}

function listAll({ names, configuredOf, seenOf, verdictOf }: Evidence): KnownEndpoint[] {
  return [...names()].toSorted().flatMap((name) => {
    const { number, name: display, profile } = configuredOf(name)
    if (profile === true) return []
    const verdict = verdictOf(name)
    const own = number ?? seenOf(name).number ?? (isShortNumber(bareName(name)) ? bareName(name) : null)
    return { name, number: verdict.kind === 'trunk' ? null : own, display: cleanText(display ?? ''), ...verdict }
  })
}

/** Counts who uses which context, of those whose kind does not come from contexts. */
function newContextCount() {
  const uses = new Map<string, { extensions: number; trunks: number }>()
  let extensions = 0
  return {
    /** `by`: 1 for one that comes, -1 for one that goes. */
    add({ context = '' }: Seen, { kind }: EndpointVerdict, by: 1 | -1): void {
      if (context === '' || kind === null) return
      const use = uses.get(context) ?? { extensions: 0, trunks: 0 }
      use[kind === 'extension' ? 'extensions' : 'trunks'] += by
      if (kind === 'extension') extensions += by
      if (use.extensions + use.trunks === 0) uses.delete(context)
      else uses.set(context, use)
    },
    usersOf: (context: string): ContextUse => uses.get(context) ?? { extensions: 0, trunks: 0 },
    anyExtension: () => extensions > 0,
  }
}

/** Counts the numbers that each endpoint shows, as far as it takes. They are numbers of people, and are not stored. */
function newCallerCount(isKnown: (name: string) => boolean) {
  const numbers = new Map<string, Set<string>>()
  return {
    /** Adds a number. Returns whether the endpoint has now shown many. */
    add(name: string, number: string): boolean {
      if (!/^\+?\d+$/.test(number) || isKnown(name)) return false
      const shown = numbers.get(name) ?? new Set()
      shown.add(number)
      numbers.delete(name)
      const areMany = shown.size >= MANY_CALLERS
      if (!areMany) numbers.set(name, shown)
      const [oldest] = numbers.keys()
      if (numbers.size > MAX_SEEN && oldest !== undefined) numbers.delete(oldest)
      return areMany
    },
  }
}

function indexed(source: Inventory | null) {
  const endpoints = new Map(Object.entries(source?.endpoints ?? {}))
  const numbers = new Set(
    [...endpoints].flatMap(([name, { listed, number }]) => (listed === undefined ? [] : (number ?? bareName(name)))),
  )
  const mailboxes = new Map(Object.entries(source?.mailboxes ?? {}))
  const queues = new Map(Object.entries(source?.queues ?? {}))
  const agents = new Map(Object.entries(source?.agents ?? {}))
  return { source, endpoints, mailboxes, queues, agents, numbers }
}

const isSame = (one: Seen, other: Seen): boolean =>
  one.context === other.context &&
  one.proof === other.proof &&
  one.alone === other.alone &&
  one.number === other.number &&
  one.manyCallers === other.manyCallers

/**
 * The user part of a URI is a number that is sent on, unless it is the phone's own: its name, its number, or what it
 * made up.
 */
function isSentAway(name: string, user: string | null, number: string): boolean {
  return user !== null && user !== bareName(name) && user !== number && /^\+?\d{7,}$/.test(user)
}
