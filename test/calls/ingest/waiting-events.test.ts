import { describe, expect, test } from 'bun:test'
import { createWaitingEvents } from '../../../src/calls/ingest/waiting-events.ts'
import type { CallEvent } from '../../../src/events/bodies.ts'
import { EXAMPLES } from '../../../src/events/samples.ts'

const [example] = EXAMPLES
if (example === undefined) throw new Error('there is no example')

type Named = { from?: string[]; into?: string; other?: string }

/** An event of a call that names others. */
function event(id: string, { from = [], into, other }: Named = {}): CallEvent {
  const { data } = example ?? {}
  const call = { ...data?.call, id, merged_from: from, merged_into: into ?? null }
  const transfer = other === undefined ? {} : { transfer: { other_call_id: other } }
  return { callId: id, body: { data: { ...data, call, ...transfer } } } as unknown as CallEvent
}

function waitingOf(events: readonly CallEvent[]) {
  const waiting = createWaitingEvents()
  for (const one of events) waiting.add(one)
  return waiting
}
const idsOf = (events: readonly CallEvent[]): string[] => events.map(({ callId }) => callId)

const HELD: readonly [string, string[], CallEvent[], string[]][] = [
  ['a held call stays', ['a'], [event('a'), event('b')], ['b']],
  ['without one all are taken', [], [event('a', { into: 'b' })], ['a']],
  ['a call stays that goes on in a held one', ['b'], [event('a', { into: 'b' })], []],
  ['a call stays whose transfer names a held one', ['b'], [event('a', { other: 'b' }), event('c')], ['c']],
  [
    'a chain of calls stays',
    ['d'],
    [event('a', { from: ['b'] }), event('b', { into: 'c' }), event('c', { other: 'd' }), event('e')],
    ['e'],
  ],
]

describe('waiting events', () => {
  test.each(HELD)('%s', (_name, held, events, taken) => {
    const waiting = waitingOf(events)
    for (const id of held) waiting.hold([id])
    expect(idsOf(waiting.take(100, new Set(held)).events)).toEqual(taken)
    expect(waiting.size()).toBe(events.length - taken.length)
    for (const id of taken) expect(waiting.calls.has(id)).toBe(false)
    // Nothing stays for ever.
    expect(waiting.take(100, new Set()).events).toHaveLength(events.length - taken.length)
    expect([waiting.size(), waiting.calls.size]).toEqual([0, 0])
  })

  test('a call is taken as a whole, in the order of its events, and what it was merged with comes along', () => {
    const events = [event('a'), event('b'), event('c'), event('a'), event('b'), event('d', { from: ['b'] }), event('a')]
    const waiting = waitingOf(events)
    const first = waiting.take(2, new Set())
    expect([idsOf(first.events), first.hasMore]).toEqual([['a', 'a', 'a'], true])
    expect(first.events).toEqual(events.filter(({ callId }) => callId === 'a'))
    expect([waiting.calls.has('a'), waiting.calls.has('b'), waiting.calls.has('d')]).toEqual([false, true, true])
    const second = waiting.take(1, new Set())
    expect([idsOf(second.events), second.hasMore]).toEqual([['b', 'b', 'd'], true])
    waiting.add(event('a'))
    const third = waiting.take(9, new Set())
    expect([idsOf(third.events), third.hasMore]).toEqual([['c', 'a'], false])
  })

  test('calls that were merged without an event yet are one group, and calls without events make none', () => {
    const waiting = waitingOf([event('a'), event('b'), event('c')])
    waiting.unite(['c', 'a'])
    waiting.unite(['x', 'y'])
    expect(idsOf(waiting.take(1, new Set()).events)).toEqual(['b'])
    expect(idsOf(waiting.take(1, new Set()).events)).toEqual(['a', 'c'])
    expect(waiting.calls.size).toBe(0)
  })

  test('what only held calls leave is not more to take', () => {
    const waiting = waitingOf([event('a'), event('b')])
    waiting.hold(['a'])
    expect(waiting.take(1, new Set(['a'])).hasMore).toBe(false)
  })
})
