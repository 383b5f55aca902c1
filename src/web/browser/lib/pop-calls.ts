import type { Call, Party } from './resources.ts'

/** The calls that the pop page shows. Pure. */
export type PopCalls = {
  /** The calls that are up, the newest first. */
  readonly live: readonly Call[]
  /** The call that ended last, or that somebody else answered. */
  readonly last: Call | null
}

export const NO_CALLS: PopCalls = { live: [], last: null }

/** Applies the present state of a call. `extension`: the extension whose calls are shown; `null`: all calls. */
export function applyCall({ live, last }: PopCalls, call: Call, extension: string | null): PopCalls {
  const others = live.filter(({ id }) => id !== call.id)
  if (call.state !== 'ended' && !isAnsweredElsewhere(call, extension))
    return { live: [call, ...others].toSorted(newestFirst), last: last?.id === call.id ? null : last }
  // An older call may still change, when its recording is saved.
  const isNewer = last === null || last.id === call.id || newestFirst(call, last) <= 0
  return { live: others, last: isNewer ? call : last }
}

/** Keeps the calls that a new connection begins with: all other calls ended meanwhile. */
export const withoutLive = ({ last }: PopCalls): PopCalls => ({ live: [], last })

const newestFirst = (one: Call, other: Call): number => (other.started_at ?? '').localeCompare(one.started_at ?? '')

function isAnsweredElsewhere(call: Call, extension: string | null): boolean {
  if (extension === null || call.state !== 'answered' || call.from.extension === extension) return false
  return (call.handled_by.at(-1) ?? call.answered_by ?? call.to).extension !== extension
}

/** Returns the other party of a call: who calls, or who is called. */
export function otherParty(call: Call, extension: string | null): Party {
  const isFromHere = extension === null ? call.direction === 'outbound' : call.from.extension === extension
  return isFromHere ? call.to : call.from
}

/** Returns whether a call rings here: somebody else made it, and nobody has answered. */
export const isRingingHere = (call: Call, extension: string | null): boolean =>
  call.state !== 'answered' && call.state !== 'ended' && otherParty(call, extension) === call.from

/** Returns the number of a party for the search of past calls; `null` for a party without a number. */
export const numberOf = ({ e164, number, extension }: Party): string | null => e164 ?? number ?? extension
