import { describe, expect, test } from 'bun:test'
import type { Delivery } from '../../../src/deliveries/log/model.ts'
import type { Call } from '../../../src/events/bodies.ts'
import {
  bodySearchOf,
  type DeliveryFilters,
  matchesFilters,
  newDeliveries,
  updateDeliveries,
} from '../../../src/web/browser/lib/delivery-updates.ts'

const CALL_ID = '01a1f900-5c8e-7000-8000-0000deadbeef'
const delivery = (id: string, change: Partial<Delivery> = {}): Delivery => ({
  id,
  event_id: `event-${id}`,
  event: 'call_started',
  call_id: CALL_ID,
  subject: 'Ada calls 101',
  url: 'https://a.example/',
  state: 'pending',
  attempts_made: 0,
  next_attempt_at: null,
  delivered_at: null,
  created_at: '2026-11-20T21:42:00.000000Z',
  ...change,
})
const LISTED = [delivery('1280'), delivery('1152')]
const all = () => true

describe('the list of deliveries', () => {
  test('is changed in place', () => {
    const changed = delivery('1152', { state: 'delivered' })
    expect(updateDeliveries(LISTED, [changed, delivery('9999')])).toEqual([delivery('1280'), changed])
  })

  test('stays the same object when none of it changed', () =>
    expect(updateDeliveries(LISTED, [delivery('9999')])).toBe(LISTED))

  test('counts deliveries that are newer than the whole list', () => {
    const later = { created_at: '2026-11-20T21:42:00.000001Z' }
    const changes = [
      delivery('b', later),
      delivery('a', { created_at: '2026-11-20T22:42:00.000000Z' }),
      delivery('c', { created_at: '2026-11-20T21:41:59.999999Z' }),
      delivery('1280', { state: 'delivered' }),
    ]
    expect(newDeliveries(LISTED, changes, all)).toEqual(['b', 'a'])
  })

  test('counts only what matches', () => {
    const later = delivery('d', { created_at: '2026-11-20T22:42:00.000000Z' })
    expect(newDeliveries(LISTED, [later], ({ state }) => state === 'failed')).toEqual([])
  })

  test('counts everything while it is empty', () => expect(newDeliveries([], [delivery('1')], all)).toEqual(['1']))
})

const party = (number: string) => ({ number, name: null, extension: null, e164: null, contact: null })
const CALL = { from: party('+4930123'), to: party('+4930999') } as Call

test.each<[string, DeliveryFilters, boolean]>([
  ['no filter', {}, true],
  ['its state', { state: 'pending' }, true],
  ['another state', { state: 'failed' }, false],
  ['its event', { event: 'call_started' }, true],
  ['another event', { event: 'call_ended' }, false],
  ['another URL', { url: 'https://b.example/' }, false],
  ['the id of its call', { call_id: CALL_ID }, true],
  ['the end of that id, as the list shows it', { call_id: 'deadBEEF' }, true],
  ['another call', { call_id: 'cafebabe' }, false],
  ['the number of the caller', { number: '+4930123' }, true],
  ['the number called', { number: '+4930999' }, true],
  ['another number', { number: '+49' }, false],
  ['an earlier time', { since: '2026-11-20T21:42:00Z', until: '2026-11-20T21:42:01Z' }, true],
  ['a later time', { since: '2026-11-20T21:42:01Z' }, false],
  ['a time that ends before', { until: '2026-11-20T21:42:00Z' }, false],
  ['all of several', { state: 'pending', number: '+49' }, false],
])('a delivery is matched against %s', (_, filters, expected) =>
  expect(matchesFilters(filters, delivery('1'), CALL)).toBe(expected),
)

test('a number matches nothing of a call that is not known', () =>
  expect(matchesFilters({ number: '+4930123' }, delivery('1'), undefined)).toBe(false))

test.each([
  ['call.result=busy', { 'body.call.result': 'busy' }],
  ['body.call.from.number = +49 30', { 'body.call.from.number': '+49 30' }],
  ['data.name=custom', { 'body.name': 'custom' }],
  ['+4930123456', null],
  ['=1', null],
  ['call.result=', null],
  [undefined, null],
] as const)('the search %j', (q, expected) => expect(bodySearchOf(q)).toEqual(expected))
