import { expect, test } from 'bun:test'
import { EXAMPLES } from '../../../src/events/samples.ts'
import { applyCall, isRingingHere, NO_CALLS, numberOf, otherParty } from '../../../src/web/browser/lib/pop-calls.ts'
import type { Call } from '../../../src/web/browser/lib/resources.ts'

const example = EXAMPLES.map(({ data }) => data.call)[0]
if (example === undefined || example === null) throw new Error('there is no example')
const nobody = { number: null, name: null, extension: null, e164: null, contact: null }
const caller = { ...nobody, number: '0301', e164: '+49301' }
const phone = (extension: string) => ({ ...nobody, extension, number: extension })

const callOf = (id: string, part: Partial<Call> = {}): Call => ({
  ...example,
  id,
  direction: 'inbound',
  state: 'ringing',
  started_at: `2026-11-29T10:00:0${id}Z`,
  ended_at: null,
  from: caller,
  to: { ...nobody, number: '100' },
  answered_by: null,
  handled_by: [],
  ...part,
})
const idsOf = (calls: readonly Call[]) => calls.map(({ id }) => id)
const apply = (...calls: Call[]) => calls.reduce((state, call) => applyCall(state, call, '101'), NO_CALLS)

test('the newest call is first, and a call that ends is the last one', () => {
  const state = apply(callOf('1'), callOf('3'), callOf('2'))
  expect([idsOf(state.live), state.last]).toEqual([['3', '2', '1'], null])
  const over = applyCall(state, callOf('3', { state: 'ended' }), '101')
  expect([idsOf(over.live), over.last?.id]).toEqual([['2', '1'], '3'])
  // The recording of an older call is saved.
  expect(applyCall(over, callOf('0', { state: 'ended' }), '101').last?.id).toBe('3')
})

test('a call that somebody else answers is no call of the phone any more; one that comes back is again', () => {
  const elsewhere = callOf('1', { state: 'answered', answered_by: phone('102'), handled_by: [phone('102')] })
  const away = apply(callOf('1'), elsewhere)
  expect([idsOf(away.live), away.last?.id]).toEqual([[], '1'])
  const back = applyCall(away, { ...elsewhere, handled_by: [phone('102'), phone('101')] }, '101')
  expect([idsOf(back.live), back.last]).toEqual([['1'], null])
  expect(idsOf(applyCall(NO_CALLS, elsewhere, null).live)).toEqual(['1'])
})

test('the other party is who calls, or who is called from here', () => {
  const made = callOf('1', { direction: 'outbound', from: phone('101'), to: caller })
  expect(otherParty(callOf('1'), '101')).toEqual(caller)
  expect(otherParty(made, '101')).toEqual(caller)
  expect(otherParty(made, null)).toEqual(caller)
  const internal = callOf('1', { direction: 'internal', from: phone('101'), to: phone('102') })
  expect(otherParty(internal, '102').extension).toBe('101')
  expect(otherParty(internal, '101').extension).toBe('102')
  expect([isRingingHere(internal, '102'), isRingingHere(internal, '101')]).toEqual([true, false])
  expect(isRingingHere(callOf('1', { state: 'waiting' }), '101')).toBe(true)
  expect(isRingingHere(callOf('1', { state: 'answered' }), '101')).toBe(false)
})

test('past calls are found by the number as others spell it, of a colleague by the extension', () => {
  expect([numberOf(caller), numberOf(phone('102')), numberOf(nobody)]).toEqual(['+49301', '102', null])
})
