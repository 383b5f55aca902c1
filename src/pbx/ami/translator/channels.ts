import type { ChannelSignal, Endpoint } from '../../../calls/calls.ts'
import type { StageResult } from '../../../events/enums.ts'
import { dropOldest } from '../../connection/oldest.ts'
import { kindOfContext } from '../../endpoints/endpoint-classifier.ts'
import type { Endpoints } from '../../endpoints/endpoints.ts'
import { cleanText, cleanValue } from '../../endpoints/sanitize.ts'
import type { TenantRule } from '../../source/pbx-url.ts'
import type { AmiFrame } from '../frame.ts'

/** The options of a MixMonitor. */
export type RecordingOptions = { readonly whileBridged?: boolean; readonly appends?: boolean }

/** A channel, with the state kept between its events. */
export type KnownChannel = {
  readonly name: string
  readonly local: boolean
  linkedId: string
  exten: string
  /** It came from a trunk without a called number. */
  dialledNothing: boolean
  /** Its party called the PBX. */
  calls: boolean
  /** Nobody knows its party's number, or its name, so far. */
  lacksNumber: boolean
  lacksName: boolean
  /** Its own number, if it is an extension. */
  extension: string | null
  /** The last extension with a number that it entered: the caller of the running macro or subroutine. */
  entered: string | null
  /** The extension whose follow-me of FreePBX has begun, until the follow-me reports how it rings its members. */
  followMe: string | null
  /** The place of the subroutine that it called last, and the calling extension. */
  subroutine: { readonly context: string; readonly exten: string; readonly caller: string } | null
  /** The endpoint's own caller id in the PBX's configuration: later events show the caller's. */
  readonly number: string
  readonly display: string
  /** The targets of the next Dial and of the running one, and the running one's targets that got a channel. */
  nextTargets: string[]
  targets: string[]
  rung: Set<string>
  /** It pages: the phones that Asterisk rings in its call are rung for it. */
  pages: boolean
  /** The running Dial was reported as a group, and the extension of the group that FreePBX has shown. */
  dialsGroup: boolean
  shownGroup: string | null
  /** The channels of the running Dial that ended unanswered. */
  unanswered: string[]
  /** The channel whose Dial or Queue rings it now. */
  rungBy: string | null
  /** A queue rings it as an agent's phone. */
  isAgent: boolean
  /** How many times its dial was reported to be over. */
  dialEnds: number
  /** The reason that its phone gave for hanging up before it answered. */
  refusal: StageResult | null
  /** Its Dial was answered, and has not returned yet. */
  dialAnswered: boolean
  /** The extension that FreePBX is about to dial; `null` once a Dial began, or once it turned out not to be dialled. */
  aboutToDial: string | null
  /** That extension forwards: the next dial goes to another party instead. */
  forwards: boolean
  /** The queue that it is about to enter. */
  nextQueue: string | null
  /** The queue that it left last: its reason follows. */
  leftQueue: string | null
  /** Its party was asked to confirm the call, and declined. */
  declined: boolean
  /** The dialplan refuses its call. */
  refused: boolean
  /** The file of a recording whose start was not reported yet. */
  path: string | null
  /** The options of the MixMonitor that it is about to start. */
  recordingOptions: RecordingOptions
  /** The file of the Monitor that it is about to start; `null` if it is not known, or there are two. */
  monitorPath: string | null
  /** The value by which it shows its customer; `null` if it has none. */
  tenant: string | null
  /** A list or a later event showed it first: the events of its beginning were not seen. */
  found: boolean
  /** A list showed it before it was up: its answer may come before the next event of this connection. */
  mayBeUp: boolean
  /** It rang, which changes the meaning of a refusal. */
  rang: boolean
  /** The last values of variables that became signals, by name. */
  readonly reportedVariables: Map<string, string>
}

/** Adds a channel without any other facts. */
export function addChannel(
  context: AmiContext,
  id: string,
  channel: Pick<KnownChannel, 'name' | 'linkedId' | 'exten' | 'number' | 'display' | 'tenant' | 'rang'>,
): KnownChannel {
  const added: KnownChannel = {
    ...channel,
    local: channel.name.startsWith('Local/'),
    dialledNothing: false,
    found: false,
    mayBeUp: false,
    calls: false,
    lacksNumber: false,
    lacksName: false,
    extension: null,
    entered: null,
    followMe: null,
    subroutine: null,
    nextTargets: [],
    targets: [],
    rung: new Set(),
    pages: false,
    dialsGroup: false,
    shownGroup: null,
    unanswered: [],
    rungBy: null,
    isAgent: false,
    dialEnds: 0,
    refusal: null,
    dialAnswered: false,
    aboutToDial: null,
    forwards: false,
    declined: false,
    nextQueue: null,
    leftQueue: null,
    refused: false,
    path: null,
    recordingOptions: {},
    monitorPath: null,
    reportedVariables: new Map(),
  }
  dropOldest(context.channels)
  context.channels.set(id, added)
  return added
}

/** An agent's part in the call of a caller. */
type Service = { readonly part: string; readonly bridge: string }

/** The agents' channels, the callers that have requested an agent, and the bridges in which they wait for him. */
export type AgentPool = {
  readonly agents: Map<string, { readonly endpoint: Endpoint; service: Service | null }>
  readonly requests: Set<string>
  readonly bridges: Map<string, string>
}

export type AmiContext = {
  /** The extension that parks calls, by parking lot. */
  readonly parkingExtensions: Map<string, string>
  /** The destination of each channel's last blind transfer, which may park the call. */
  readonly lastTransfers: Map<string, string>
  readonly channels: Map<string, KnownChannel>
  /** Channels of calls that are not followed. */
  readonly unfollowed: Set<string>
  /** Returns whether as many calls are open as are followed. */
  readonly isFull: () => boolean
  /** First halves of Local channels that wait for their second half, by common name. */
  readonly halves: Map<string, string>
  readonly endpoints: Endpoints
  readonly agentPool: AgentPool
  readonly variables: ReadonlySet<string>
  /** The fact that is the tenant value of a channel, if the PBX serves several customers. */
  readonly tenants: TenantRule | undefined
  /** The names of the dialplan's events that are passed on. */
  readonly custom: ReadonlySet<string>
}

/**
 * Channels of Asterisk itself, which are no parties: announcers and recorders of bridges (hidden by newer versions),
 * and channels on which applications listen and speak.
 */
const HELPER =
  /^(Announcer|Recorder|CBAnn|CBRec|Surrogate|Message|AsyncGoto|Bridge|Snoop|UnicastRTP|MulticastRTP|AudioSocket|WebSocket)\//i

/** Returns whether the channel with this name belongs to Asterisk itself, so that it is no party. */
export const isHelper = (name: string): boolean => HELPER.test(name)

/** Returns the name of an endpoint's owner. FreePBX and Issabel call every phone `device`. */
export const displayName = (name: string): string => (name === 'device' ? '' : name)

/**
 * Returns the signal of a variable that the operator asked for and that has changed. Nothing is kept for an ended
 * channel.
 */
function variable(context: AmiContext, id: string, name: string, value: string): ChannelSignal[] {
  const reported = context.channels.get(id)?.reportedVariables
  if (value === '' || !context.variables.has(name) || reported?.get(name) === value) return []
  reported?.set(name, value)
  return [{ kind: 'variable', id, name, value: cleanText(value) ?? '' }]
}

/** Contexts of macros and subroutines, as FreePBX and Issabel name them. */
const SUBROUTINES = /^(?:macro|sub)-/

/** Returns whether a step of the dialplan is at an extension that somebody can dial. */
export function isDialable(exten: string, context: string): boolean {
  return exten !== 's' && !exten.startsWith('s-') && !SUBROUTINES.test(context)
}

/**
 * Returns the extension of a channel. Macros (in `s`) and subroutines do not count: the extension that called them
 * does.
 */
export function placeOf(known: KnownChannel | undefined, frame: AmiFrame): string {
  const exten = frame.get('Exten')
  const context = frame.get('Context')
  const { subroutine = null, entered = null, exten: last = exten } = known ?? {}
  if (subroutine !== null && subroutine.exten === exten && subroutine.context === context) return subroutine.caller
  return isDialable(exten, context) ? exten : (entered ?? last)
}

/** Returns the signal of a channel that has moved to another extension of the dialplan, in this context. */
export function extensionChanged(
  known: KnownChannel | undefined,
  id: string,
  exten: string,
  context: string,
): ChannelSignal[] {
  if (known === undefined || exten === '' || exten === known.exten) return []
  known.exten = exten
  const chosen = known.dialledNothing && !isDid(exten, context)
  return [{ kind: 'extension_changed', id, extension: exten, ...(chosen ? CHOSEN : {}) }]
}

const CHOSEN = { chosen: true } as const

/** FreePBX's contexts of outside numbers and of extensions; and the least digits of an outside number elsewhere. */
const DID_CONTEXT = /^ext-did\b/
const NO_DID_CONTEXT = /^from-did-direct/
const DID = /^\+?\d{7,}$/

/** Returns whether the extension that an undialled call of a trunk enters is the outside number that was called. */
export const isDid = (exten: string, context: string): boolean =>
  !NO_DID_CONTEXT.test(context) && (DID.test(exten) || DID_CONTEXT.test(context) || kindOfContext(context) === 'trunk')

/** Returns the tenant value of a channel in one of its events or rows; `null` if it shows none. */
export function tenantIn({ tenants }: AmiContext, get: (key: string) => string): string | null {
  if (tenants?.by === 'accountcode') return cleanValue(get('AccountCode'))
  return tenants?.by === 'context' ? cleanValue(get('Context')) : null
}

/** Returns the signal of a channel that shows a new tenant value. */
export function tenantChange(known: KnownChannel | undefined, id: string, tenant: string | null): ChannelSignal[] {
  if (known === undefined || tenant === null || tenant === known.tenant) return []
  known.tenant = tenant
  return [{ kind: 'tenant', id, value: tenant }]
}

/** Returns the signals of a variable: for the operator's variables, and for the tenant variable. */
export function variableSet(context: AmiContext, id: string, name: string, value: string): ChannelSignal[] {
  const isTenant = context.tenants?.variable === name
  const shown = isTenant ? tenantChange(context.channels.get(id), id, cleanValue(value)) : []
  return [...shown, ...variable(context, id, name, value)]
}

/** Returns the signals of the channel variables in an event (`channelvars` of manager.conf). */
export function variablesIn(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  if (context.variables.size === 0 && context.tenants?.by !== 'variable') return []
  return frame.all('ChanVariable').flatMap((pair) => {
    const equals = pair.indexOf('=')
    return variableSet(context, id, pair.slice(0, equals), pair.slice(equals + 1))
  })
}
