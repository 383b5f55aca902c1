import { expect, test } from 'bun:test'
import { type AsteriskScene, asteriskScene, checkAsteriskScene } from '../help/asterisk-scene.ts'
import type { SceneCase } from '../help/scene.ts'

// Calls that an Asterisk makes by itself, pages, and outbound calls whose number is known late, that no recording has.

const cases: SceneCase<AsteriskScene>[] = [
  [
    'click-to-call through a Local channel',
    (pbx) => {
      pbx.local('one', 'two', '101')
      pbx.dialBegin(null, 'one', '101@any')
      pbx.ring('two', 'a', '101')
      pbx.state('one', 5)
      pbx.later(2_000)
      pbx.state('a', 6)
      pbx.dialEnd('two', 'a', 'ANSWER')
      pbx.state('two', 6)
      pbx.enter('a', 'agent')
      pbx.enter('two', 'agent')
      pbx.state('one', 6)
      pbx.dialEnd(null, 'one', 'ANSWER')
      pbx.exten('one', '915557654321')
      pbx.ringOutside('one', 'b', '15557654321')
      pbx.later(2_000)
      pbx.state('b', 6)
      pbx.dialEnd('one', 'b', 'ANSWER')
      pbx.enter('b', 'out')
      pbx.enter('one', 'out')
      pbx.later(3_000)
      pbx.end('b', 'one', 'two', 'a')
    },
    `call_started outbound 101 15557654321
dial_started user 101
dial_answered user 101
dial_started external 15557654321
dial_answered external 15557654321
~dial_ended user 101 answered
~dial_ended external 15557654321 answered
call_ended answered owner 101
call_saved recordings 0`,
  ],
  [
    'an agent who is shown the own number, and answers late: the direction is known at the dial',
    (pbx) => {
      pbx.channel('a', 'PJSIP/101', { num: '101' })
      pbx.dialBegin(null, 'a', '101')
      pbx.ringing(null, 'a')
      pbx.later(8_000)
      pbx.state('a', 6)
      pbx.dialEnd(null, 'a', 'ANSWER')
      pbx.exten('a', '102')
      pbx.ring('a', 'b', '102')
      pbx.later(2_000)
      pbx.answer('a', 'b')
      pbx.later(2_000)
      pbx.end('b', 'a')
    },
    `call_started internal 101 -
dial_started user 101
dial_answered user 101
dial_started user 102
dial_answered user 102
~dial_ended user 101 answered
~dial_ended user 102 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
  [
    'a dialler whose customer is put into a queue: told as it happens, and who answers is the agent',
    (pbx) => {
      pbx.channel('customer', 'PJSIP/trunk', { num: '15550100100' })
      pbx.dialBegin(null, 'customer', '15557654321@trunk')
      pbx.ringing(null, 'customer')
      pbx.later(20_000)
      pbx.state('customer', 6)
      pbx.dialEnd(null, 'customer', 'ANSWER')
      pbx.emit('QueueCallerJoin', pbx.snapshot('customer'), { Queue: 'sales', Position: 1, Count: 1 })
      pbx.ring('customer', 'a', '101', 'PJSIP/101')
      pbx.ring('customer', 'b', '102', 'PJSIP/102')
      pbx.later(2_000)
      pbx.dialEnd('customer', 'a', 'CANCEL')
      pbx.emit('QueueCallerLeave', pbx.snapshot('customer'), { Queue: 'sales', Position: 1, Count: 0 })
      pbx.answer('customer', 'b')
      pbx.hangup('a', 26)
      pbx.later(2_000)
      pbx.end('customer', 'b')
    },
    `call_started outbound 15550100100 15557654321
dial_started external 15557654321
dial_answered external 15557654321
~dial_started user 101
~dial_started user 102
# then
dial_answered user 102
dial_ended user 101 answered_elsewhere
~dial_ended user 102 answered
~dial_ended external 15557654321 answered
~dial_ended queue sales answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
  [
    'an announcement that the PBX plays to a phone: the half of an originated Local channel dials it',
    (pbx) => {
      pbx.local('one', 'two', 'announcement')
      pbx.dialBegin(null, 'one', 'announcement@any/n')
      pbx.state('two', 6)
      pbx.state('one', 6)
      pbx.dialEnd(null, 'one', 'ANSWER')
      pbx.exten('one', '101')
      pbx.ring('one', 'a', '101')
      pbx.later(2_000)
      pbx.answer('one', 'a')
      pbx.later(3_000)
      pbx.end('a', 'one', 'two')
    },
    `call_started internal - 101
dial_started user 101
dial_answered user 101
dial_ended user 101 answered
call_ended answered owner 101
call_saved recordings 0`,
  ],
  [
    'a phone that is paged by a feature code with its number',
    (pbx) => {
      pbx.call('caller', '102', '*80101')
      pbx.later(200)
      pbx.ring('caller', 'a', '101')
      pbx.answer('caller', 'a')
      pbx.later(3_000)
      pbx.end('caller', 'a')
    },
    `call_started internal 102 101
dial_started user 101
dial_answered user 101
dial_ended user 101 answered
call_ended answered owner 101
call_saved recordings 0`,
  ],
  [
    'a page: the PBX rings each phone by itself, and joins those that answer with the pager; one does not answer',
    (pbx) => {
      pbx.call('pager', '105', '500')
      const conference = { BridgeCreator: 'ConfBridge', BridgeType: 'base' }
      for (const phone of ['101', '102', '103']) {
        pbx.local(`one-${phone}`, `two-${phone}`, `PAGE${phone}`)
        pbx.dialBegin(null, `one-${phone}`, `PAGE${phone}@app-paging`)
        pbx.channel(phone, `PJSIP/${phone}`, { linked: `one-${phone}`, num: '105' })
        pbx.dialBegin(`two-${phone}`, phone, phone)
        pbx.ringing(`two-${phone}`, phone)
      }
      pbx.state('pager', 6)
      pbx.enter('pager', 'page', conference)
      pbx.later(400)
      for (const phone of ['101', '102']) {
        pbx.answer(`two-${phone}`, phone)
        pbx.state(`one-${phone}`, 6)
        pbx.dialEnd(null, `one-${phone}`, 'ANSWER')
        pbx.enter(`one-${phone}`, 'page', conference)
        pbx.later(100)
      }
      pbx.later(6_000)
      pbx.dialEnd('two-103', '103', 'NOANSWER')
      pbx.hangup('103', 0)
      pbx.hangup('two-103', 0)
      pbx.hangup('one-103', 0)
      pbx.later(3_000)
      pbx.end('pager', 'one-101', 'two-101', '101', 'one-102', 'two-102', '102')
    },
    `call_started internal 105 500
~dial_started user 101
~dial_started user 102
~dial_started user 103
~dial_answered user 101
~dial_answered user 102
dial_ended user 103 no_answer
~dial_ended user 101 answered
~dial_ended user 102 answered
dial_ended group 500 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
  [
    'a page that nobody answers: one phone refuses before the pager is in the conference, the others ring in vain',
    (pbx) => {
      const conference = { BridgeCreator: 'ConfBridge', BridgeType: 'base' }
      pbx.call('pager', '105', '500')
      for (const phone of ['101', '102', '103']) {
        pbx.local(`one-${phone}`, `two-${phone}`, `PAGE${phone}`)
        pbx.dialBegin(null, `one-${phone}`, `PAGE${phone}@app-paging`)
        pbx.channel(phone, `PJSIP/${phone}`, { linked: `one-${phone}`, num: '105' })
        pbx.dialBegin(`two-${phone}`, phone, phone)
      }
      pbx.dialEnd('two-103', '103', 'BUSY')
      for (const leg of ['103', 'two-103', 'one-103']) pbx.hangup(leg, 17)
      pbx.ringing('two-101', '101')
      pbx.ringing('two-102', '102')
      pbx.later(1_500)
      pbx.state('pager', 6)
      pbx.enter('pager', 'page', conference)
      pbx.later(6_000)
      for (const phone of ['101', '102']) {
        pbx.dialEnd(`two-${phone}`, phone, 'NOANSWER')
        for (const leg of [phone, `two-${phone}`, `one-${phone}`]) pbx.hangup(leg, 0)
      }
      pbx.later(2_000)
      pbx.end('pager')
    },
    `call_started internal 105 500
~dial_ended user 103 busy
~dial_started user 101
~dial_started user 102
~dial_ended user 101 no_answer
~dial_ended user 102 no_answer
dial_ended group 500 no_answer
call_ended cancelled owner -
call_saved recordings 0`,
  ],
  [
    'a page by the application Page: phones that are rung for the channel of the pager',
    (pbx) => {
      pbx.call('pager', '105', '500')
      for (const phone of ['101', '102']) {
        pbx.channel(phone, `PJSIP/${phone}`, { linked: 'pager', num: '105' })
        pbx.dialBegin(null, phone, phone)
        pbx.ringing(null, phone)
      }
      const conference = { BridgeCreator: 'ConfBridge', BridgeType: 'base' }
      pbx.state('pager', 6)
      pbx.enter('pager', 'page', conference)
      pbx.later(200)
      for (const phone of ['101', '102']) {
        pbx.state(phone, 6)
        pbx.dialEnd(null, phone, 'ANSWER')
        pbx.enter(phone, 'page', conference)
      }
      pbx.later(5_000)
      pbx.end('pager', '101', '102')
    },
    `call_started internal 105 500
~dial_started user 101
~dial_started user 102
~dial_answered user 101
~dial_answered user 102
~dial_ended user 101 answered
~dial_ended user 102 answered
dial_ended group 500 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
  [
    'an originated call that rings two phones: who answers is the caller, the busy one is in it no more',
    (pbx) => {
      pbx.channel('a', 'PJSIP/101', { num: '15557654321' })
      pbx.channel('b', 'PJSIP/102', { linked: 'a', num: '15557654321' })
      pbx.dialBegin(null, 'a', '101')
      pbx.dialBegin(null, 'b', '102')
      pbx.ringing(null, 'b')
      pbx.dialEnd(null, 'a', 'BUSY')
      pbx.hangup('a', 17)
      pbx.later(1_000)
      pbx.state('b', 6)
      pbx.dialEnd(null, 'b', 'ANSWER')
      pbx.exten('b', '915557654321')
      pbx.ringOutside('b', 'c', '15557654321')
      pbx.later(2_000)
      pbx.answer('b', 'c')
      pbx.later(2_000)
      pbx.end('c', 'b')
    },
    `call_started outbound 101 15557654321
~dial_ended user 101 busy
~dial_started user 102
# then
dial_answered user 102
dial_started external 15557654321
dial_answered external 15557654321
~dial_ended external 15557654321 answered
~dial_ended user 102 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
  [
    'click-to-call to an extension',
    (pbx) => {
      pbx.channel('a', 'PJSIP/101', { num: '102' })
      pbx.dialBegin(null, 'a', '101')
      pbx.ringing(null, 'a')
      pbx.later(2_000)
      pbx.state('a', 6)
      pbx.dialEnd(null, 'a', 'ANSWER')
      pbx.exten('a', '102')
      pbx.ring('a', 'b', '102')
      pbx.later(2_000)
      pbx.answer('a', 'b')
      pbx.later(2_000)
      pbx.end('a', 'b')
    },
    `call_started internal 101 102
dial_started user 101
dial_answered user 101
dial_started user 102
dial_answered user 102
~dial_ended user 101 answered
~dial_ended user 102 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
]

test.each(cases)('%s', (_, play, expected, exceptions = []) => checkAsteriskScene(play, expected, exceptions))

test('a route with a PIN: the number that was sent is the called party from the dial on', () => {
  const pbx = asteriskScene()
  pbx.call('caller', '101', '915557654321')
  pbx.later(6_000)
  pbx.ringOutside('caller', 'b', '15557654321')
  pbx.later(2_000)
  pbx.answer('caller', 'b')
  pbx.later(2_000)
  pbx.end('caller', 'b')
  const called = pbx.over().bodies.map(({ data }) => `${data.name} ${data.call.direction} ${data.call.to.number}`)
  expect(called.slice(0, 3)).toEqual([
    'call_started outbound 915557654321',
    'dial_started outbound 15557654321',
    'dial_answered outbound 15557654321',
  ])
})

test('an outbound call that is dialled late, after look-ups, starts with the number as sent to the trunk', () => {
  const pbx = asteriskScene()
  pbx.call('caller', '101', '915557654321')
  pbx.later(2_500)
  pbx.ringOutside('caller', 'b', '15557654321')
  pbx.later(1_000)
  pbx.answer('caller', 'b')
  pbx.end('caller', 'b')
  const [started] = pbx.over().bodies
  expect(started?.data).toMatchObject({
    name: 'call_started',
    call: { direction: 'outbound', to: { number: '15557654321' } },
  })
})

test('an originated call that shows the agent the own number is internal until it dials outside', () => {
  const pbx = asteriskScene()
  pbx.channel('a', 'PJSIP/101', { num: '101' })
  pbx.dialBegin(null, 'a', '101')
  pbx.ringing(null, 'a')
  pbx.later(8_000)
  pbx.state('a', 6)
  pbx.dialEnd(null, 'a', 'ANSWER')
  pbx.channel('b', 'PJSIP/trunk', { num: '15557654321' })
  pbx.dialBegin('a', 'b', '15557654321@trunk')
  pbx.ringing('a', 'b')
  pbx.answer('a', 'b')
  pbx.end('b', 'a')
  const directions = pbx.over().bodies.map(({ data }) => `${data.name} ${data.call.direction} ${data.call.to.number}`)
  expect(directions[0]).toBe('call_started internal null')
  expect(directions.at(-1)).toBe('call_saved outbound 15557654321')
})

test('a dialler: the customer is told within half a second, by the number shown until an agent is dialled', () => {
  const pbx = asteriskScene()
  pbx.channel('customer', 'PJSIP/trunk', { num: '15550100100' })
  pbx.dialBegin(null, 'customer', '15557654321@trunk')
  pbx.ringing(null, 'customer')
  pbx.later(400)
  pbx.state('customer', 6)
  pbx.dialEnd(null, 'customer', 'ANSWER')
  pbx.ring('customer', 'a', '101')
  pbx.answer('customer', 'a')
  pbx.end('customer', 'a')
  const callers = pbx.over().bodies.map(({ data }) => `${data.name} ${data.call.from.number}`)
  expect(callers.slice(0, 4)).toEqual([
    'call_started 15550100100',
    'dial_started 15550100100',
    'dial_answered 15550100100',
    'dial_started 101',
  ])
})
