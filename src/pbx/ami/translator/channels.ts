import type { ChannelSignal } from '../../../calls/signal.ts'
import type { TenantRule } from '../../../lib/pbx-url.ts'
import type { Endpoints } from '../../endpoints/endpoints.ts'
import { cleanText, cleanValue } from '../../endpoints/sanitize.ts'
import type { AmiFrame } from '../frame.ts'

/** How MixMonitor records. */
export type RecordingOptions = { readonly whileBridged?: boolean; readonly appends?: boolean }

/** A channel, with the state that is kept of it between events. */
export type KnownChannel = {
  readonly name: string
  readonly local: boolean
  linkedId: string
  exten: string
  /** The last extension with a number that it entered: the caller of the macro or subroutine that runs. */
  entered: string | null
  /** Where the subroutine runs that it called last, and the extension that called it. */
  subroutine: { readonly context: string; readonly exten: string; readonly caller: string } | null
  /** The endpoint's own caller id, as the PBX is set up: later events show the caller's. */
  readonly number: string
  readonly display: string
  /** The targets of the Dial that it is about to run, of the one that runs, and those of them that got a channel. */
  nextTargets: string[]
  targets: string[]
  rung: Set<string>
  /** The channels of the Dial that runs which ended unanswered. */
  unanswered: string[]
  /** The channel whose Dial or Queue rings it now. */
  rungBy: string | null
  /** Its Dial was answered, and has not returned yet. */
  dialAnswered: boolean
  /** The extension that FreePBX is about to dial; `null` once a Dial began, or it turned out not to be dialled. */
  aboutToDial: string | null
  /** That extension forwards: what is dialled next is dialled instead of it. */
  forwards: boolean
  /** The queue that it is about to enter. */
  nextQueue: string | null
  /** It was asked to confirm the call, and declined. */
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
  /** It rang: a refusal means another thing then than at once. */
  rang: boolean
  /** The last values of variables that became signals, by name. */
  readonly reportedVariables: Map<string, string>
}

/** Adds a channel of which nothing else is known. */
export function addChannel(
  context: AmiContext,
  id: string,
  channel: Pick<KnownChannel, 'name' | 'linkedId' | 'exten' | 'number' | 'display' | 'tenant' | 'rang'>,
): KnownChannel {
  const added: KnownChannel = {
    ...channel,
    local: channel.name.startsWith('Local/'),
    entered: null,
    subroutine: null,
    nextTargets: [],
    targets: [],
    rung: new Set(),
    unanswered: [],
    rungBy: null,
    dialAnswered: false,
    aboutToDial: null,
    forwards: false,
    declined: false,
    nextQueue: null,
    refused: false,
    path: null,
    recordingOptions: {},
    monitorPath: null,
    reportedVariables: new Map(),
  }
  context.channels.set(id, added)
  return added
}

export type AmiContext = {
  /** The extension that parks a call, by parking lot. */
  readonly parkingExtensions: Map<string, string>
  /** The destination of each channel's last blind transfer, which may be such an extension. */
  readonly lastTransfers: Map<string, string>
  readonly channels: Map<string, KnownChannel>
  /** First halves of Local channels whose second is awaited, by their common name. */
  readonly halves: Map<string, string>
  readonly endpoints: Endpoints
  readonly variables: ReadonlySet<string>
  /** The fact that names the customer of a channel, if there are several. */
  readonly tenants: TenantRule | undefined
}

/**
 * Asterisk's own channels, which are no parties: announcers and recorders of bridges (newer versions hide them), and
 * the media that applications listen to and speak on.
 */
const HELPER =
  /^(Announcer|Recorder|CBAnn|CBRec|Surrogate|Message|AsyncGoto|Bridge|Snoop|UnicastRTP|MulticastRTP|AudioSocket|WebSocket)\//i

/** Returns whether a channel of this name is one of Asterisk's own, and no party. */
export const isHelper = (name: string): boolean => HELPER.test(name)

/** Returns the name of an endpoint. FreePBX and Issabel call every phone `device`. */
export const displayName = (name: string): string => (name === 'device' ? '' : name)

/** Returns the signal of a variable that is passed on and has changed. Of a channel that is over nothing is kept. */
function variable(context: AmiContext, id: string, name: string, value: string): ChannelSignal[] {
  const reported = context.channels.get(id)?.reportedVariables
  if (value === '' || !context.variables.has(name) || reported?.get(name) === value) return []
  reported?.set(name, value)
  return [{ kind: 'variable', id, name, value: cleanText(value) ?? '' }]
}

/** Contexts of macros and subroutines, as FreePBX and Issabel name them. */
const SUBROUTINES = /^(?:macro|sub)-/

/** Returns whether a step of the dialplan is at an extension that somebody can dial. */
function isDialable(exten: string, context: string): boolean {
  return exten !== 's' && !exten.startsWith('s-') && !SUBROUTINES.test(context)
}

/**
 * Returns the extension at which a channel is. Macros (in `s`) and subroutines are no places, and neither are their
 * own extensions, as `s-BUSY` or the `17` of a cause: the extension that called them is.
 */
export function placeOf(known: KnownChannel | undefined, frame: AmiFrame): string {
  const exten = frame.get('Exten')
  const context = frame.get('Context')
  const { subroutine = null, entered = null, exten: last = exten } = known ?? {}
  if (subroutine !== null && subroutine.exten === exten && subroutine.context === context) return subroutine.caller
  return isDialable(exten, context) ? exten : (entered ?? last)
}

/** Returns the signal of a channel that is at another extension of the dialplan. */
export function extensionChanged(known: KnownChannel | undefined, id: string, exten: string): ChannelSignal[] {
  if (known === undefined || exten === '' || exten === known.exten) return []
  known.exten = exten
  return [{ kind: 'extension_changed', id, extension: exten }]
}

/** Returns the value by which a channel shows its customer in an event or row of it; `null` if it shows none. */
export function tenantIn({ tenants }: AmiContext, get: (key: string) => string): string | null {
  if (tenants?.by === 'accountcode') return cleanValue(get('AccountCode'))
  return tenants?.by === 'context' ? cleanValue(get('Context')) : null
}

/** Returns the signal of a channel that shows its customer, or another one than before. */
export function tenantChange(known: KnownChannel | undefined, id: string, tenant: string | null): ChannelSignal[] {
  if (known === undefined || tenant === null || tenant === known.tenant) return []
  known.tenant = tenant
  return [{ kind: 'tenant', id, value: tenant }]
}

/** Returns the signals of a variable's value: of one that is passed on, and of the one that names the customer. */
export function variableSet(context: AmiContext, id: string, name: string, value: string): ChannelSignal[] {
  const isTenant = context.tenants?.variable === name
  const shown = isTenant ? tenantChange(context.channels.get(id), id, cleanValue(value)) : []
  return [...shown, ...variable(context, id, name, value)]
}

/** Returns the signals of the variables that an event has with its channel (`channelvars` of manager.conf). */
export function variablesIn(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  if (context.variables.size === 0 && context.tenants?.by !== 'variable') return []
  return frame.all('ChanVariable').flatMap((pair) => {
    const equals = pair.indexOf('=')
    return variableSet(context, id, pair.slice(0, equals), pair.slice(equals + 1))
  })
}
