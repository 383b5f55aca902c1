import type { Endpoint } from '../../calls/calls.ts'
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
  numberInName,
  type Seen,
} from './endpoint-classifier.ts'
import { cleanText } from './sanitize.ts'

/**
 * The endpoints of the PBX's configuration, as far as its user may list them; a new inventory replaces the last one.
 */
export type Inventory = {
  /** The configuration by name, which includes the technology if the PBX has them: `PJSIP/101`. */
  readonly endpoints: Readonly<Record<string, Configured>>
  /** Full names by the number of their mailbox. */
  readonly mailboxes: Readonly<Record<string, string>>
  /** Display names of queues, if they differ from the queues' names; absent if an earlier version stored it. */
  readonly queues?: Readonly<Record<string, string>>
  /** The users that agents ring, by the agents' names, if these differ from the users' names. */
  readonly agents?: Readonly<Record<string, string>>
}

/** The facts that survive a restart, as plain data. */
export type SavedEndpoints = {
  readonly inventory: Inventory | null
  readonly seen: Readonly<Record<string, Seen>>
  /** The PBX was asked for its configuration and did not give it; absent if an earlier version stored it. */
  readonly isUnanswered?: boolean
}

/** An endpoint, for display. */
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
  /** It has begun a call and shows `number`: a phone shows one number, a trunk the numbers of its callers. */
  readonly begins?: boolean
}

/** The dialled party, as the dial shows it. */
type Callee = {
  /** The number that goes with the dial; `null` if only the endpoint is dialled. */
  readonly sent: string | null
  /** It was dialled as a URI: `sent` is the user part, which a phone's URI has too. */
  readonly uri?: boolean
  readonly number: string
  readonly display: string
  readonly context?: string
}

/** The endpoints of one PBX: their configuration, the evidence of calls, and the resulting kinds. */
export type Endpoints = {
  caller(name: string, caller: Caller): Endpoint
  callee(name: string, callee: Callee): Endpoint
  /** Returns the party of an endpoint that the dialplan names, without a channel. */
  named(name: string, sent: string | null): Endpoint
  /** Returns the kind of an endpoint, `null` if there is no evidence. */
  kindOf(name: string): EndpointKind | null
  /** Returns whether an endpoint of this name is in the configuration, or was seen. */
  isNamed(name: string): boolean
  /** Returns the configured context in which its calls begin, `''` if unknown. */
  contextOf(name: string): string
  /** Returns the display name of a queue, `null` if unknown. */
  queueName(queue: string): string | null
  /** Returns the user that an agent of queues rings, `null` if unknown. */
  userOfAgent(agent: string): string | null
  isExtension(number: string): boolean
  /** Returns the party at a number that is known to be an extension, else `null`. */
  extensionAt(number: string): Endpoint | null
  /** Names of users by address (`101@acme.example`), as far as the PBX was asked for them; not stored. */
  readonly userNames: Map<string, string>
  configure(inventory: Inventory): void
  /** Returns whether there was ever an inventory. */
  isConfigured(): boolean
  /** Notes that the PBX did not give its configuration. */
  noteUnanswered(): void
  /** Returns whether the PBX did not give its configuration, and has not since. */
  isUnanswered(): boolean
  /** Returns the callers without evidence for their kind: they are treated as trunks. */
  undecidedCallers(): string[]
  /** Returns all known endpoints, in the order of their names. */
  list(): readonly KnownEndpoint[]
  /** Returns the facts to store for the next process. */
  saved(): SavedEndpoints
  /** Returns the number of changes to the facts to store. */
  version(): number
}

/** More endpoints than any PBX has outside its configuration: callers can put numbers into the names of channels. */
const MAX_SEEN = 10_000
/**
 * A phone may show its extension and a company number, and both may be changed: more numbers belong to other parties.
 */
const MANY_CALLERS = 4
/** An outside number, as a caller of a trunk shows it. */
const OUTSIDE_NUMBER = /^\+?\d{7,}$/
/** The most endpoints that are named to the operator. */
const MAX_UNDECIDED = 20
const NOTHING: Configured = {}
const UNSEEN: Seen = {}

/** Returns the endpoints of one PBX, with the stored facts of an earlier process if there are any. */
export function createEndpoints(settings: EndpointSettings, saved?: SavedEndpoints): Endpoints {
  const evidence = createEvidence(settings, saved)
  const { note, configuredOf, seenOf, verdictOf } = evidence
  const undecided = new Set<string>()
  const callers = newCallerCount((name) => seenOf(name).manyCallers === true)
  /** Cached: sorting thousands of endpoints for each reader of the page would be noticed. */
  let sorted: { readonly version: number; readonly endpoints: readonly KnownEndpoint[] } | undefined

  function extension(name: string, number: string, display: string): Endpoint {
    const configured = configuredOf(name)
    const shown = numberInName(name)
    if (shown === null && isShortNumber(number)) note(name, { number })
    const own = configured.number ?? shown ?? seenOf(name).number ?? bareName(name)
    return { kind: 'extension', number: cleanText(own), name: cleanText(display) ?? cleanText(configured.name ?? '') }
  }

  return {
    caller(name, { number, display, context, user, begins = false }) {
      if (context !== '') note(name, { context })
      if (user === true) note(name, { proof: 'login' })
      if (begins && callers.add(name, number)) note(name, { manyCallers: true })
      if (begins && OUTSIDE_NUMBER.test(number) && number !== bareName(name)) note(name, { foreignCaller: true })
      const kind = bySetting(name, number, settings) ?? verdictOf(name).kind
      if (kind === null && undecided.size < MAX_UNDECIDED) undecided.add(name)
      if (kind === 'extension' || (kind === null && bareName(name) === number)) return extension(name, number, display)
      const outside = cleanText(number)
      return { kind: 'external', number: outside, name: outside === null ? null : cleanText(display) }
    },
    callee(name, { sent, uri = false, number, display, context = '' }) {
      const behind = uri && !isSentAway(name, sent, number) ? null : sent
      const known = seenOf(name).context ?? ''
      // The dialled channel begins in the same context as its endpoint's own calls.
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
    isNamed: evidence.isNamed,
    contextOf: (name) => configuredOf(name).context ?? '',
    queueName: evidence.queueName,
    userOfAgent: evidence.userOfAgent,
    isExtension: evidence.isExtension,
    extensionAt: (number) =>
      evidence.isExtension(number)
        ? { kind: 'extension', number, name: cleanText(configuredOf(number).name ?? '') }
        : null,
    userNames: new Map(),
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

/** The evidence about the endpoints of one PBX, and the resulting kinds. */
type Evidence = Pick<
  Endpoints,
  | 'isNamed'
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
  /** Adds evidence of a call. */
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
      // The first proof stays.
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
    isNamed: (name) => seen.has(name) || inventory.endpoints.has(name),
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
    const own = number ?? numberInName(name) ?? seenOf(name).number ?? null
    return { name, number: verdict.kind === 'trunk' ? null : own, display: cleanText(display ?? ''), ...verdict }
  })
}

/** Counts the endpoints of each context by kind, without those whose kind follows from the context. */
function newContextCount() {
  const uses = new Map<string, { extensions: number; trunks: number }>()
  let extensions = 0
  return {
    /** `by`: 1 for an added endpoint, -1 for a removed one. */
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

/** Counts the numbers that each endpoint shows, up to the limit. They are people's numbers, and are not stored. */
function newCallerCount(isKnown: (name: string) => boolean) {
  const numbers = new Map<string, Set<string>>()
  return {
    /** Adds a number. Returns whether the endpoint has shown many by now. */
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
  one.foreignCaller === other.foreignCaller &&
  one.manyCallers === other.manyCallers

/** Returns whether a URI's user part is a number for another party, not the phone's own name, number or random user. */
function isSentAway(name: string, user: string | null, number: string): boolean {
  return user !== null && user !== bareName(name) && user !== number && /^\+?\d{7,}$/.test(user)
}
