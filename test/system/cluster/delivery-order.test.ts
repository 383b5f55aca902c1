import { describe, expect, test } from 'bun:test'
import { type Arrival, countRepeats, type Deliveries, wrongDeliveries } from '../../help/faults/delivery-order.ts'
import { dueMs, isAlone } from '../../help/faults/takeover-times.ts'

const EVENTS = ['one', 'two', 'three'].map((uuid, at) => ({ uuid, call: 'call', sequence: at + 1 }))

/**
 * Reads the record of a receiver, one request a second: `two:500` was refused, `two:-` was answered after its sender
 * had given up, `two` was accepted.
 */
const arrivalsOf = (record: string): Arrival[] =>
  record.split(' ').map((one, at) => {
    const [id = '', status = '200', body = 'body'] = one.split(':')
    return { id, atMs: at * 1_000, status: status === '-' ? undefined : Number(status), bodyHash: Bun.hash(body) }
  })

const wrongOf = (record: string, given: Partial<Deliveries> = {}) =>
  wrongDeliveries({
    arrivals: arrivalsOf(record),
    events: EVENTS,
    failed: [],
    isStrict: false,
    mayRepeat: () => false,
    ...given,
  })

describe('the record of a receiver', () => {
  test.each([
    ['each event once, in order', 'one two three', {}],
    ['a retry after those behind it', 'one:500 two three one', {}],
    ['an event behind one whose attempt failed on the way', 'two one three', { failed: [{ uuid: 'one', endedMs: 0 }] }],
    ['a repeat after a fault', 'one two one two three', { mayRepeat: () => true }],
    ['a request for which nobody waited any more, again', 'one:- one two three', {}],
    ['a retry before those behind it, in a strict order', 'one:500 one:- one two three', { isStrict: true }],
    [
      'other calls in between',
      'one other two three',
      { events: [...EVENTS, { uuid: 'other', call: 'b', sequence: 1 }] },
    ],
  ])('is right with %s', (_, record, given) => {
    expect(wrongOf(record, given)).toEqual([])
  })

  test.each([
    ['an event that never came', 'one two', {}, 'three was lost: event 3 of call'],
    ['an event that was never accepted', 'one two:500 three', {}, 'two was lost: event 2 of call'],
    ['an event that came too early', 'two one three', {}, 'event 2 of call came before event 1 (one)'],
    [
      'an event that came before the failure of the one before it',
      'one three two',
      { failed: [{ uuid: 'two', endedMs: 1_500 }] },
      'event 3 of call came before event 2 (two)',
    ],
    [
      'a later event behind a refused one, in a strict order',
      'one:500 two one three',
      { isStrict: true, failed: [{ uuid: 'one', endedMs: 0 }] },
      'event 2 of call came before event 1 (one)',
    ],
    [
      'a repeat without a fault',
      'one one two three',
      {},
      'one was accepted, and sent again for no reason: at 1970-01-01T00:00:00.000Z and 1970-01-01T00:00:01.000Z',
    ],
    ['a repeat with another body', 'one:500 one:200:other two three', {}, 'one came with several bodies'],
    ['an event that is none', 'one two three four', {}, 'four is no event that was stored'],
  ])('is wrong with %s', (_, record, given, wrong) => {
    expect(wrongOf(record, given)).toEqual([wrong])
  })

  test('has as many repeats as requests that were accepted again', () => {
    expect(countRepeats(arrivalsOf('one:500 one two one two three:-'))).toBe(2)
  })
})

describe('a takeover', () => {
  const takeover = { node: 0, fromMs: 10_000, toMs: 15_000 }
  const own = { node: 0, fromMs: 10_000, toMs: 30_000 }

  test.each([
    ['nothing else was done', [], true],
    ['another node was frozen just before', [{ node: 1, fromMs: 1_000, toMs: 5_000 }], false],
    ['the database was restarted meanwhile', [{ node: undefined, fromMs: 11_000, toMs: 12_000 }], false],
    [
      'all else was over for long, or began later',
      [
        { node: 1, fromMs: 0, toMs: 3_000 },
        { node: 1, fromMs: 16_000, toMs: 17_000 },
      ],
      true,
    ],
  ])('is alone or not where %s', (_, others, expected) => {
    expect(isAlone(takeover, [own, ...others])).toBe(expected)
  })

  test.each([
    ['nothing else was done', [], 16_500],
    ['one of two others was frozen', [{ node: 1, fromMs: 0, toMs: 60_000 }], 16_500],
    ['both others were frozen until 20 s', [1, 2].map((node) => ({ node, fromMs: 0, toMs: 20_000 })), 29_500],
    ['the database was restarted at 12 s', [{ node: undefined, fromMs: 12_000, toMs: 13_000 }], 22_500],
    ['it was restarted when another had had its time', [{ node: undefined, fromMs: 16_600, toMs: 17_000 }], 16_500],
  ])('is due after a node had its time where %s', (_, others, expected) => {
    expect(dueMs(takeover, 3, [own, ...others])).toBe(expected)
  })
})
