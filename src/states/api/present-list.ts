import type { StateSubject } from '../../events/kinds.ts'
import type { States } from '../../events/states.ts'
import { atMoment } from '../board/facts.ts'
import type { Present } from '../board/subject.ts'
import { readSubject } from '../ingest/stored-subject.ts'

/** Returns the states of one kind, in order of name: 99 before 101. */
export function listOf<Kind extends StateSubject>(kind: Kind, present: Iterable<Present>): States[Kind][] {
  const found: States[Kind][] = []
  // Filtering by kind makes this the type of the state.
  for (const one of present) if (one.kind === kind) found.push(one.state as States[Kind])
  // Creating the first one takes 2 ms, which the start does not spend.
  const { compare } = new Intl.Collator('en', { numeric: true })
  const queues = new Set(found.map(queueOf))
  const placeOf = new Map([...queues].toSorted(compare).map((queue, at) => [queue, at] as const))
  const keyed = found.map((state) => ({ state, place: placeOf.get(queueOf(state)) ?? 0, ...nameOf(state) }))
  keyed.sort((one, other) => one.place - other.place || one.number - other.number || compare(one.name, other.name))
  return keyed.map(({ state }) => state)
}

type Rows = readonly { readonly id: string; readonly state: string }[]

/** Returns the stored states of a PBX that belong to an owner, with durations as of now. */
export function* presentOfRows(rows: Rows, isOwner: (account: string) => boolean, nowUs: number): Generator<Present> {
  for (const { account, present } of ownedRows(rows, nowUs)) if (isOwner(account)) yield present
}

/** Returns the stored states of a PBX with their accounts, with durations as of now. */
export function* ownedRows(rows: Rows, nowUs: number): Generator<{ account: string; present: Present }> {
  for (const row of rows) {
    const subject = readSubject(row)
    if (subject !== undefined && subject.account !== null)
      yield { account: subject.account, present: atMoment(subject.present, nowUs) }
  }
}

const queueOf = (state: States[StateSubject]): string => ('queue' in state ? state.queue : '')

/**
 * Returns the name of a subject, in its queue if it serves one, and its number: comparing tens of thousands of numbers
 * as text would block the event loop for a quarter of a second. Names that are no numbers follow all numbers.
 */
function nameOf(state: States[StateSubject]): { readonly name: string; readonly number: number } {
  const name = 'trunk' in state ? state.trunk : 'extension' in state ? state.extension : ''
  return { name, number: /^\d{1,15}$/.test(name) ? Number(name) : Number.MAX_SAFE_INTEGER }
}
