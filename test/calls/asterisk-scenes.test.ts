import { describe, expect, test } from 'bun:test'
import { asteriskScene } from '../help/asterisk-scene.ts'
import { checkScene, type SceneCase } from '../help/scene.ts'

// Situations at an Asterisk that no recording has, as the rules of the call events require.

type Scene = ReturnType<typeof asteriskScene>

const talk = (pbx: Scene): void => {
  pbx.inbound('caller', '15551230001', '15550100101')
  pbx.ring('caller', 'a', '101')
  pbx.later(2_000)
  pbx.answer('caller', 'a')
  pbx.later(3_000)
}
const TALK = `call_started inbound 15551230001 15550100101
dial_started user 101
dial_answered user 101`

const cases: SceneCase<Scene>[] = [
  [
    'a phone that is rung again, in a group now, before the channel of its first dial is gone: two attempts, two stages',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100101')
      pbx.ring('caller', 'a', '101')
      pbx.later(4_000)
      pbx.dialEnd('caller', 'a', 'NOANSWER')
      pbx.ring('caller', 'again', '101')
      pbx.ring('caller', 'b', '102')
      pbx.hangup('a', 0)
      pbx.later(600)
      pbx.dialEnd('caller', 'again', 'CANCEL')
      pbx.answer('caller', 'b')
      pbx.hangup('again', 26)
      pbx.later(2_000)
      pbx.end('caller', 'b')
    },
    `call_started inbound 15551230001 15550100101
dial_started user 101
~dial_ended user 101 no_answer
~dial_started user 101
~dial_started user 102
# then
dial_answered user 102
dial_ended user 101 answered_elsewhere
dial_ended user 102 answered
dial_ended group 15550100101 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
  [
    'two calls that a command bridges, both over at once: one ends inside the other',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100101')
      pbx.later(1_000)
      pbx.call('other', '103', '8002')
      pbx.state('other', 6)
      pbx.later(2_000)
      pbx.enter('caller', 'bridge')
      pbx.enter('other', 'bridge')
      pbx.later(500)
      pbx.linked('other', 'caller')
      pbx.end('caller', 'other')
    },
    `call_started inbound 15551230001 15550100101
dial_answered user 103
dial_ended user 103 answered
call_ended answered owner 103
call_saved recordings 0

call_started internal 103 8002
call_ended answered owner -
call_saved recordings 0`,
  ],
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
    'an extension with two phones rings once',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100101')
      pbx.ring('caller', 'a', '101', '101/sip:101@192.0.2.1:5060')
      pbx.ring('caller', 'b', '101', '101/sip:101@192.0.2.2:5060')
      pbx.later(2_000)
      pbx.dialEnd('caller', 'a', 'CANCEL')
      pbx.answer('caller', 'b')
      pbx.hangup('a', 26)
      pbx.later(2_000)
      pbx.end('b', 'caller')
    },
    `${TALK}
dial_ended user 101 answered
call_ended answered owner 101
call_saved recordings 0`,
  ],
  [
    'a group of one phone of one extension and two of another is a group of two',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100103')
      pbx.ring('caller', 'a', '101')
      pbx.ring('caller', 'b', '102')
      pbx.ring('caller', 'c', '102')
      pbx.later(2_000)
      for (const one of ['a', 'b', 'c']) pbx.dialEnd('caller', one, 'NOANSWER')
      for (const one of ['a', 'b', 'c']) pbx.hangup(one, 0)
      pbx.hangup('caller')
    },
    `call_started inbound 15551230001 15550100103
dial_started user 101
dial_started user 102
~dial_ended user 101 no_answer
~dial_ended user 102 no_answer
dial_ended group 15550100103 no_answer
call_ended no_answer owner -
call_saved recordings 0`,
  ],
  [
    'one who declines while it rings has not answered',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100101')
      pbx.ring('caller', 'a', '101')
      pbx.later(2_000)
      pbx.dialEnd('caller', 'a', 'BUSY')
      pbx.hangup('a', 21)
      pbx.hangup('caller', 21)
    },
    `call_started inbound 15551230001 15550100101
dial_started user 101
dial_ended user 101 rejected
call_ended no_answer owner -
call_saved recordings 0`,
  ],
  [
    'FollowMe: a number that does not answer has no DialEnd',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100111')
      pbx.state('caller', 6)
      pbx.local('one', 'two', '104', 'caller')
      pbx.dialBegin('caller', 'one', '104@any')
      pbx.ring('two', 'a', '104')
      pbx.later(4_000)
      pbx.hangup('one')
      pbx.hangup('two', 0)
      pbx.dialEnd('two', 'a', 'CANCEL')
      pbx.hangup('a')
      pbx.local('one2', 'two2', '102', 'caller')
      pbx.dialBegin('caller', 'one2', '102@any')
      pbx.ring('two2', 'b', '102')
      pbx.later(2_000)
      pbx.state('b', 6)
      pbx.dialEnd('two2', 'b', 'ANSWER')
      pbx.enter('b', 'inner')
      pbx.state('two2', 6)
      pbx.enter('two2', 'inner')
      pbx.state('one2', 6)
      pbx.dialEnd('caller', 'one2', 'ANSWER')
      pbx.enter('one2', 'outer')
      pbx.enter('caller', 'outer')
      pbx.later(2_000)
      pbx.end('caller', 'one2', 'two2', 'b')
    },
    `call_started inbound 15551230001 15550100111
dial_started user 104
dial_ended user 104 no_answer
dial_started user 102
dial_answered user 102
dial_ended user 102 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
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
    'a group of FreePBX behind a member of a queue is a group in the queue',
    (pbx) => {
      const followMe = (key: string): void => {
        pbx.emit('Newexten', pbx.snapshot(key), { Application: 'Set', AppData: 'RingGroupMethod=ringall' })
        pbx.emit('VarSet', pbx.snapshot(key), { Variable: 'RingGroupMethod', Value: 'ringall' })
      }
      pbx.inbound('caller', '15551230001', '15550100401')
      pbx.emit('QueueCallerJoin', pbx.snapshot('caller'), { Queue: '401', Position: 1, Count: 1 })
      pbx.local('one', 'two', '105', 'caller')
      pbx.dialBegin('caller', 'one', 'Local/105@from-queue/n')
      followMe('two')
      pbx.ring('two', 'a', '105')
      pbx.ringOutside('two', 'mobile', '15557654321')
      pbx.ring('caller', 'b', '103')
      pbx.later(3_000)
      pbx.answer('caller', 'b')
      pbx.dialEnd('caller', 'one', 'CANCEL')
      for (const leg of ['a', 'mobile', 'two', 'one']) pbx.hangup(leg, 26)
      pbx.emit('QueueCallerLeave', pbx.snapshot('caller'), { Queue: '401', Position: 1, Count: 0 })
      pbx.later(3_000)
      pbx.end('caller', 'b')
    },
    `call_started inbound 15551230001 15550100401
~dial_started user 105
~dial_started external 15557654321
~dial_started user 103
# then
dial_answered user 103
~dial_ended user 105 answered_elsewhere
~dial_ended external 15557654321 answered_elsewhere
~dial_ended group 105 answered_elsewhere
# then
dial_ended user 103 answered
dial_ended queue 401 answered
call_ended answered owner 103
call_saved recordings 0`,
  ],
  [
    'who is asked by FreePBX to confirm the call, and presses 2, has rejected it',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100101')
      pbx.ring('caller', 'a', '101')
      pbx.ring('caller', 'b', '102')
      pbx.later(2_000)
      pbx.state('a', 6)
      pbx.exten('a', '2')
      pbx.emit('Newexten', pbx.snapshot('a'), { Context: 'macro-confirm', Application: 'Goto', AppData: 'noanswer,1' })
      pbx.dialEnd('caller', 'a', 'ABORT')
      pbx.hangup('a', 16)
      pbx.later(2_000)
      pbx.answer('caller', 'b')
      pbx.later(2_000)
      pbx.end('caller', 'b')
    },
    `call_started inbound 15551230001 15550100101
~dial_started user 101
~dial_started user 102
dial_ended user 101 rejected
dial_answered user 102
dial_ended user 102 answered
dial_ended group 15550100101 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
  [
    'a queue that refuses the caller, since nobody is in it: another is entered, and left',
    (pbx) => {
      const queue = (name: string): void =>
        pbx.emit('Newexten', pbx.snapshot('caller'), { Application: 'Queue', AppData: `${name},tR,,,30` })
      const status = (value: string): void =>
        pbx.emit('VarSet', pbx.snapshot('caller'), { Variable: 'QUEUESTATUS', Value: value })
      pbx.inbound('caller', '15551230001', '15550100101')
      queue('sales')
      status('')
      status('JOINEMPTY')
      pbx.later(500)
      queue('support')
      status('')
      pbx.emit('QueueCallerJoin', pbx.snapshot('caller'), { Queue: 'support', Position: 1, Count: 1 })
      pbx.later(5_000)
      pbx.emit('QueueCallerAbandon', pbx.snapshot('caller'), { Queue: 'support', Position: 1 })
      pbx.emit('QueueCallerLeave', pbx.snapshot('caller'), { Queue: 'support', Position: 1, Count: 0 })
      status('TIMEOUT')
      pbx.later(1_000)
      pbx.hangup('caller', 16)
    },
    `call_started inbound 15551230001 15550100101
dial_ended queue sales other
dial_ended queue support timeout
call_ended no_answer owner -
call_saved recordings 0`,
  ],
  [
    'a phone that the PBX rings by itself is picked up by another',
    (pbx) => {
      pbx.local('one', 'two', '101')
      pbx.dialBegin(null, 'one', '101@any')
      pbx.ring('two', 'a', '101')
      pbx.later(1_000)
      pbx.call('picker', '104', '*8')
      pbx.dialEnd('two', 'a', 'CANCEL')
      pbx.emit('Pickup', pbx.snapshot('picker'), pbx.snapshot('a', 'Target'))
      pbx.hangup('a', 16)
      pbx.state('picker', 6)
      pbx.dialEnd('two', 'picker', 'ANSWER')
      pbx.enter('picker', 'talk')
      pbx.enter('two', 'talk')
      pbx.later(3_000)
      pbx.end('picker', 'two', 'one')
    },
    `call_started internal 101 -
dial_started user 101
dial_answered user 104
dial_ended user 101 answered_elsewhere
dial_ended user 104 answered
call_ended answered owner 104
call_saved recordings 0`,
  ],
  [
    'a pick-up that takes a virtual half of a group, behind which nobody rings yet',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100101')
      pbx.local('one', 'two', '101', 'caller')
      pbx.local('later', 'later-two', '102', 'caller')
      pbx.dialBegin('caller', 'one', '101@any/n')
      pbx.dialBegin('caller', 'later', '102@any/n')
      pbx.ring('two', 'a', '101')
      pbx.later(1_000)
      pbx.call('picker', '104', '**101')
      pbx.dialEnd('caller', 'later', 'CANCEL')
      pbx.emit('Pickup', pbx.snapshot('picker'), pbx.snapshot('later', 'Target'))
      pbx.dialEnd('caller', 'one', 'CANCEL')
      pbx.dialEnd('two', 'a', 'CANCEL')
      for (const leg of ['one', 'two', 'a', 'later', 'later-two']) pbx.hangup(leg, 26)
      pbx.state('picker', 6)
      pbx.dialEnd('caller', 'picker', 'ANSWER')
      pbx.enter('picker', 'talk')
      pbx.enter('caller', 'talk')
      pbx.later(3_000)
      pbx.end('caller', 'picker')
    },
    `call_started inbound 15551230001 15550100101
dial_started user 101
dial_answered user 104
dial_ended user 101 answered_elsewhere
dial_ended user 104 answered
call_ended answered owner 104
call_saved recordings 0`,
  ],
  [
    'an extension of FreePBX that forwards to the outside: the call is to the extension',
    (pbx) => {
      pbx.call('caller', '103', '101')
      const set = (name: string, value: string): void =>
        pbx.emit('VarSet', pbx.snapshot('caller'), { Variable: name, Value: value })
      set('DEXTEN', '101')
      set('DEXTEN', '915557654321#')
      pbx.exten('caller', '915557654321')
      pbx.ringOutside('caller', 'a', '15557654321')
      pbx.later(1_000)
      pbx.answer('caller', 'a')
      pbx.later(2_000)
      pbx.end('caller', 'a')
    },
    `call_started internal 103 101
dial_started external 15557654321
dial_answered external 15557654321
dial_ended external 15557654321 answered
call_ended answered owner 15557654321
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
    'follow-me through two Local channels to an outside number that nobody answers',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100101')
      pbx.local('one', 'two', 'FMGL-15557654321#', 'caller')
      pbx.dialBegin('caller', 'one', 'FMGL-15557654321#@from-internal/n')
      pbx.local('inner-one', 'inner-two', '15557654321', 'caller')
      pbx.dialBegin('two', 'inner-one', '15557654321@from-internal/n')
      pbx.ringOutside('inner-two', 'mobile', '15557654321')
      pbx.later(20_000)
      pbx.dialEnd('caller', 'one', 'NOANSWER')
      pbx.dialEnd('two', 'inner-one', 'CANCEL')
      pbx.dialEnd('inner-two', 'mobile', 'CANCEL')
      for (const key of ['mobile', 'inner-one', 'inner-two', 'one', 'two']) pbx.hangup(key, 0)
      pbx.later(2_000)
      pbx.hangup('caller')
    },
    `call_started inbound 15551230001 15550100101
dial_started external 15557654321
dial_ended external 15557654321 no_answer
call_ended no_answer owner -
call_saved recordings 0`,
  ],
  [
    'a ring group of FreePBX that hunts: one phone after the other, in a subroutine',
    (pbx) => {
      const at = (key: string, application: string, appData: string, context = 'ext-group'): void =>
        pbx.emit('Newexten', pbx.snapshot(key), { Context: context, Application: application, AppData: appData })
      pbx.inbound('caller', '15551230001', '15550100703')
      pbx.exten('caller', '6002')
      at('caller', 'Set', 'RingGroupMethod=hunt')
      pbx.emit('VarSet', pbx.snapshot('caller'), { Variable: 'RingGroupMethod', Value: 'hunt' })
      at('caller', 'Gosub', 'macro-dial,s,1(4,tT,101-102)')
      pbx.exten('caller', 's')
      at('caller', 'Dial', 'PJSIP/101,4,tT', 'macro-dial')
      pbx.ring('caller', 'a', '101')
      pbx.later(4_000)
      pbx.dialEnd('caller', 'a', 'NOANSWER')
      pbx.hangup('a', 0)
      at('caller', 'Dial', 'PJSIP/102,4,tT', 'macro-dial')
      pbx.ring('caller', 'b', '102')
      pbx.later(1_000)
      pbx.answer('caller', 'b')
      pbx.later(3_000)
      pbx.end('caller', 'b')
    },
    `call_started inbound 15551230001 15550100703
dial_started user 101
dial_ended user 101 no_answer
dial_started user 102
dial_answered user 102
dial_ended user 102 answered
dial_ended group 6002 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
  [
    'extensions of FreePBX that are not dialled: do not disturb, no phone registered; and one that forwards',
    (pbx) => {
      const set = (name: string, value: string): void =>
        pbx.emit('VarSet', pbx.snapshot('caller'), { Variable: name, Value: value })
      pbx.inbound('caller', '15551230001', '15550100701')
      pbx.exten('caller', '101')
      set('DEXTEN', '101')
      set('DEXTEN', '')
      set('DIALSTATUS', 'BUSY')
      // The dialplan repeats the variable when it continues.
      set('DIALSTATUS', 'BUSY')
      set('DEXTEN', '102')
      set('DIALSTATUS', 'CHANUNAVAIL')
      set('DEXTEN', '103')
      set('DEXTEN', '104#')
      set('DIALSTATUS', '')
      pbx.ring('caller', 'a', '104')
      pbx.later(1_000)
      pbx.dialEnd('caller', 'a', 'BUSY')
      set('DIALSTATUS', 'BUSY')
      pbx.hangup('a', 17)
      pbx.hangup('caller', 17)
    },
    `call_started inbound 15551230001 15550100701
dial_ended user 101 busy
dial_ended user 102 unavailable
dial_started user 104
dial_ended user 104 busy
call_ended busy owner -
call_saved recordings 0`,
  ],
  [
    'who picks up and does not confirm has not answered; the caller waits on, and is told to call again',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100101')
      pbx.ring('caller', 'a', '101')
      pbx.later(2_000)
      pbx.state('a', 6)
      pbx.later(3_000)
      pbx.dialEnd('caller', 'a', 'ABORT')
      pbx.hangup('a', 16)
      pbx.later(2_000)
      pbx.hangup('caller', 16)
    },
    `call_started inbound 15551230001 15550100101
dial_started user 101
dial_ended user 101 no_answer
call_ended no_answer owner -
call_saved recordings 0`,
  ],
  [
    'a phone of FreePBX is no group of its own, whatever rings it',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100701')
      pbx.exten('caller', '101')
      pbx.emit('Newexten', pbx.snapshot('caller'), { Application: 'Set', AppData: 'RingGroupMethod=none' })
      pbx.emit('VarSet', pbx.snapshot('caller'), { Variable: 'RingGroupMethod', Value: 'none' })
      pbx.ring('caller', 'a', '101')
      pbx.later(1_000)
      pbx.answer('caller', 'a')
      pbx.later(3_000)
      pbx.end('caller', 'a')
    },
    `call_started inbound 15551230001 15550100701
dial_started user 101
dial_answered user 101
dial_ended user 101 answered
call_ended answered owner 101
call_saved recordings 0`,
  ],
  [
    'a group that a subroutine with a name of its own rings has the number that was called',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100808')
      pbx.exten('caller', '808')
      const appData = 'ring,start,1(PJSIP/101&PJSIP/102)'
      pbx.emit('Newexten', pbx.snapshot('caller'), { Context: 'main', Application: 'Gosub', AppData: appData })
      pbx.exten('caller', 'start')
      const dial = { Context: 'ring', Application: 'Dial', AppData: 'PJSIP/101&PJSIP/102,20' }
      pbx.emit('Newexten', pbx.snapshot('caller'), dial)
      for (const phone of ['101', '102']) {
        pbx.channel(phone, `PJSIP/${phone}`, { linked: 'caller', num: phone })
        pbx.emit('DialBegin', pbx.snapshot('caller'), { Context: 'ring' }, pbx.snapshot(phone, 'Dest'), {
          DialString: phone,
        })
        pbx.ringing('caller', phone)
      }
      pbx.later(1_000)
      pbx.dialEnd('caller', '101', 'CANCEL')
      pbx.answer('caller', '102')
      pbx.hangup('101', 26)
      pbx.later(3_000)
      pbx.end('caller', '102')
    },
    `call_started inbound 15551230001 15550100808
~dial_started user 101
~dial_started user 102
dial_answered user 102
dial_ended user 101 answered_elsewhere
dial_ended user 102 answered
dial_ended group 808 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
  [
    'a waiting caller is moved out of a queue into voicemail: only its status shows it',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100809')
      pbx.state('caller', 6)
      pbx.emit('QueueCallerJoin', pbx.snapshot('caller'), { Queue: 'one', Position: 1, Count: 1 })
      pbx.ring('caller', 'a', '101')
      pbx.later(2_000)
      pbx.dialEnd('caller', 'a', 'CANCEL')
      pbx.exten('caller', '602')
      pbx.emit('Newexten', pbx.snapshot('caller'), { Application: 'Queue', AppData: 'one,tT,,,60' })
      pbx.emit('QueueCallerAbandon', pbx.snapshot('caller'), { Queue: 'one', Position: 1, OriginalPosition: 1 })
      pbx.emit('QueueCallerLeave', pbx.snapshot('caller'), { Queue: 'one', Position: 1, Count: 0 })
      pbx.hangup('a', 0)
      pbx.later(3_000)
      pbx.request('caller')
      pbx.emit('VarSet', pbx.snapshot('caller'), { Variable: 'VMSTATUS', Value: 'SUCCESS' })
      pbx.hangup('caller', 0)
    },
    `call_started inbound 15551230001 15550100809
dial_started user 101
dial_ended user 101 cancelled
dial_ended queue one abandoned
call_ended voicemail owner -
call_missed 101
call_saved recordings 0`,
  ],
  [
    'a queue in a queue that the caller leaves',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100311')
      pbx.state('caller', 6)
      pbx.emit('QueueCallerJoin', pbx.snapshot('caller'), { Queue: 'outer', Position: 1, Count: 1 })
      pbx.local('one', 'two', '801', 'caller')
      pbx.dialBegin('caller', 'one', 'Local/801@queues/n')
      pbx.emit('QueueCallerJoin', pbx.snapshot('two'), { Queue: 'inner', Position: 1, Count: 1 })
      pbx.ring('two', 'a', '101', 'PJSIP/101')
      pbx.later(4_000)
      pbx.request('caller')
      pbx.dialEnd('caller', 'one', 'CANCEL')
      pbx.hangup('one', 0)
      pbx.dialEnd('two', 'a', 'CANCEL')
      pbx.emit('QueueCallerAbandon', pbx.snapshot('two'), { Queue: 'inner' })
      pbx.emit('QueueCallerLeave', pbx.snapshot('two'), { Queue: 'inner' })
      pbx.emit('QueueCallerAbandon', pbx.snapshot('caller'), { Queue: 'outer' })
      pbx.emit('QueueCallerLeave', pbx.snapshot('caller'), { Queue: 'outer' })
      for (const key of ['a', 'two', 'caller']) pbx.hangup(key, 0)
    },
    `call_started inbound 15551230001 15550100311
dial_started user 101
dial_ended user 101 cancelled
dial_ended queue inner abandoned
dial_ended queue outer abandoned
call_ended cancelled owner -
call_saved recordings 0`,
  ],
  [
    'a phone that a queue rings behind a Local channel is picked up by a colleague',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100311')
      pbx.state('caller', 6)
      pbx.emit('QueueCallerJoin', pbx.snapshot('caller'), { Queue: 'sales', Position: 1, Count: 1 })
      pbx.local('one', 'two', '101', 'caller')
      pbx.dialBegin('caller', 'one', 'Local/101@any/n')
      pbx.ring('two', 'a', '101')
      pbx.later(2_000)
      pbx.call('picker', '103', '*8')
      pbx.state('picker', 6)
      pbx.emit('Pickup', pbx.snapshot('picker'), pbx.snapshot('a', 'Target'))
      pbx.dialEnd('two', 'picker', 'ANSWER')
      pbx.hangup('a', 16)
      pbx.state('two', 6)
      pbx.state('one', 6)
      pbx.dialEnd('caller', 'one', 'ANSWER')
      pbx.emit('QueueCallerLeave', pbx.snapshot('caller'), { Queue: 'sales' })
      pbx.enter('picker', 'inner')
      pbx.enter('two', 'inner')
      pbx.enter('one', 'outer')
      pbx.enter('caller', 'outer')
      pbx.later(3_000)
      pbx.end('caller', 'one', 'two', 'picker')
    },
    `call_started inbound 15551230001 15550100311
dial_started user 101
dial_answered user 103
dial_ended user 101 answered_elsewhere
dial_ended queue sales answered
dial_ended user 103 answered
call_ended answered owner 103
call_saved recordings 0`,
  ],
  [
    'an application rings two phones for a caller who gives up: both were cancelled',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100901')
      pbx.state('caller', 6)
      for (const phone of ['101', '102']) {
        pbx.channel(phone, `PJSIP/${phone}`, { linked: 'caller', num: '15551230001' })
        pbx.dialBegin(null, phone, phone)
        pbx.ringing(null, phone)
      }
      pbx.later(3_000)
      pbx.end('caller')
      for (const phone of ['101', '102']) {
        pbx.dialEnd(null, phone, 'NOANSWER')
        pbx.hangup(phone, 16)
      }
    },
    `call_started inbound 15551230001 15550100901
~dial_started user 101
~dial_started user 102
# then
~dial_ended user 101 cancelled
~dial_ended user 102 cancelled
dial_ended group 15550100901 cancelled
call_ended cancelled owner -
call_saved recordings 0`,
  ],
  [
    'Congestion() of an older Asterisk, whose hang-up has no cause: the caller did not give up',
    (pbx) => {
      pbx.call('caller', '102', '199')
      pbx.emit('Newexten', pbx.snapshot('caller'), { Extension: '199', Application: 'Congestion', AppData: '' })
      pbx.emit('HangupRequest', pbx.snapshot('caller'))
      pbx.hangup('caller', 34)
    },
    `call_started internal 102 199
call_ended failed owner -
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
    'media channels of an application are no parties: a spy, a recorder, a bot',
    (pbx) => {
      talk(pbx)
      pbx.channel('spy', 'Snoop/1795213000.1', { exten: 's' })
      pbx.channel('bot', 'UnicastRTP/127.0.0.1:9000', { linked: 'caller' })
      pbx.dialBegin(null, 'bot', '127.0.0.1:9000')
      pbx.channel('stream', 'AudioSocket/127.0.0.1:9001', { linked: 'caller' })
      pbx.dialBegin('caller', 'stream', '127.0.0.1:9001/id')
      pbx.channel('socket', 'WebSocket/INCOMING', { linked: 'caller' })
      pbx.later(1_000)
      pbx.end('caller', 'a', 'spy', 'bot', 'stream', 'socket')
    },
    `${TALK}
dial_ended user 101 answered
call_ended answered owner 101
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
  [
    'a queue that rings all, and the caller who gives up',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100124')
      pbx.state('caller', 6)
      pbx.emit('QueueCallerJoin', pbx.snapshot('caller'), { Queue: 'everyone', Position: 1, Count: 1 })
      for (const extension of ['101', '102']) {
        pbx.local(`one${extension}`, `two${extension}`, extension, 'caller')
        pbx.dialBegin('caller', `one${extension}`, `Local/${extension}@any/n`)
        pbx.ring(`two${extension}`, extension, extension)
      }
      pbx.later(3_000)
      pbx.request('caller')
      pbx.emit('QueueCallerAbandon', pbx.snapshot('caller'), { Queue: 'everyone', Position: 1, HoldTime: 3 })
      for (const extension of ['101', '102']) {
        pbx.dialEnd('caller', `one${extension}`, 'CANCEL')
        pbx.hangup(`one${extension}`, 0)
        pbx.hangup(`two${extension}`, 0)
        pbx.dialEnd(`two${extension}`, extension, 'CANCEL')
        pbx.hangup(extension, 0)
      }
      pbx.emit('QueueCallerLeave', pbx.snapshot('caller'), { Queue: 'everyone', Position: 1, Count: 0 })
      pbx.hangup('caller', 0)
    },
    `call_started inbound 15551230001 15550100124
dial_started user 101
dial_started user 102
~dial_ended user 101 cancelled
~dial_ended user 102 cancelled
dial_ended queue everyone abandoned
call_ended cancelled owner -
call_saved recordings 0`,
  ],
  [
    'voicemail that the caller leaves before the tone',
    (pbx) => {
      pbx.inbound('caller', '15551230001', '15550100108')
      pbx.ring('caller', 'a', '101')
      pbx.later(5_000)
      pbx.dialEnd('caller', 'a', 'NOANSWER')
      pbx.hangup('a', 0)
      pbx.emit('Newexten', pbx.snapshot('caller'), { Application: 'VoiceMail', AppData: '101@default,u' })
      pbx.state('caller', 6)
      pbx.later(500)
      pbx.end('caller')
    },
    `call_started inbound 15551230001 15550100108
dial_started user 101
dial_ended user 101 no_answer
call_ended voicemail owner -
call_saved recordings 0`,
  ],
  [
    'recordings that start and stop, and one that lasts to the end',
    (pbx) => {
      talk(pbx)
      for (const channel of ['caller', 'a']) {
        pbx.emit('VarSet', pbx.snapshot(channel), { Variable: 'MIXMONITOR_FILENAME', Value: `/r/${channel}.wav` })
        pbx.emit('MixMonitorStart', pbx.snapshot(channel))
        pbx.later(1_000)
      }
      pbx.emit('MixMonitorStop', pbx.snapshot('a'))
      pbx.later(1_000)
      pbx.end('a', 'caller')
    },
    `${TALK}
dial_ended user 101 answered
call_ended answered owner 101
call_saved recordings 2`,
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
  [
    'a phone that loses its connection is hung up by the PBX',
    (pbx) => {
      talk(pbx)
      pbx.hangup('a', 38)
      pbx.hangup('caller', 16)
    },
    `${TALK}
dial_ended user 101 answered
call_ended answered owner 101
call_saved recordings 0`,
  ],
  [
    'a conference of three: three calls, answered by nobody',
    (pbx) => {
      for (const [index, number] of ['15551230001', '15551230002', '15551230003'].entries()) {
        const key = `c${index}`
        pbx.inbound(key, number, '15550100112')
        pbx.state(key, 6)
        pbx.enter(key, 'room', { BridgeCreator: 'ConfBridge', BridgeTechnology: 'softmix' })
        pbx.later(1_000)
      }
      for (const key of ['c0', 'c1', 'c2']) {
        pbx.end(key)
        pbx.later(500)
      }
    },
    ['15551230001', '15551230002', '15551230003']
      .map(
        (number) => `call_started inbound ${number} 15550100112
call_ended answered owner -
call_saved recordings 0`,
      )
      .join('\n\n'),
  ],
  [
    'a caller who hides, with a name of 10 KB and marks that turn the text around',
    (pbx) => {
      pbx.channel('caller', 'PJSIP/trunk', {
        ringsUs: true,
        exten: '15550100101',
        num: 'anonymous',
        display: `\u202e${'x'.repeat(10_000)}`,
      })
      pbx.ring('caller', 'a', '101')
      pbx.later(1_000)
      pbx.end('caller')
      pbx.dialEnd('caller', 'a', 'CANCEL')
      pbx.hangup('a', 127)
    },
    `call_started inbound - 15550100101
dial_started user 101
dial_ended user 101 cancelled
call_ended cancelled owner -
call_saved recordings 0`,
  ],
]

test.each(cases)('%s', (_, play, expectedText, exceptions = []) => {
  const pbx = asteriskScene()
  play(pbx)
  const played = pbx.over()
  checkScene(played, expectedText, exceptions)
  expect(JSON.stringify(played.bodies)).not.toContain('Local/')
})

/** Starts a recording as the dialplan does. */
function record(pbx: Scene, key: string, path: string, options: string): void {
  pbx.emit('Newexten', pbx.snapshot(key), { Extension: 's', Application: 'MixMonitor', AppData: `a.wav,${options},` })
  pbx.emit('VarSet', pbx.snapshot(key), { Variable: 'MIXMONITOR_FILENAME', Value: path })
  pbx.emit('MixMonitorStart', pbx.snapshot(key))
}

const recordingsOf = (pbx: Scene) => {
  const saved = pbx.over().bodies.find(({ data }) => data.name === 'call_saved')
  if (saved?.data.name !== 'call_saved') throw new Error('no call was saved')
  const { call, recordings } = saved.data
  return { recorded: call.recorded, recordings: recordings.map(({ path, duration }) => `${path} ${duration}`) }
}

describe('recordings that MixMonitor makes', () => {
  test('only while bridged (`b`): one begins with the first bridge of its channel, and has the length of the talk', () => {
    const pbx = asteriskScene()
    pbx.inbound('caller', '15551230001', '15550100101')
    record(pbx, 'caller', '/monitor/a.wav', 'abi(LOCAL_MIXMON_ID)')
    pbx.ring('caller', 'a', '101')
    pbx.later(20_000)
    pbx.answer('caller', 'a')
    pbx.later(7_300)
    pbx.request('a')
    pbx.hangup('a')
    pbx.leave('caller')
    pbx.later(4_000)
    pbx.hangup('caller')
    expect(recordingsOf(pbx)).toEqual({ recorded: true, recordings: ['/monitor/a.wav 7'] })
  })
  test('only while bridged: after a transfer it goes on, and the time between the bridges is not in it', () => {
    const pbx = asteriskScene()
    talk(pbx)
    record(pbx, 'caller', '/monitor/a.wav', 'b')
    pbx.later(2_000)
    pbx.blindTransfer('a', 'caller', '102')
    pbx.leave('a')
    pbx.leave('caller')
    pbx.hangup('a')
    pbx.exten('caller', '102')
    pbx.ring('caller', 'b', '102')
    pbx.later(30_000)
    pbx.answer('caller', 'b')
    pbx.later(3_500)
    pbx.end('caller', 'b')
    expect(recordingsOf(pbx)).toEqual({ recorded: true, recordings: ['/monitor/a.wav 5'] })
  })
  test('only while bridged: a call that nobody answers has none', () => {
    const pbx = asteriskScene()
    pbx.inbound('caller', '15551230001', '15550100101')
    record(pbx, 'caller', '/monitor/a.wav', 'b')
    pbx.ring('caller', 'a', '101')
    pbx.later(5_000)
    pbx.request('caller')
    pbx.hangup('a')
    pbx.hangup('caller', 127)
    expect(recordingsOf(pbx)).toEqual({ recorded: false, recordings: [] })
  })
  test('a letter in the argument of another option is not an option: it records from its start', () => {
    const pbx = asteriskScene()
    pbx.inbound('caller', '15551230001', '15550100101')
    record(pbx, 'caller', '/monitor/a.wav', 'i(bab)')
    pbx.ring('caller', 'a', '101')
    pbx.later(5_000)
    pbx.answer('caller', 'a')
    pbx.later(2_000)
    pbx.end('caller', 'a')
    expect(recordingsOf(pbx)).toEqual({ recorded: true, recordings: ['/monitor/a.wav 7'] })
  })
  test('two starts into one file are one recording: appended it has both lengths, otherwise the second length', () => {
    const lengthWith = (options: string) => {
      const pbx = asteriskScene()
      talk(pbx)
      record(pbx, 'caller', '/monitor/a.wav', 'a')
      pbx.later(2_000)
      pbx.emit('MixMonitorStop', pbx.snapshot('caller'))
      pbx.later(10_000)
      record(pbx, 'caller', '/monitor/a.wav', options)
      pbx.later(3_000)
      pbx.end('caller', 'a')
      return recordingsOf(pbx)
    }
    expect(lengthWith('a')).toEqual({ recorded: true, recordings: ['/monitor/a.wav 5'] })
    expect(lengthWith('')).toEqual({ recorded: true, recordings: ['/monitor/a.wav 3'] })
  })
})

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

test.each([
  ['rang', 'no_answer', true],
  ['did not ring', 'unavailable', false],
])('a phone that %s, and no longer responds, is %s', (_, result, rings) => {
  const pbx = asteriskScene()
  pbx.inbound('caller', '15551230001', '15550100101')
  pbx.channel('a', 'PJSIP/101', { linked: 'caller', num: '101' })
  pbx.dialBegin('caller', 'a', '101')
  if (rings) pbx.ringing('caller', 'a')
  pbx.later(3_000)
  pbx.dialEnd('caller', 'a', 'NOANSWER')
  pbx.hangup('a', 18)
  pbx.hangup('caller', 18)
  const ends = pbx.over().bodies.flatMap(({ data }) => (data.name === 'dial_ended' ? [data.stage.result] : []))
  expect(ends.map(String)).toEqual([result])
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
