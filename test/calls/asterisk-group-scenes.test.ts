import { test } from 'bun:test'
import { type AsteriskScene, checkAsteriskScene } from '../help/asterisk-scene.ts'
import type { SceneCase } from '../help/scene.ts'

// Ring groups, queues and voicemail at an Asterisk that no recording has.

const cases: SceneCase<AsteriskScene>[] = [
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
]

test.each(cases)('%s', (_, play, expected, exceptions = []) => checkAsteriskScene(play, expected, exceptions))
