import type { ChannelSignal } from '../../../calls/signal.ts'
import type { Endpoints } from '../../endpoints.ts'
import { cleanText } from '../../sanitize.ts'

/** What is kept of the channels of one connection between events. */

export type Known = {
  readonly name: string
  readonly local: boolean
  linkedId: string
  exten: string
  /** The endpoint's own caller id, as the PBX is set up: later events show the caller's. */
  readonly number: string
  readonly display: string
  /** Targets of the Dial that it is about to run, of the one that runs, and those that got a channel. */
  next: string[]
  targets: string[]
  begun: Set<string>
  /** Of the channels of the Dial that runs: those that nobody answered, as it said. */
  unanswered: string[]
  path: string | null
  /** It rang: what it says then is another thing than at once. */
  rang: boolean
}

export type AmiContext = {
  /**
   * What is dialled to park somebody, by parking lot, and the last blind transfer of each channel, which may be one.
   */
  readonly lots: Map<string, string>
  readonly sentTo: Map<string, string>
  readonly channels: Map<string, Known>
  /** First halves of Local channels whose second is awaited, by their common name. */
  readonly halves: Map<string, string>
  readonly endpoints: Endpoints
  readonly variables: ReadonlySet<string>
  /** What was passed on of a channel's variables. */
  readonly told: Map<string, string>
}

export function variable(context: AmiContext, id: string, name: string, value: string): ChannelSignal[] {
  const key = `${id} ${name}`
  if (value === '' || !context.variables.has(name) || context.told.get(key) === value) return []
  context.told.set(key, value)
  return [{ kind: 'variable', id, name, value: cleanText(value) ?? '' }]
}

/** The channel is elsewhere in the dialplan. */
export function moved(known: Known | undefined, id: string, exten: string): ChannelSignal[] {
  if (known === undefined || exten === '' || exten === known.exten) return []
  known.exten = exten
  return [{ kind: 'extension_changed', id, extension: exten }]
}
