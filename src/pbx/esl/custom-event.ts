import type { Custom } from '../../events/bodies.ts'
import { customOf } from '../connection/custom-fields.ts'
import type { EslEvent } from './event.ts'

/** Headers that FreeSWITCH adds to an event of its dialplan. */
const OWN =
  /^(Event-|Core-UUID$|FreeSWITCH-|Channel-|Caller-|Other-|variable_|Unique-ID$|Call-Direction$|Presence-|Answer-State$|Hangup-Cause$|Content-Length$|_body$)/

/** Returns the fields of a CUSTOM event, without the headers of FreeSWITCH. */
export const readCustomEvent = (event: EslEvent): Custom =>
  customOf(
    event.subclass,
    event.entries().filter(([key]) => !OWN.test(key)),
  )

/**
 * Returns the channel of a CUSTOM event; `null` if it has none, and `undefined` if it names several: a dialplan that
 * passes on unquoted text of a caller lets it add headers, and FreeSWITCH adds its own.
 */
export function channelOf(event: EslEvent): string | null | undefined {
  const ids = event.entries().flatMap(([key, value]) => (key === 'Unique-ID' ? value : []))
  return ids.length > 1 ? undefined : (ids[0] ?? null)
}
