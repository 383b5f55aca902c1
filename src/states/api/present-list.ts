import type { StateSubject } from '../../lib/event-kinds.ts'
import { atMoment } from '../board/facts.ts'
import type { Present } from '../board/subject.ts'
import { readSubject } from '../ingest/stored-subject.ts'
import type { States } from '../model.ts'

/** Returns the states of one kind, in order of name. */
export function listOf<Kind extends StateSubject>(kind: Kind, present: Iterable<Present>): States[Kind][] {
  const found: States[Kind][] = []
  // Filtering by kind makes this the type of the state.
  for (const one of present) if (one.kind === kind) found.push(one.state as States[Kind])
  // Numeric: 99 before 101. Creating the first one takes 2 ms, which the start does not spend.
  const order = new Intl.Collator('en', { numeric: true })
  return found.toSorted((one, other) => order.compare(nameOf(one), nameOf(other)))
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

function nameOf(state: States[StateSubject]): string {
  if ('trunk' in state) return state.trunk
  if ('queue' in state) return 'extension' in state ? `${state.queue} ${state.extension}` : state.queue
  return state.extension
}
