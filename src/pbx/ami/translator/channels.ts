import type { ChannelSignal } from '../../../calls/signal.ts'
import type { Endpoints } from '../../endpoints.ts'
import { cleanText } from '../../sanitize.ts'

/** A channel, with the state that is kept of it between events. */
export type KnownChannel = {
  readonly name: string
  readonly local: boolean
  linkedId: string
  exten: string
  /** The last extension with a number that it entered: the caller of the macro or subroutine that runs. */
  entered: string | null
  /** The endpoint's own caller id, as the PBX is set up: later events show the caller's. */
  readonly number: string
  readonly display: string
  /** The targets of the Dial that it is about to run, of the one that runs, and those of them that got a channel. */
  nextTargets: string[]
  targets: string[]
  rung: Set<string>
  /** The channels of the Dial that runs which ended unanswered. */
  unanswered: string[]
  /** The file of a recording whose start was not reported yet. */
  path: string | null
  /** It rang: a refusal means another thing then than at once. */
  rang: boolean
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
  /** The last values of variables that became signals, by channel and name. */
  readonly reportedVariables: Map<string, string>
}

/** Returns the name of an endpoint. FreePBX and Issabel call every phone `device`. */
export const displayName = (name: string): string => (name === 'device' ? '' : name)

/** Returns the signal of a variable that is wanted and has changed. */
export function variable(context: AmiContext, id: string, name: string, value: string): ChannelSignal[] {
  const key = `${id} ${name}`
  if (value === '' || !context.variables.has(name) || context.reportedVariables.get(key) === value) return []
  context.reportedVariables.set(key, value)
  return [{ kind: 'variable', id, name, value: cleanText(value) ?? '' }]
}

/** Returns the signal of a channel that is at another extension of the dialplan. */
export function extensionChanged(known: KnownChannel | undefined, id: string, exten: string): ChannelSignal[] {
  if (known === undefined || exten === '' || exten === known.exten) return []
  known.exten = exten
  return [{ kind: 'extension_changed', id, extension: exten }]
}
