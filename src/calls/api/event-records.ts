import type { CallEvent, CallRecord, EventBody } from '../../events/bodies.ts'
import type { AccountBatch, CallBatch, NewEvent, SavedCall } from '../../store/operations/calls.ts'
import { NOT_SAVED, type RecordingRecord, type RecordingRef } from '../../store/operations/recordings.ts'
import { callFactsOf } from '../call-facts.ts'
import { factsOf } from '../event-facts.ts'
import { MAX_BODY_BYTES } from '../tracker/emit/size-limits.ts'
import { liveCallText } from '../tracker/resync/takeover.ts'
import type { Changes } from '../tracker/tracker.ts'

// Events, calls and recordings as they are stored.

/** Returns the public link to a recording; `null` if it can have none. */
export type UrlOf = (ref: RecordingRef) => string | null

type BatchSource = {
  readonly pbx: string
  readonly accountIdOf: (account: string) => number | undefined
  readonly urlOf: UrlOf | undefined
  readonly nowUs: number
  readonly nowSteadyUs: number
}

/** Returns events and changes of live calls as one batch, grouped by account. */
export function callBatch(events: readonly CallEvent[], changes: Changes, source: BatchSource): CallBatch {
  const { pbx, accountIdOf, urlOf, nowUs, nowSteadyUs } = source
  const eventsOf = Map.groupBy(events, ({ body }) => body.data.account)
  const mergedOf = Map.groupBy(changes.merged, ({ account }) => account)
  const parts: AccountBatch[] = []
  const recordings: RecordingRecord[] = []
  for (const account of new Set([...eventsOf.keys(), ...mergedOf.keys()])) {
    const own = eventsOf.get(account) ?? []
    const merged = mergedOf.get(account) ?? []
    const accountId = accountIdOf(account)
    if (accountId === undefined) throw new Error(`the account ${account} of a call is unknown`)
    parts.push({
      accountId,
      events: own.map((event) => newEvent(event, urlOf)),
      saved: [...merged.map(({ record }) => savedRecord(pbx, record, nowUs)), ...own.flatMap(savedCall)],
    })
    // Without links the PBX's files cannot be read, so no file is awaited.
    if (urlOf !== undefined) recordings.push(...own.flatMap((event) => newRecordings(event, accountId)))
  }
  const live = changes.changed.map((call) => ({ id: call.call.id, state: liveCallText(call) }))
  return { pbx, parts, live, removed: changes.removed, recordings, nowSteadyUs }
}

/** Returns an event as it is stored. With `urlOf` its recordings have links. */
export function newEvent(event: CallEvent, urlOf?: UrlOf): NewEvent {
  return {
    uuid: event.id,
    callId: event.callId,
    name: event.name,
    sequence: event.sequence,
    atUs: event.atUs,
    body: bodyText(urlOf === undefined ? event.body : withUrls(event.body, urlOf)),
    facts: factsOf(event),
  }
}

/** Contacts are left out of a body that would be too large; the tracker has limited everything else. */
function bodyText(body: EventBody): string {
  const text = JSON.stringify(body)
  // A quick check first: a character takes at most three bytes.
  if (text.length * 3 <= MAX_BODY_BYTES || Buffer.byteLength(text) <= MAX_BODY_BYTES) return text
  return JSON.stringify(body, (key, value) => (key === 'contact' ? null : value))
}

function withUrls(body: EventBody, urlOf: UrlOf): EventBody {
  const { data } = body
  if (data.name !== 'call_saved') return body
  const recordings = data.recordings.map((one) => ({
    ...one,
    url: urlOf({ callId: data.call.id, recordingId: one.id }),
  }))
  return { ...body, data: { ...data, recordings } }
}

/** Returns the record of the call that an event saves, if it saves one. */
function savedCall(event: CallEvent): SavedCall[] {
  const { data } = event.body
  if (data.name !== 'call_saved') return []
  const { call, stages, recordings } = data
  return [savedRecord(data.pbx, { call, stages, recordings }, event.atUs)]
}

function savedRecord(pbx: string, record: CallRecord, savedUs: number): SavedCall {
  const { id, direction, from, to } = record.call
  const facts = callFactsOf(pbx, record)
  return {
    id,
    savedUs,
    direction,
    fromNumber: from.number,
    toNumber: to.number,
    fromE164: from.e164,
    toE164: to.e164,
    facts,
    record: JSON.stringify({ pbx, who: facts.who, ...record }),
  }
}

/**
 * Returns the recordings of the call that an event saves, if their paths are known: their files are awaited from now
 * on.
 */
function newRecordings({ body: { data }, atUs, sequence }: CallEvent, accountId: number): RecordingRecord[] {
  if (data.name !== 'call_saved') return []
  return data.recordings.flatMap(({ id, path }) =>
    path === null
      ? []
      : {
          callId: data.call.id,
          id,
          accountId,
          pbx: data.pbx,
          path,
          state: 'pending' as const,
          sinceUs: atUs,
          sequence,
          ...NOT_SAVED,
        },
  )
}
