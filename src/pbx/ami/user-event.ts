import type { Custom } from '../../events/bodies.ts'
import { customOf } from '../connection/custom-fields.ts'
import { SNAPSHOT } from './event-shapes.ts'
import type { AmiFrame } from './frame.ts'

/** A `UserEvent` of a dialplan or of a program, and the channel that said it, if one did. */
type UserEvent = { readonly channel: string | null; readonly custom: Custom }

/** The header that separates Asterisk's headers from the dialplan's. */
const SEPARATOR = 'UserEvent'
/** What Asterisk prints before the snapshot of a channel, or before the separator without one. */
const OPENING = ['Event', 'Privilege', 'Timestamp', 'SystemName', 'SequenceNumber', 'File', 'Line', 'Func']

/**
 * Reads a `UserEvent`; `undefined` if a caller may have written into the part that Asterisk prints. That part decides
 * the channel, and it has to be exactly as Asterisk prints it: the opening, a whole snapshot or none, the separator. A
 * caller can end a line within it (numbers are printed as they came), but the rest of the snapshot follows, and so is
 * out of its place. All that follows the first separator are fields, whatever their names.
 */
export function readUserEvent(frame: AmiFrame): UserEvent | undefined {
  const headers = frame.headers()
  const end = headers.findIndex(([key]) => key === SEPARATOR)
  if (end < 0) return undefined
  const before = headers.slice(0, end)
  const start = before.findIndex(([key]) => !OPENING.includes(key))
  const opening = before.slice(0, start < 0 ? end : start).map(([key]) => key)
  if (opening[0] !== 'Event' || opening[1] !== 'Privilege' || new Set(opening).size < opening.length) return undefined
  const printed = start < 0 ? [] : before.slice(start)
  // The variables of channelvars are printed last, escaped.
  const snapshot = printed.filter(([key], at) => key !== 'ChanVariable' || at < SNAPSHOT.length - 1)
  if (snapshot.length > 0 && !isSnapshot(snapshot.map(([key]) => key))) return undefined
  const channel = snapshot.find(([key]) => key === 'Uniqueid')?.[1] ?? null
  return { channel, custom: customOf(headers[end]?.[1] ?? '', headers.slice(end + 1)) }
}

/** Asterisk 13 does not print the language. */
const WITHOUT_LANGUAGE = SNAPSHOT.filter((key) => key !== 'Language')

const isSnapshot = (keys: readonly string[]): boolean =>
  Bun.deepEquals(keys, SNAPSHOT) || Bun.deepEquals(keys, WITHOUT_LANGUAGE)
