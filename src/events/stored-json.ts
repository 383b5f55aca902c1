import { BODIES, type CallEventBody, CallRecord, type EventBody, type SentBody } from './bodies.ts'
import { isOfCall } from './event-subject.ts'
import type { EventKind } from './kinds.ts'
import { type Complete, completionOf } from './schema-completion.ts'

// Reads the JSON of records and bodies, which an earlier version may have stored. Keys are only ever added, so a
// missing key is younger than the text: it gets the value that means "unknown" in its schema.

/** Parses the stored record of a call. */
export function readCallRecord(json: string): CallRecord {
  // This program stored it: it has this shape, except for keys that were added later.
  const { call, stages, recordings }: CallRecord = JSON.parse(json)
  const record = { call, stages, recordings }
  completeRecord?.(record)
  return record
}

/** Returns the PBX of the stored record of a call; `null` if an earlier version stored it. */
export function readPbx(json: string): string | null {
  // It is the first key, so that no record has to be parsed for it.
  const [, text] = /^\{"pbx":("(?:[^"\\]|\\.)*")/.exec(json) ?? []
  return text === undefined ? null : String(JSON.parse(text))
}

/** Parses the stored body of an event that was not erased. */
export function readEventBody(json: string): EventBody {
  // This program stored it, as above.
  const body: EventBody = JSON.parse(json)
  completeBody[body.data.name]?.(body)
  return body
}

/** Parses the body of a request to a webhook: a stored event, or a test. */
export function readSentBody(json: string): SentBody {
  // This program wrote it, as above.
  const body: SentBody = JSON.parse(json)
  if (body.data.name !== 'test') completeBody[body.data.name]?.(body)
  return body
}

/** Parses the stored body of a call event that was not erased. @throws Error if it belongs to no call. */
export function readCallEventBody(json: string): CallEventBody {
  const body = readEventBody(json)
  if (!isOfCall(body)) throw new Error('an event of a call has no call')
  return body
}

const completeRecord = completionOf(CallRecord)
// fromEntries loses the type of the keys: these are all kinds.
const completeBody = Object.fromEntries(
  Object.entries(BODIES).map(([name, schema]) => [name, completionOf(schema)]),
) as Readonly<Record<EventKind, Complete | undefined>>
