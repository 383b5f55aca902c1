import type { Call, CallRecord, Party } from './event.ts'

/** A party, or none, that an earlier version stored without all of today's keys. */
type EarlierParty = Omit<Party, 'e164'> & { readonly e164?: string | null }

/** Parses the stored record of a call; keys that the version which stored it did not have yet are `null` or `[]`. */
export function readCallRecord(json: string): CallRecord {
  // Stored by ourselves: it has this shape, but for what came later.
  const record: CallRecord = JSON.parse(json)
  const { call } = record
  const { missed = null, missed_by = [] }: Partial<Pick<Call, 'missed' | 'missed_by'>> = call
  return {
    ...record,
    call: {
      ...call,
      from: completeParty(call.from),
      to: completeParty(call.to),
      answered_by: call.answered_by === null ? null : completeParty(call.answered_by),
      handled_by: call.handled_by.map(completeParty),
      missed,
      missed_by,
    },
  }
}

const completeParty = (party: EarlierParty): Party => ({ ...party, e164: party.e164 ?? null })
