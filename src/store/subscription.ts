import { compileFilter, type EventFacts } from '../events/filter.ts'
import type { EventKind } from '../events/kinds.ts'
import { readOptions } from './webhook-options.ts'

// The webhooks that an event is for, according to their options. Both engines use it.

type Subscription = { readonly wants: (facts: EventFacts) => boolean; readonly events: ReadonlySet<string> }

const ALL: Subscription = { wants: () => true, events: new Set() }
/** The compiled options, by their stored text. A thousand is more than the number that changes at a time. */
const compiled = new Map<string, Subscription>()
const MAX_COMPILED = 1_000

function subscriptionOf(text: string | null): Subscription {
  if (text === null) return ALL
  const known = compiled.get(text)
  if (known !== undefined) return known
  const options = readOptions(text)
  const filter = options?.filter ?? null
  const subscription = {
    wants: filter === null ? ALL.wants : compileFilter(filter),
    events: new Set(options?.events ?? []),
  }
  if (compiled.size >= MAX_COMPILED) compiled.clear()
  compiled.set(text, subscription)
  return subscription
}

/** A webhook of a list, and whether its switch for a kind of event is on (`null`: the kind has no switch). */
type Listed = { readonly id: number; readonly switched: boolean | null; readonly options: string | null }

/** The webhooks of a list that want events of a kind. */
export type Subscribers = {
  /** Whether any webhook wants them; its filter may still refuse an event. */
  readonly isAny: boolean
  /** Returns the ids of the webhooks that want an event with these facts, in the order of the list. */
  readonly idsFor: (facts: EventFacts) => readonly number[]
}

/** The facts of an event without any known fact. */
export const NO_FACTS: EventFacts = {
  direction: null,
  pbx: null,
  queue: null,
  did: [],
  number: [],
  extension: [],
  result: null,
}

export function subscribersOf(kind: EventKind, listed: readonly Listed[]): Subscribers {
  const interested = listed
    .map(({ id, switched, options }) => ({ id, switched, ...subscriptionOf(options) }))
    .filter(({ switched, events }) => switched ?? events.has(kind))
  const all = interested.map(({ id }) => id)
  const isAny = all.length > 0
  if (interested.every(({ wants }) => wants === ALL.wants)) return { isAny, idsFor: () => all }
  return { isAny, idsFor: (facts) => interested.filter(({ wants }) => wants(facts)).map(({ id }) => id) }
}
