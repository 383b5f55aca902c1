import { type EventFilter, FILTER_NAMES } from '../../src/events/filter.ts'
import { NO_FACTS, subscribersOf } from '../../src/store/subscription.ts'
import { DEFAULT_OPTIONS, storedOptions } from '../../src/store/webhook-options.ts'
import { atMost, type Row } from './table.ts'

const EVENTS = 500_000
const VALUES = 100
const ROUNDS = 5

const FACTS = {
  ...NO_FACTS,
  direction: 'inbound',
  pbx: 'office',
  queue: 'sales-berlin',
  did: ['+49301110'],
  result: 'answered',
  number: ['030123456', '+4930123456'],
  extension: ['101', '102'],
}
/** A filter as people write one. */
const USUAL: EventFilter = {
  direction: ['inbound', 'internal'],
  queue: ['support', 'sales*'],
  did: ['+4930111*', '+49891*', '+44*'],
  extension: ['2*', '10*'],
}
/** Every key with the most values; all values but the matching one are prefixes. */
const LARGEST: EventFilter = Object.fromEntries(
  FILTER_NAMES.map((key) => {
    const fact = [FACTS[key]].flat().at(-1) ?? ''
    const others = Array.from({ length: VALUES - 1 }, (_, n) => `${fact.slice(0, 3)}${n}*`)
    return [key, [...others, `${fact.slice(0, -1)}*`]]
  }),
)

/** Returns how many microseconds of the processor a filter takes to decide about an event: the best of some rounds. */
function microsecondsOf(filter: EventFilter): number {
  const listed = { id: 1, switched: true, options: storedOptions({ ...DEFAULT_OPTIONS, filter }) }
  const { idsFor } = subscribersOf('call_started', [listed])
  if (idsFor(FACTS).length !== 1) throw new Error('the filter does not match')
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage()
    for (let n = 0; n < EVENTS; n += 1) idsFor(FACTS)
    return process.cpuUsage(before).user / EVENTS
  })
  return Math.min(...rounds)
}

export function benchFilters(): Row[] {
  const largest = `the largest filter: ${FILTER_NAMES.length} keys with ${VALUES} prefixes each`
  return [
    atMost('a filter, for an event and a webhook', 1, microsecondsOf(USUAL), ' µs', '4 keys, exact and prefixes'),
    atMost(largest, 1, microsecondsOf(LARGEST), ' µs'),
  ]
}
