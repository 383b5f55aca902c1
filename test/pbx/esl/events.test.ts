import { expect, test } from 'bun:test'
import { createInbox } from '../../../src/pbx/connection/inbox.ts'
import { APPLICATION_BEGINS, APPLICATION_ENDS, isSheddable, subscriptionOf } from '../../../src/pbx/esl/events.ts'

/** The list of the events that are wanted of a FreeSWITCH. */

test('only changes of variables and ends of applications are dropped first: calls are followed by all others', () => {
  const all = subscriptionOf(['my::survey']).split(' ')
  expect(all).toContain('CHANNEL_HANGUP')
  expect(all.indexOf('my::survey')).toBeGreaterThan(all.indexOf('CUSTOM'))
  const applications = [APPLICATION_BEGINS, APPLICATION_ENDS]
  expect([...all, ...applications, 'unknown'].filter(isSheddable)).toEqual(['CALL_UPDATE', ...applications])
})

test('an overrun keeps holds, from which call_held and call_resumed are made', () => {
  const inbox = createInbox<string>({ isSheddable, maxBytes: 4, defer: () => {} })
  const arrived = ['CHANNEL_HOLD', 'CALL_UPDATE', 'CHANNEL_UNHOLD', 'CALL_UPDATE', 'CHANNEL_HANGUP']
  expect(arrived.map((name) => inbox.push(name, 1))).toEqual([true, true, true, true, true])
  expect(inbox.dropped()).toBe(2)
  expect(inbox.waiting()).toEqual(['CHANNEL_HOLD', 'CHANNEL_UNHOLD', 'CHANNEL_HANGUP'])
})
