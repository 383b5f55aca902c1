import { expect, test } from 'bun:test'
import { type AsteriskScene, asteriskScene, checkAsteriskScene, TALK, talk } from '../help/asterisk-scene.ts'
import type { SceneCase } from '../help/scene.ts'

// Dials at an Asterisk that no recording has: who rang, who answered, and how each attempt ended.

const cases: SceneCase<AsteriskScene>[] = [
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

test.each(cases)('%s', (_, play, expected, exceptions = []) => checkAsteriskScene(play, expected, exceptions))

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
