import type { CallEvent, Party } from '../../src/events/bodies.ts'

/**
 * Events in the words of test/fixtures/*.expected: a block of lines is a call, in the order of `sequence`; a party is its extension, else
 * its number, else `-`.
 */
type Body = CallEvent['body']

/** Returns the word for a party. */
export const partyOf = (one: Party | null | undefined): string => one?.extension ?? one?.number ?? '-'

/** Returns the words of an event: the left half of its line. */
export function lineOf(body: Body): string {
  const data = body.data
  switch (data.name) {
    case 'call_started':
      return `call_started ${data.call.direction} ${partyOf(data.call.from)} ${partyOf(data.call.to)}`
    case 'dial_started':
    case 'dial_answered':
      return `${data.name} ${data.stage.kind} ${data.stage.target ?? '-'}`
    case 'dial_ended':
      return `dial_ended ${data.stage.kind} ${data.stage.target ?? '-'} ${data.stage.result}`
    case 'call_blind_transferred':
    case 'call_attended_transferred':
      return `${data.name} by ${partyOf(data.transfer.by)} ${partyOf(data.transfer.transferee)} to ${partyOf(data.transfer.to)}`
    case 'call_ended':
      return `call_ended ${data.call.result} owner ${partyOf(data.call.handled_by.at(-1))}${data.call.partial ? ' partial' : ''}`
    case 'call_missed':
      return `call_missed ${data.call.missed_by.map(partyOf).join(' ') || '-'}`
    case 'call_held':
    case 'call_resumed':
      return `${data.name} by ${partyOf(data.by)}`
    case 'custom':
      return `custom ${data.custom.name}`
    case 'recording_saved':
      return `recording_saved ${data.recording.path ?? '-'}`
    case 'call_saved':
      return `call_saved recordings ${data.recordings.length}`
  }
}

/** Returns the bodies of each call in the order of `sequence`; the calls ordered by their beginnings. */
export const callsOf = (bodies: readonly Body[]): Body[][] =>
  [...Map.groupBy(bodies, ({ data }) => data.call.id).values()].map((own) =>
    own.toSorted((a, b) => a.data.sequence - b.data.sequence),
  )

/** Returns one block of words for each call, ordered by the calls' beginnings. */
export const blocksOf = (bodies: readonly Body[]): string[][] => callsOf(bodies).map((own) => own.map(lineOf))
