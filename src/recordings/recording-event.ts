import { newEvent, type UrlOf } from '../calls/calls.ts'
import type { CallEvent, Recording } from '../events/bodies.ts'
import { readCallRecord } from '../events/stored-json.ts'
import { newUuid } from '../lib/id.ts'
import { type NowUs, rfc3339 } from '../lib/time.ts'
import type { NewEvent } from '../store/operations/calls.ts'
import type { RecordingRecord } from '../store/operations/recordings.ts'
import type { Store } from '../store/store.ts'

type RecordingEventOptions = {
  readonly store: Pick<Store, 'accounts' | 'calls' | 'log'>
  readonly urlOf: UrlOf
  readonly nowUs: NowUs
}

/**
 * Makes the event `recording_saved` of a recording, with the call of its record. It repeats the sequence of
 * `call_saved`. Returns `undefined` if the call was erased.
 */
export async function makeRecordingEvent(
  { store, urlOf, nowUs }: RecordingEventOptions,
  { accountId, callId, id: recordingId, pbx, sequence }: RecordingRecord,
): Promise<NewEvent | undefined> {
  const [json, account] = await Promise.all([
    store.calls.callGet(accountId, callId),
    store.accounts.accountGetName(accountId),
  ])
  if (json === undefined || account === undefined) return undefined
  const { call, stages, recordings } = readCallRecord(json)
  const found = recordings.find((one) => one.id === recordingId)
  if (found === undefined) return undefined
  const recording: Recording = { ...found, url: urlOf({ callId, recordingId }) }
  // The clock may have been set back since the call's last event.
  const past = await store.log.eventListOfCall(accountId, callId)
  const atUs = Math.max(nowUs(), ...past.map((one) => one.atUs))
  const id = newUuid(
    atUs,
    past
      .map(({ uuid }) => uuid)
      .toSorted()
      .at(-1),
  )
  const data = { name: 'recording_saved' as const, id, sequence, account, pbx, call, recording }
  const event: CallEvent = {
    id,
    name: data.name,
    callId,
    sequence,
    atUs,
    body: { time: rfc3339(atUs), data },
    dialled: stages,
  }
  return newEvent(event)
}
