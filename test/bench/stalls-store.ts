import { callBatch } from '../../src/calls/api/event-records.ts'
import type { CallEventBody } from '../../src/events/bodies.ts'
import { EXAMPLES } from '../../src/events/samples.ts'
import { rfc3339, SECOND } from '../../src/lib/time.ts'
import { storedEventsOf } from '../../src/store/operations/calls.ts'
import type { Store } from '../../src/store/store.ts'
import { deliveredOutcomes } from '../help/store.ts'

/** The company's own number: every call is to it, as the PBX spells it and in E.164. */
export const OWN_NUMBER = { spelled: '0301110', e164: '+49301110' } as const

const KINDS = new Set(['call_started', 'dial_started', 'dial_answered', 'dial_ended', 'call_ended', 'call_saved'])
const DAY = 86_400 * SECOND
const DAYS = 30
/** Calls of one commit. */
const CALLS_A_BATCH = 200

export type Filled = { readonly lastCallId: string; readonly middle: string }

/** Stores saved calls of the account 1 from the last 30 days, with all their events and one delivered delivery each. */
export async function fillStore(store: Store, calls: number, nowUs: number): Promise<Filled> {
  const beginUs = nowUs - DAYS * DAY
  let lastCallId = ''
  for (let at = 0; at < calls; at += CALLS_A_BATCH) {
    const some = Array.from({ length: Math.min(CALLS_A_BATCH, calls - at) }, (_, index) =>
      callOf(at + index, Math.floor(beginUs + ((at + index) / calls) * DAYS * DAY)),
    )
    const batch = callBatch(some.flat(), NO_CHANGES, {
      pbx: 'office',
      accountIdOf: () => 1,
      urlOf: undefined,
      nowUs,
      nowSteadyUs: nowUs,
    })
    const stored = storedEventsOf(batch, await store.calls.batchStore(batch))
    const ids = stored.flatMap(({ deliveries }) => deliveries.map(({ id }) => id))
    await store.queue.deliveryRecordOutcomes(deliveredOutcomes(nowUs, ids))
    lastCallId = some.at(-1)?.[0]?.callId ?? lastCallId
  }
  return { lastCallId, middle: rfc3339(beginUs + (DAYS / 2) * DAY) }
}
const NO_CHANGES = { changed: [], removed: [], merged: [], withoutAccount: [] }

/** Returns the events of a call from a number of its own to the company's number. */
function callOf(number: number, atUs: number) {
  const callId = Bun.randomUUIDv7('hex', Math.floor(atUs / 1_000))
  const caller = `+4930${String(2_000_000 + number)}`
  const text = (body: CallEventBody) =>
    JSON.stringify(body)
      .replaceAll('+4930123456', caller)
      .replaceAll(body.data.call.id, callId)
      .replaceAll('"number":"+49301110"', `"number":"${OWN_NUMBER.spelled}"`)
  return EXAMPLES.filter(({ data }) => KINDS.has(data.name)).map((example, index) => {
    const id = Bun.randomUUIDv7('hex', Math.floor(atUs / 1_000) + index)
    const body: CallEventBody = JSON.parse(text(example))
    body.data.id = id
    body.data.sequence = index + 1
    return { id, name: body.data.name, callId, sequence: index + 1, atUs: atUs + index, body }
  })
}
