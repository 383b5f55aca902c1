import { comparedText } from '../lib/text.ts'
import { CALL_RESULTS, DIRECTIONS } from './enums.ts'
import { type EventKind, isOfState } from './kinds.ts'

const RESULTS = CALL_RESULTS.map((result) => `\`${result}\``).join(', ')

/** The fields of an event that a filter compares. An unknown one is `null`, and matches nothing. */
export type EventFacts = {
  readonly direction: string | null
  readonly pbx: string | null
  readonly queue: string | null
  /** The called outside number, also as E.164; empty if no outside number was called. */
  readonly did: readonly string[]
  /** The caller's, the called number, and outside numbers that were dialled, also as E.164. */
  readonly number: readonly string[]
  readonly extension: readonly string[]
  readonly result: string | null
}

/** The keys of a filter, each with the fact that it is compared with. */
export const FILTER_KEYS = {
  direction: 'The direction of the call: `inbound`, `outbound` or `internal`',
  pbx: 'The name of the PBX',
  queue: 'The name of the last queue that the call was in',
  did: 'The outside number that was called; also in its E.164 form',
  number: 'The number of the caller, the number called, or an outside number that was dialled; also in its E.164 form',
  extension:
    'The dialled extension of a `dial_*` event (any member of a group or queue); any extension so far of other events',
  result: `The result of the call: ${RESULTS}; only \`call_ended\`, \`call_saved\` and \`call_missed\` have one`,
} as const satisfies Readonly<Record<keyof EventFacts, string>>
type FilterKey = keyof typeof FILTER_KEYS
export const FILTER_NAMES = Object.keys(FILTER_KEYS) as readonly FilterKey[]

/** An event must match every key that is given, by one of its values: exactly, or as a prefix when that ends in `*`. */
export type EventFilter = { readonly [key in FilterKey]?: readonly string[] }

/** The keys with a fixed set of values: any other value matches no event. */
const KNOWN_VALUES: Readonly<Record<string, readonly string[]>> = { direction: DIRECTIONS, result: CALL_RESULTS }

/** Returns why a value of a filter can match no event, and what to do; `undefined` if it can. */
export function findValueError(key: string, value: string): string | undefined {
  const known = KNOWN_VALUES[key]
  const isKnown = (one: string) => one === value || (value.endsWith('*') && one.startsWith(value.slice(0, -1)))
  return known === undefined || known.some(isKnown) ? undefined : `${value} matches no event: use ${known.join(', ')}`
}

/** The facts that changes of phones, trunks, agents and queues have. */
const FACTS_OF_STATES: readonly FilterKey[] = ['pbx', 'extension', 'queue']
const WITH_RESULT: readonly string[] = ['call_ended', 'call_saved', 'call_missed']

/**
 * Returns the key of a filter that no event of a kind has, so that no event is sent; `undefined` if there is no such
 * key.
 */
export function findLackingKey(filter: EventFilter, event: EventKind): string | undefined {
  return FILTER_NAMES.filter((key) => filter[key] !== undefined).find((key) =>
    isOfState(event) ? !FACTS_OF_STATES.includes(key) : key === 'result' && !WITH_RESULT.includes(event),
  )
}

type Matches = (facts: EventFacts) => boolean

/** Compiles a filter into a function that matches many events. */
export function compileFilter(filter: EventFilter): Matches {
  const tests = FILTER_NAMES.flatMap((key) => {
    const values = filter[key]
    return values === undefined ? [] : [{ key, matches: compileValues(values.map(comparedText)) }]
  })
  return (facts) => {
    for (const { key, matches } of tests) {
      const fact = facts[key]
      if (fact === null) return false
      if (typeof fact === 'string' ? !matches(comparedText(fact)) : !matchesAny(fact, matches)) return false
    }
    return true
  }
}

function matchesAny(texts: readonly string[], matches: (text: string) => boolean): boolean {
  for (const text of texts) if (matches(comparedText(text))) return true
  return false
}

/** Prefixes are sorted for a binary search, so that a hundred cost little more than one. */
function compileValues(values: readonly string[]): (text: string) => boolean {
  const exact = values.filter((value) => !value.endsWith('*'))
  const prefixes = values.filter((value) => value.endsWith('*')).map((value) => value.slice(0, -1))
  return values.length <= FEW ? matchesFew(exact, prefixes) : matchesMany(new Set(exact), prefixes)
}

/** As few values as this are compared one by one, which takes a quarter of the time of hashing. */
const FEW = 8

function matchesFew(exact: readonly string[], prefixes: readonly string[]): (text: string) => boolean {
  return (text) => {
    for (const value of exact) if (text === value) return true
    for (const prefix of prefixes) if (text.startsWith(prefix)) return true
    return false
  }
}

function matchesMany(exact: ReadonlySet<string>, prefixes: readonly string[]): (text: string) => boolean {
  const sorted = withoutLonger(prefixes)
  return (text) => exact.has(text) || startsWithOne(text, sorted)
}

/** Returns the prefixes in order, without any that begins with another one: it would match nothing more. */
function withoutLonger(prefixes: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (const prefix of prefixes.toSorted(byCodeUnits)) {
    const last = kept.at(-1)
    if (last === undefined || !prefix.startsWith(last)) kept.push(prefix)
  }
  return kept
}

const byCodeUnits = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/**
 * Returns whether a text starts with one of the sorted prefixes. That one is the last that is not greater than the
 * text: between the two all begin with it, and no prefix begins with another.
 */
function startsWithOne(text: string, sorted: readonly string[]): boolean {
  let from = 0
  let to = sorted.length
  while (from < to) {
    const middle = (from + to) >> 1
    if ((sorted[middle] ?? '') <= text) from = middle + 1
    else to = middle
  }
  return from > 0 && text.startsWith(sorted[from - 1] ?? '')
}
