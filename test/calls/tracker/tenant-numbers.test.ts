import { describe, expect, test } from 'bun:test'
import type { ChannelSignal, Endpoint, Signal } from '../../../src/calls/signal.ts'
import { newTracker } from '../../../src/calls/tracker/tracker.ts'
import { countingIds, player } from '../../help/play.ts'

// Customers of one PBX have the same numbers: a number never joins a call to another customer's call.

const START_US = 1_795_213_000_000_000
const SECOND = 1_000_000
const at = (seconds: number, ...signals: ChannelSignal[]): Signal[] =>
  signals.map((signal) => ({ ...signal, atUs: START_US + seconds * SECOND, arrivedUs: START_US + seconds * SECOND }))

const phone = (number: string): Endpoint => ({ kind: 'extension', number, name: null })
const END = { code: 16, result: 'other', withdrawn: false, mayTransfer: false, forwardedTo: null } as const

const comes = (id: string, number: string, tenant: string | null, dialledNumber = '102'): ChannelSignal => ({
  kind: 'channel',
  id,
  linkedId: id,
  endpoint: phone(number),
  dialledNumber,
  originated: false,
  shown: null,
  tenant,
})
const shows = (id: string, value: string): ChannelSignal => ({ kind: 'tenant', id, value })
const rings = (source: string, dest: string, number: string): ChannelSignal[] => [
  { kind: 'dial_begin', source, dest, endpoint: phone(number), shown: null },
  { kind: 'ringing', id: dest },
]
const answers = (source: string, dest: string): ChannelSignal[] => [
  { kind: 'up', id: dest },
  { kind: 'dial_end', source, dest, result: 'answered', forwardedTo: null },
  { kind: 'bridged', id: dest, bridge: dest, conference: false, holding: false },
  { kind: 'bridged', id: source, bridge: dest, conference: false, holding: false },
]
const holds = (id: string): ChannelSignal => ({ kind: 'hold', id, onHold: true })
const hangsUp = (...ids: string[]): ChannelSignal[] => ids.map((id) => ({ kind: 'hangup', id, end: END }))

/** The PBX rings a phone by itself, which shows its customer only later, if it does. */
const isRungBack = (id: string, number: string, tenant: string | null): ChannelSignal[] => [
  { ...comes(id, number, tenant), originated: true, dialledNumber: null } as ChannelSignal,
  { kind: 'dial_begin', source: null, dest: id, endpoint: phone(number), shown: null },
]

/** Returns the events of each account, each with the first channel of its call and of the parent call. */
function eventsOf(signals: readonly Signal[], isOnEveryChannel = false): Record<string, string[]> {
  const accountOf = (value: string) => ['acme', 'beta', 'rest'].find((name) => name === value)
  const state = { ...newTracker('pbx', 'rest', countingIds()), tenants: { accountOf, isOnEveryChannel } }
  const { play, rest, events } = player({ state })
  play(signals)
  rest(20 * SECOND)
  const first = new Map(events.map(({ body }) => [body.data.call.id, body.data.call.pbx_id]))
  const lines = events.map(({ name, body }) => {
    const { account, call } = body.data
    const parent = call.parent_id === null ? '' : ` for ${first.get(call.parent_id)}`
    return [account, `${call.pbx_id}${parent} ${name}`] as const
  })
  const byAccount = Map.groupBy(lines, ([account]) => account)
  return Object.fromEntries([...byAccount].map(([account, all]) => [account, all.map(([, line]) => line)]))
}

describe('a party that has a call on hold, and calls', () => {
  const waiting = (id: string, tenant: string): ChannelSignal[] => [
    comes(id, '101', tenant),
    ...rings(id, `${id}2`, '102'),
    ...answers(id, `${id}2`),
    holds(id),
  ]
  const BOTH = [...at(0, ...waiting('a', 'acme')), ...at(1, ...waiting('b', 'beta'))]
  const parents = (all: Record<string, string[]>): string[] =>
    Object.values(all).flatMap((lines) => lines.filter((line) => /^c.*call_started/.test(line)))

  test.each([
    ['acme', 'c for a call_started'],
    ['beta', 'c for b call_started'],
  ])('calls for its own one: %s', (tenant, expected) => {
    expect(parents(eventsOf([...BOTH, ...at(2, comes('c', '101', tenant)), ...at(3, ...hangsUp('c'))]))).toEqual([
      expected,
    ])
  })

  test('does so too where its customer shows later', () => {
    const late = [...at(2, comes('c', '101', null)), ...at(2.5, shows('c', 'acme')), ...at(3, ...hangsUp('c'))]
    expect(parents(eventsOf([...BOTH, ...late]))).toEqual(['c for a call_started'])
  })

  test('calls for nobody where the call on hold is of another customer', () => {
    const late = [...at(2, comes('c', '101', null)), ...at(2.5, shows('c', 'acme')), ...at(3, ...hangsUp('c'))]
    expect(parents(eventsOf([...at(1, ...waiting('b', 'beta')), ...late]))).toEqual(['c call_started'])
  })
})

describe('a call to the number of a slot in which a call is parked', () => {
  const PARKED = at(
    0,
    comes('a', '101', 'acme'),
    ...rings('a', 'a2', '102'),
    ...answers('a', 'a2'),
    { kind: 'parked', id: 'a', slot: '701', parker: null, to: '700' },
    ...hangsUp('a2'),
  )
  const starts = (tenant: string | null): (string | undefined)[] => {
    const fetches = [
      ...at(5, comes('c', '103', tenant, '701')),
      ...at(5.2, shows('c', tenant ?? 'acme')),
      // Before a pick-up would have been given up.
      ...at(8, shows('c', tenant ?? 'acme'), { kind: 'joined', id: 'c', into: 'a' }, ...hangsUp('c', 'a')),
    ]
    return Object.values(eventsOf([...PARKED, ...fetches])).map((lines) => lines.findLast((line) => /^c /.test(line)))
  }

  test('is part of it where it is of the same customer, also if that shows later', () => {
    expect(starts('acme')).toEqual([undefined])
    expect(starts(null)).toEqual([undefined])
  })

  test('is a call of its own for another customer', () => {
    expect(starts('beta')).toEqual([undefined, 'c call_saved'])
  })
})

describe('a phone that the PBX rings by itself while a call waits for that number', () => {
  /** A call whose transferer has left, and whose target was not reached. */
  const waits = (tenant: string | null): Signal[] => [
    ...at(0, comes('a', '100', tenant), ...rings('a', 'a2', '101'), ...answers('a', 'a2')),
    ...at(2, { kind: 'attended_transfer', transferers: ['a2'], transferee: 'a', target: null }, ...hangsUp('a2')),
  ]
  const END_OF_ALL = at(9, ...hangsUp('a', 'c'))
  const isApart = (all: Record<string, string[]>): boolean => Object.values(all).flat().includes('c call_saved')

  test('is rung back for it where it shows the same customer', () => {
    expect(isApart(eventsOf([...waits('acme'), ...at(4, ...isRungBack('c', '101', 'acme')), ...END_OF_ALL]))).toBe(
      false,
    )
  })

  test.each([
    ['shows another customer', 'acme', 'beta', false],
    ['shows its customer later', null, null, false],
    ['is in a context that is no customer', 'acme', 'from-outside', true],
  ])('is none of its where it %s', (_what, waiting, shown, isOnEveryChannel) => {
    const late = [...at(4, ...isRungBack('c', '101', shown)), ...at(4.2, shows('c', 'beta')), ...END_OF_ALL]
    const { beta = [], ...others } = eventsOf([...waits(waiting), ...late], isOnEveryChannel)
    expect(beta.slice(-2)).toEqual(['c call_ended', 'c call_saved'])
    expect(
      Object.values(others)
        .flat()
        .filter((line) => line.startsWith('c ')),
    ).toEqual([])
  })
})
