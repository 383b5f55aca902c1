import type { StateSubject } from '../../events/kinds.ts'
import type { States } from '../../events/states.ts'
import { runAtOnce, runInSlices } from '../../lib/slices.ts'
import { atMoment } from '../board/facts.ts'
import type { Present } from '../board/subject.ts'
import { readSubject } from '../ingest/stored-subject.ts'

/** A state, and the PBX that has it. */
export type PresentAt = { readonly pbx: string; readonly present: Present }

/** Returns the states of one kind, in order of name: 99 before 101. */
export const listOf = <Kind extends StateSubject>(kind: Kind, present: Iterable<Present>): States[Kind][] =>
  runAtOnce(
    sortedInSteps(
      (function* () {
        // Filtering by kind makes this the type of the state.
        for (const one of present) yield one.kind === kind ? (one.state as States[Kind]) : undefined
      })(),
    ),
  )

/**
 * Returns the same, each with its PBX, and lets other work run in between: a PBX may have tens of thousands of phones.
 */
export const listInSlices = <Kind extends StateSubject>(
  kind: Kind,
  present: Iterable<PresentAt>,
): Promise<(States[Kind] & { pbx: string })[]> =>
  runInSlices(
    sortedInSteps(
      (function* () {
        for (const { pbx, present: one } of present)
          yield one.kind === kind ? { pbx, ...(one.state as States[Kind]) } : undefined
      })(),
    ),
  )

/** A step takes one state, or sorts the states of a queue. */
function* sortedInSteps<State extends States[StateSubject]>(
  states: Iterable<State | undefined>,
): Generator<void, State[]> {
  const ofQueue = new Map<string, Named<State>[]>()
  for (const state of states) {
    yield
    if (state === undefined) continue
    const queue = 'queue' in state ? state.queue : ''
    const named = ofQueue.get(queue) ?? []
    named.push({ state, ...nameOf(state) })
    ofQueue.set(queue, named)
  }
  // Creating the first one takes 2 ms, which the start does not spend.
  const { compare } = new Intl.Collator('en', { numeric: true })
  const sorted: State[] = []
  for (const queue of [...ofQueue.keys()].toSorted(compare)) {
    yield
    const named = ofQueue.get(queue) ?? []
    named.sort((one, other) => one.number - other.number || compare(one.name, other.name))
    for (const { state } of named) sorted.push(state)
  }
  return sorted
}

type Named<State> = { readonly state: State; readonly name: string; readonly number: number }

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

/**
 * Returns the name of a subject, in its queue if it serves one, and its number: comparing tens of thousands of numbers
 * as text would block the event loop for a quarter of a second. Names that are no numbers follow all numbers.
 */
function nameOf(state: States[StateSubject]): { readonly name: string; readonly number: number } {
  const name = 'trunk' in state ? state.trunk : 'extension' in state ? state.extension : ''
  return { name, number: /^\d{1,15}$/.test(name) ? Number(name) : Number.MAX_SAFE_INTEGER }
}
