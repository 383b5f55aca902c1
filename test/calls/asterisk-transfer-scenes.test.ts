import { test } from 'bun:test'
import { type AsteriskScene, checkAsteriskScene, TALK, talk } from '../help/asterisk-scene.ts'
import type { SceneCase } from '../help/scene.ts'

// Transfers at an Asterisk, and parked calls, that no recording has, as the rules of the call events require.

const cases: SceneCase<AsteriskScene>[] = [
  [
    'a blind transfer by a feature code',
    (pbx) => {
      talk(pbx)
      pbx.blindTransfer('a', 'caller', '102')
      pbx.leave('a')
      pbx.leave('caller')
      pbx.exten('caller', '102')
      pbx.ring('caller', 'b', '102')
      pbx.hangup('a')
      pbx.later(2_000)
      pbx.answer('caller', 'b')
      pbx.later(2_000)
      pbx.end('caller', 'b')
    },
    `${TALK}
call_blind_transferred by 101 15551230001 to 102
~dial_ended user 101 answered
~dial_started user 102
dial_answered user 102
dial_ended user 102 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
  [
    'a blind transfer by a phone behind a Local channel',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100101')
      pbx.local('one', 'two', '101', 'caller')
      pbx.dialBegin('caller', 'one', '101@any/n')
      pbx.ring('two', 'a', '101')
      pbx.later(2_000)
      pbx.answer('two', 'a')
      pbx.answer('caller', 'one')
      pbx.later(2_000)
      pbx.blindTransfer('a', 'two', '102', 'Yes')
      pbx.leave('a')
      pbx.leave('two')
      pbx.exten('two', '102')
      pbx.hangup('a')
      pbx.ring('two', 'b', '102')
      pbx.later(2_000)
      pbx.answer('two', 'b')
      pbx.later(2_000)
      pbx.end('caller', 'one', 'two', 'b')
    },
    `${TALK}
call_blind_transferred by 101 15551230001 to 102
dial_ended user 101 answered
dial_started user 102
dial_answered user 102
dial_ended user 102 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
  [
    'a blind transfer to an outside number: who transferred keeps the call',
    (pbx) => {
      talk(pbx)
      pbx.blindTransfer('a', 'caller', '915557654321')
      pbx.leave('a')
      pbx.leave('caller')
      pbx.exten('caller', '915557654321')
      pbx.ringOutside('caller', 'b', '15557654321')
      pbx.hangup('a')
      pbx.later(2_000)
      pbx.answer('caller', 'b')
      pbx.later(2_000)
      pbx.end('b', 'caller')
    },
    `${TALK}
call_blind_transferred by 101 15551230001 to 915557654321
~dial_ended user 101 answered
~dial_started external 15557654321
dial_answered external 15557654321
dial_ended external 15557654321 answered
call_ended answered owner 101
call_saved recordings 0`,
  ],
  [
    'an attended transfer by Atxfer that is finished while it rings: who transferred leaves at once, though its channel stays',
    (pbx) => {
      talk(pbx)
      pbx.local('one', 'two', '102', 'caller')
      pbx.enter('one', 'second')
      pbx.leave('a')
      pbx.enter('a', 'second')
      pbx.ring('two', 'b', '102')
      pbx.state('one', 5)
      pbx.later(2_000)
      pbx.request('a')
      pbx.attendedTransfer('a', 'a', 'caller', {
        DestType: 'Bridge',
        DestBridgeUniqueid: 'bridge-1',
        ...pbx.snapshot('one', 'TransferTarget'),
      })
      pbx.later(2_000)
      pbx.state('b', 6)
      pbx.dialEnd('two', 'b', 'ANSWER')
      pbx.state('two', 6)
      pbx.enter('b', 'inner')
      pbx.state('one', 6)
      pbx.dialEnd(null, 'one', 'ANSWER')
      pbx.enter('two', 'inner')
      pbx.leave('one')
      pbx.enter('one', 'bridge-1')
      pbx.hangup('a')
      pbx.later(200)
      pbx.leave('caller')
      pbx.leave('two')
      pbx.enter('caller', 'inner')
      pbx.hangup('one')
      pbx.hangup('two')
      pbx.later(3_000)
      pbx.end('caller', 'b')
    },
    `${TALK}
call_attended_transferred by 101 15551230001 to 102
dial_ended user 101 answered
dial_answered user 102
dial_ended user 102 answered
call_ended answered owner 102
call_saved recordings 0

call_started internal 101 102
dial_started user 102`,
  ],
  [
    'an attended transfer that becomes a call of three: who transferred talks on, until it hangs up',
    (pbx) => {
      talk(pbx)
      pbx.local('one', 'two', '102', 'caller')
      pbx.enter('one', 'second')
      pbx.leave('a')
      pbx.enter('a', 'second')
      pbx.ring('two', 'b', '102')
      pbx.state('one', 5)
      pbx.later(2_000)
      pbx.state('b', 6)
      pbx.dialEnd('two', 'b', 'ANSWER')
      pbx.enter('b', 'inner')
      pbx.enter('two', 'inner')
      pbx.dialEnd(null, 'one', 'ANSWER')
      pbx.later(2_000)
      pbx.attendedTransfer('a', 'a', 'caller', {
        DestType: 'Threeway',
        ...pbx.snapshot('one', 'TransferTarget'),
      })
      pbx.leave('a')
      pbx.enter('a', 'bridge-1')
      pbx.leave('one')
      pbx.enter('one', 'bridge-1')
      pbx.later(3_000)
      pbx.request('a')
      pbx.hangup('a')
      pbx.later(2_000)
      pbx.end('caller', 'one', 'two', 'b')
    },
    `${TALK}
call_attended_transferred by 101 15551230001 to 102
dial_ended user 101 answered
dial_ended user 102 answered
call_ended answered owner 102
call_saved recordings 0

call_started internal 101 102
dial_started user 102
dial_answered user 102`,
    ['a transferer leaves with the transfer'],
  ],
  [
    'an attended transfer that nobody answers, and that comes back to who transferred',
    (pbx) => {
      talk(pbx)
      pbx.local('one', 'two', '102', 'caller')
      pbx.enter('one', 'second')
      pbx.leave('a')
      pbx.enter('a', 'second')
      pbx.ring('two', 'b', '102')
      pbx.later(2_000)
      pbx.request('a')
      pbx.attendedTransfer('a', 'a', 'caller', { DestType: 'Bridge', ...pbx.snapshot('one', 'TransferTarget') })
      pbx.hangup('a')
      pbx.later(5_000)
      pbx.dialEnd('two', 'b', 'NOANSWER')
      pbx.hangup('b', 0)
      pbx.hangup('one')
      pbx.hangup('two')
      pbx.channel('again', 'PJSIP/101', { linked: 'caller', num: '101' })
      pbx.dialBegin(null, 'again', '101')
      pbx.ringing(null, 'again')
      pbx.later(2_000)
      pbx.state('again', 6)
      pbx.dialEnd(null, 'again', 'ANSWER')
      pbx.enter('again', 'bridge-1')
      pbx.later(2_000)
      pbx.end('caller', 'again')
    },
    `${TALK}
call_attended_transferred by 101 15551230001 to 102
dial_ended user 101 answered
dial_ended user 102 no_answer
dial_started user 101
dial_answered user 101
dial_ended user 101 answered
call_ended answered owner 101
call_saved recordings 0

call_started internal 101 102
dial_started user 102`,
  ],
  [
    'an attended transfer into a queue',
    (pbx) => {
      talk(pbx)
      pbx.emit('Hold', pbx.snapshot('a'))
      pbx.call('second', '101', '7000')
      pbx.state('second', 6)
      pbx.emit('QueueCallerJoin', pbx.snapshot('second'), { Queue: 'support', Position: 1, Count: 1 })
      pbx.channel('b', 'PJSIP/102', { linked: 'second', num: '102' })
      pbx.emit('AgentCalled', pbx.snapshot('second'), pbx.snapshot('b', 'Dest'), {
        Queue: 'support',
        MemberName: 'Agent 102',
      })
      pbx.dialBegin('second', 'b', 'PJSIP/102')
      pbx.ringing('second', 'b')
      pbx.later(2_000)
      pbx.attendedTransfer('a', 'second', 'caller', { DestType: 'App', DestApp: 'Queue' })
      pbx.leave('a')
      pbx.leave('caller')
      pbx.hangup('a')
      pbx.linked('b', 'caller')
      pbx.exten('caller', '7000')
      pbx.hangup('second')
      pbx.later(2_000)
      pbx.state('b', 6)
      pbx.dialEnd('caller', 'b', 'ANSWER')
      pbx.emit('QueueCallerLeave', pbx.snapshot('caller'), { Queue: 'support', Position: 1, Count: 0 })
      pbx.enter('b', 'queue')
      pbx.enter('caller', 'queue')
      pbx.later(2_000)
      pbx.end('caller', 'b')
    },
    `${TALK}
call_attended_transferred by 101 15551230001 to 7000
dial_ended user 101 answered
dial_answered user 102
dial_ended user 102 answered
dial_ended queue support answered
call_ended answered owner 102
call_saved recordings 0

call_started internal 101 7000
dial_started user 102`,
  ],
  [
    'a parked call that nobody fetches rings the one who parked it again',
    (pbx) => {
      talk(pbx)
      pbx.blindTransfer('a', 'caller', '700', 'Yes')
      pbx.leave('a')
      pbx.leave('caller')
      pbx.enter('caller', 'lot', { BridgeType: 'parking', BridgeTechnology: 'holding_bridge' })
      pbx.later(400)
      pbx.hangup('a')
      pbx.later(20_000)
      pbx.leave('caller')
      pbx.ring('caller', 'again', '101')
      pbx.later(2_000)
      pbx.answer('caller', 'again')
      pbx.later(2_000)
      pbx.end('again', 'caller')
    },
    `${TALK}
call_blind_transferred by 101 15551230001 to 700
dial_ended user 101 answered
dial_started user 101
dial_answered user 101
dial_ended user 101 answered
call_ended answered owner 101
call_saved recordings 0`,
  ],
  [
    'a caller transfers the phone that he called: who is rung then is rung for that phone',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100206')
      pbx.exten('caller', '206')
      pbx.emit('Newexten', pbx.snapshot('caller'), { Extension: '206', Application: 'Dial', AppData: 'PJSIP/101' })
      pbx.channel('a', 'PJSIP/101', { linked: 'caller', exten: '206', num: '101' })
      pbx.emit('Newexten', pbx.snapshot('a'), { Extension: '206', Application: 'AppDial', AppData: '(Outgoing Line)' })
      pbx.dialBegin('caller', 'a', '101')
      pbx.ringing('caller', 'a')
      pbx.answer('caller', 'a')
      pbx.later(2_000)
      pbx.blindTransfer('caller', 'a', '103')
      pbx.leave('caller')
      pbx.leave('a')
      pbx.exten('a', '103')
      pbx.ring('a', 'b', '103')
      pbx.hangup('caller')
      pbx.later(1_000)
      pbx.answer('a', 'b')
      pbx.later(1_000)
      pbx.end('a', 'b')
    },
    `call_started inbound 15551230001 15550100206
dial_started user 101
dial_answered user 101
call_blind_transferred by 15551230001 101 to 103
dial_started user 103
dial_answered user 103
~dial_ended user 101 answered
~dial_ended user 103 answered
call_ended answered owner 103
call_saved recordings 0`,
  ],
  [
    'an attended transfer by Replaces after which the second line lives on as the caller',
    (pbx) => {
      talk(pbx)
      pbx.emit('Hold', pbx.snapshot('a'))
      pbx.call('second', '101', '915557654321')
      pbx.ringOutside('second', 'b', '15557654321')
      pbx.later(1_000)
      pbx.answer('second', 'b')
      pbx.later(2_000)
      pbx.attendedTransfer('a', 'second', 'caller', { DestType: 'Bridge', ...pbx.snapshot('b', 'TransferTarget') })
      pbx.leave('second')
      pbx.hangup('second')
      pbx.leave('caller')
      pbx.linked('b', 'caller')
      pbx.enter('caller', 'bridge-2')
      pbx.leave('a')
      pbx.hangup('a')
      pbx.later(3_000)
      pbx.end('caller', 'b')
    },
    `${TALK}
call_attended_transferred by 101 15551230001 to 15557654321
dial_ended user 101 answered
dial_ended external 15557654321 answered
call_ended answered owner 101
call_saved recordings 0

call_started outbound 101 15557654321
dial_started external 15557654321
dial_answered external 15557654321`,
  ],
]

test.each(cases)('%s', (_, play, expected, exceptions = []) => checkAsteriskScene(play, expected, exceptions))
