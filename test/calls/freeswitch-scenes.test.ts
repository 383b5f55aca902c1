import { expect, test } from 'bun:test'
import { freeswitchScene } from '../help/freeswitch-scene.ts'
import type { TimedFrame } from '../help/reorder.ts'
import { checkScene, type SceneCase } from '../help/scene.ts'

// Situations at a FreeSWITCH that no recording has, as the rules of the call events require.

type Scene = ReturnType<typeof freeswitchScene>

const talk = (pbx: Scene): void => {
  pbx.inbound('A', '79161234567', '74950001001')
  pbx.dial('A', 'B', '1001')
  pbx.later(2_000)
  pbx.answer('B')
  pbx.answer('A')
  pbx.bridge('A', 'B')
  pbx.later(3_000)
}
/** The leg of a number that A dials through a gateway, before it rings. */
const gatewayLeg = (number: string, gateway: string): [Record<string, string>, Record<string, string>] => [
  {
    'Channel-Name': `sofia/external/${number}`,
    'Caller-Destination-Number': number,
    'Other-Type': 'originator',
    'Other-Leg-Unique-ID': 'A',
  },
  { sip_gateway_name: gateway, sofia_profile_name: 'external' },
]

const TALK = `call_started inbound 79161234567 74950001001
dial_started user 1001
dial_answered user 1001`

const cases: SceneCase<Scene>[] = [
  [
    'a caller gives up in a queue where nobody is free; that it hung up is shown after the end of its leg',
    (pbx) => {
      const of = { 'Event-Subclass': 'callcenter::info', 'CC-Queue': 'sales@default', 'CC-Member-UUID': 'M' }
      const queue = { ...of, 'CC-Member-Session-UUID': 'A' }
      pbx.inbound('A', '79161234567', '74950001001')
      pbx.answer('A')
      pbx.emit('CUSTOM', 'A', { ...queue, 'CC-Action': 'member-queue-start' })
      pbx.later(3_000)
      pbx.emit('CHANNEL_HANGUP', 'A', { 'Hangup-Cause': 'NORMAL_CLEARING' })
      const left = { 'CC-Action': 'member-queue-end', 'CC-Cause': 'Cancel', 'CC-Cancel-Reason': 'BREAK_OUT' }
      pbx.emit('CUSTOM', 'A', { ...queue, ...left })
      pbx.later(20)
      const itself = { 'Hangup-Cause': 'NORMAL_CLEARING', variable_sip_hangup_disposition: 'recv_bye' }
      pbx.emit('CHANNEL_HANGUP_COMPLETE', 'A', itself)
      pbx.emit('CHANNEL_DESTROY', 'A', itself)
    },
    `call_started inbound 79161234567 74950001001
dial_ended queue sales@default abandoned
call_ended cancelled owner -
call_saved recordings 0`,
  ],
  [
    'the time of a queue and of its members is over at the same moment: nobody gave up, be their phones withdrawn',
    (pbx) => {
      const of = { 'Event-Subclass': 'callcenter::info', 'CC-Queue': 'sales@default', 'CC-Member-UUID': 'M' }
      const queue = { ...of, 'CC-Member-Session-UUID': 'A' }
      const member = { cc_member_session_uuid: 'A', cc_member_uuid: 'M' }
      pbx.inbound('A', '79161234567', '74950001001')
      pbx.answer('A')
      pbx.emit('CUSTOM', 'A', { ...queue, 'CC-Action': 'member-queue-start' })
      pbx.dial(null, 'B', '1001', member)
      pbx.dial(null, 'C', '1002', member)
      pbx.later(8_000)
      pbx.hangup('B', 'NO_ANSWER')
      pbx.hangup('C', 'ORIGINATOR_CANCEL')
      const left = { 'CC-Action': 'member-queue-end', 'CC-Cause': 'Cancel', 'CC-Cancel-Reason': 'TIMEOUT' }
      pbx.emit('CUSTOM', 'A', { ...queue, ...left })
      pbx.later(60)
      pbx.dial('A', 'D', '1003')
      pbx.later(2_000)
      pbx.answer('D')
      pbx.bridge('A', 'D')
      pbx.later(2_000)
      pbx.end('A', 'D')
    },
    `call_started inbound 79161234567 74950001001
~ dial_started user 1001
~ dial_started user 1002
~ dial_ended user 1001 no_answer
~ dial_ended user 1002 no_answer
dial_ended queue sales@default timeout
dial_started user 1003
dial_answered user 1003
dial_ended user 1003 answered
call_ended answered owner 1003
call_saved recordings 0`,
  ],
  [
    'a caller gives up while the first phone of a dial string rings: the second was not tried',
    (pbx) => {
      const bridging = { current_application: 'bridge', current_application_data: 'user/1001@pbx|user/1007@pbx' }
      pbx.inbound('A', '79161234567', '74950001001')
      pbx.set('A', { ...bridging, originate_disposition: 'failure', dialed_user: '1001' })
      pbx.dial('A', 'B', '1001')
      pbx.emit('CHANNEL_PROGRESS', 'A')
      pbx.later(2_000)
      pbx.set('A', { originate_disposition: 'ORIGINATOR_CANCEL', sip_hangup_disposition: 'recv_cancel' })
      pbx.hangup('B', 'ORIGINATOR_CANCEL')
      const of = { Application: 'bridge', 'Application-Data': bridging.current_application_data }
      pbx.emit('CHANNEL_EXECUTE_COMPLETE', 'A', of)
      pbx.hangup('A', 'ORIGINATOR_CANCEL')
    },
    `call_started inbound 79161234567 74950001001
dial_started user 1001
dial_ended user 1001 cancelled
call_ended cancelled owner -
call_saved recordings 0`,
  ],
  [
    'the contacts of a directory group ring in turn: the user that was read last is not the one who was busy',
    (pbx) => {
      const contact = (user: string) => `[presence_id=${user}@pbx]sofia/internal/sip:${user}@192.0.2.${user.at(-1)}`
      const contacts = ['1001', '1002', '1003'].map(contact).join('|')
      pbx.inbound('A', '79161234567', '74950001001')
      pbx.set('A', { current_application: 'bridge', current_application_data: contacts })
      pbx.set('A', { originate_disposition: 'failure', dialed_user: '1003' })
      pbx.dial('A', 'B', '1001')
      pbx.later(500)
      pbx.hangup('B', 'USER_BUSY')
      pbx.set('A', { originate_disposition: 'USER_BUSY', originate_failed_cause: 'USER_BUSY' })
      pbx.later(20)
      pbx.dial('A', 'C', '1002')
      pbx.emit('CHANNEL_PROGRESS', 'A')
      pbx.later(1_000)
      pbx.answer('C')
      pbx.answer('A')
      pbx.bridge('A', 'C')
      pbx.later(1_000)
      pbx.end('A', 'C')
    },
    `call_started inbound 79161234567 74950001001
dial_started user 1001
dial_ended user 1001 busy
dial_started user 1002
dial_answered user 1002
dial_ended user 1002 answered
call_ended answered owner 1002
call_saved recordings 0`,
  ],
  [
    'the end of an application other than bridge says nothing of what it was given',
    (pbx) => {
      pbx.inbound('A', '79161234567', '74950001001')
      const of = { Application: 'set', 'Application-Data': 'target=user/1007@pbx|user/1008@pbx' }
      const before = { variable_originate_disposition: 'USER_NOT_REGISTERED', variable_dialed_user: '1007' }
      pbx.emit('CHANNEL_EXECUTE_COMPLETE', 'A', { ...of, ...before })
      pbx.hangup('A')
    },
    `call_started inbound 79161234567 74950001001
call_ended failed owner -
call_saved recordings 0`,
  ],
  [
    'a user with two phones rings once',
    (pbx) => {
      pbx.inbound('A', '79161234567', '74950001001')
      pbx.dial('A', 'B', '1001')
      pbx.dial('A', 'C', '1001')
      pbx.later(2_000)
      pbx.answer('C')
      pbx.answer('A')
      pbx.hangup('B', 'LOSE_RACE')
      pbx.bridge('A', 'C')
      pbx.later(2_000)
      pbx.end('C', 'A')
    },
    `${TALK}
dial_ended user 1001 answered
call_ended answered owner 1001
call_saved recordings 0`,
  ],
  [
    'an originate that rings two phones: who answers first is the caller, and the other was answered elsewhere',
    (pbx) => {
      const shown = { 'Caller-Caller-ID-Number': '79035556677', 'Caller-Channel-Created-Time': '1795213000500000' }
      pbx.dial(null, 'A', '1001', {}, shown)
      pbx.dial(null, 'B', '1002', {}, shown)
      pbx.later(600)
      // The end of the other phone may overtake the answer.
      pbx.hangup('A', 'LOSE_RACE')
      pbx.answer('B')
      pbx.dialOutside('B', 'C', '79035556677')
      pbx.later(600)
      pbx.answer('C')
      pbx.bridge('B', 'C')
      pbx.later(2_000)
      pbx.end('C', 'B')
    },
    `call_started outbound 1001 79035556677
~dial_started user 1001
~dial_started user 1002
~dial_ended user 1001 answered_elsewhere
~dial_answered user 1002
~dial_started external 79035556677
dial_answered external 79035556677
~dial_ended external 79035556677 answered
~dial_ended user 1002 answered
call_ended answered owner 1002
call_saved recordings 0`,
  ],
  [
    'two originates that show one number at different times are two calls',
    (pbx) => {
      const shown = (atUs: string) => ({
        'Caller-Caller-ID-Number': '79035556677',
        'Caller-Channel-Created-Time': atUs,
      })
      pbx.dial(null, 'A', '1001', {}, shown('1795213000500000'))
      pbx.later(20)
      pbx.dial(null, 'B', '1002', {}, shown('1795213000520000'))
      pbx.later(2_000)
      for (const id of ['A', 'B']) pbx.hangup(id, 'NO_ANSWER')
    },
    `call_started outbound 1001 79035556677
dial_started user 1001
dial_ended user 1001 no_answer
call_ended no_answer owner -
call_saved recordings 0

call_started outbound 1002 79035556677
dial_started user 1002
dial_ended user 1002 no_answer
call_ended no_answer owner -
call_saved recordings 0`,
  ],
  [
    'an attended transfer that is finished while it rings',
    (pbx) => {
      talk(pbx)
      pbx.emit('CHANNEL_HOLD', 'B')
      pbx.call('C', '1001', '1002')
      pbx.dial('C', 'D', '1002')
      pbx.later(2_000)
      pbx.emit('CHANNEL_HANGUP', 'C', { 'Hangup-Cause': 'NORMAL_CLEARING' })
      pbx.set('A', {
        att_xfer_destination_number: '1002',
        transfer_source: '1795213000:x:bl_xfer:m:":endless_playback:any":park/default/inline',
      })
      pbx.hangup('B')
      pbx.unbridge('A', 'B')
      pbx.later(3_000)
      pbx.answer('D')
      pbx.bridge('A', 'D')
      pbx.emit('CHANNEL_HANGUP_COMPLETE', 'C', { 'Hangup-Cause': 'NORMAL_CLEARING' })
      pbx.emit('CHANNEL_DESTROY', 'C')
      pbx.later(2_000)
      pbx.end('A', 'D')
    },
    `${TALK}
call_attended_transferred by 1001 79161234567 to 1002
dial_ended user 1001 answered
dial_answered user 1002
dial_ended user 1002 answered
call_ended answered owner 1002
call_saved recordings 0

call_started internal 1001 1002
dial_started user 1002`,
  ],
  [
    'an attended transfer by REFER by the caller of an outbound call: the target owns it from the transfer on, though the legs stay up',
    (pbx) => {
      pbx.call('A', '1001', '979035556677')
      pbx.dialOutside('A', 'B', '79035556677')
      pbx.later(1_000)
      pbx.answer('B')
      pbx.answer('A')
      pbx.bridge('A', 'B')
      pbx.later(2_000)
      pbx.emit('CHANNEL_HOLD', 'A')
      pbx.call('C', '1001', '1002')
      pbx.dial('C', 'D', '1002')
      pbx.later(2_000)
      pbx.answer('D')
      pbx.answer('C')
      pbx.bridge('C', 'D')
      pbx.later(2_000)
      pbx.unbridge('C', 'D')
      pbx.set('A', { transfer_to: 'att:D', refer_uuid: 'C' })
      pbx.emit('CALL_UPDATE', 'A')
      pbx.later(3_000)
      pbx.unbridge('B', 'A')
      pbx.bridge('B', 'D')
      pbx.later(3_000)
      pbx.hangup('C')
      pbx.hangup('A')
      pbx.later(2_000)
      pbx.end('D', 'B')
    },
    `call_started outbound 1001 79035556677
dial_started external 79035556677
dial_answered external 79035556677 | owner 1001
call_attended_transferred by 1001 79035556677 to 1002 | owner 1002
dial_ended user 1002 answered | owner 1002
dial_ended external 79035556677 answered
call_ended answered owner 1002 | handled 1001,1002
call_saved recordings 0

call_started internal 1001 1002
dial_started user 1002
dial_answered user 1002`,
  ],
  [
    'a blind transfer to an extension has its name, and so has its phone',
    (pbx) => {
      pbx.answers({ user: '1002@pbx.example', name: 'Beth' })
      talk(pbx)
      pbx.set('B', { endpoint_disposition: 'BLIND_TRANSFER', transfer_destination: 'blind:1002' })
      pbx.hangup('B')
      pbx.move('A', '1002')
      pbx.dial('A', 'C', '1002', { presence_id: '1002@pbx.example' })
      pbx.later(1_000)
      pbx.answer('C')
      pbx.bridge('A', 'C')
      pbx.later(2_000)
      pbx.end('A', 'C')
    },
    `${TALK}
call_blind_transferred by 1001 79161234567 to 1002 | to "Beth"
dial_ended user 1001 answered
dial_started user 1002 | name "Beth"
dial_answered user 1002 | name "Beth"
dial_ended user 1002 answered | name "Beth"
call_ended answered owner 1002
call_saved recordings 0`,
  ],
  [
    'a phone has the name that its own leg shows, and its next leg from its first event on',
    (pbx) => {
      const shown = { presence_id: '1001@pbx.example', effective_caller_id_number: '1001' }
      pbx.inbound('A', '79161234567', '74950001001')
      pbx.dial('A', 'B', '1001', { presence_id: '1001@pbx.example' })
      pbx.set('B', { ...shown, effective_caller_id_name: 'Anna' })
      pbx.hangup('B', 'USER_BUSY')
      // The name of another party's number is not the phone's.
      pbx.dial('A', 'C', '1002', { ...shown, presence_id: '1002@pbx.example', effective_caller_id_name: 'Anna' })
      pbx.hangup('C', 'USER_BUSY')
      pbx.dial('A', 'D', '1001', { presence_id: '1001@pbx.example' })
      pbx.later(1_000)
      pbx.hangup('D', 'NO_ANSWER')
      pbx.end('A')
    },
    `call_started inbound 79161234567 74950001001
dial_started user 1001 | name -
dial_ended user 1001 busy | name "Anna"
dial_started user 1002
dial_ended user 1002 busy | name -
dial_started user 1001 | name "Anna" try 2
dial_ended user 1001 no_answer | name "Anna"
call_ended cancelled owner -
call_saved recordings 0`,
  ],
  [
    'two talks that the API makes one',
    (pbx) => {
      talk(pbx)
      pbx.emit('CHANNEL_HOLD', 'B')
      pbx.call('C', '1001', '1002')
      pbx.dial('C', 'D', '1002')
      pbx.later(2_000)
      pbx.answer('D')
      pbx.answer('C')
      pbx.bridge('C', 'D')
      pbx.later(2_000)
      pbx.unbridge('A', 'B')
      pbx.unbridge('C', 'D')
      pbx.bridge('A', 'D')
      pbx.hangup('B')
      pbx.hangup('C')
      pbx.later(2_000)
      pbx.end('D', 'A')
    },
    `${TALK}
call_attended_transferred by 1001 79161234567 to 1002
dial_ended user 1001 answered
dial_ended user 1002 answered
call_ended answered owner 1002
call_saved recordings 0

call_started internal 1001 1002
dial_started user 1002
dial_answered user 1002`,
  ],
  [
    'the API sends the called party of an internal call elsewhere',
    (pbx) => {
      pbx.call('A', '1003', '1001')
      pbx.dial('A', 'B', '1001')
      pbx.later(1_000)
      pbx.answer('B')
      pbx.answer('A')
      pbx.bridge('A', 'B')
      pbx.later(2_000)
      pbx.set('B', { transfer_source: '1795213009:x:bl_xfer:1002/default/XML' })
      pbx.unbridge('A', 'B')
      pbx.hangup('A')
      pbx.dial('B', 'D', '1002', { where: '1002' })
      pbx.later(1_000)
      pbx.answer('D')
      pbx.bridge('B', 'D')
      pbx.later(1_000)
      pbx.end('D', 'B')
    },
    `call_started internal 1003 1001
dial_started user 1001
dial_answered user 1001
call_blind_transferred by 1003 1001 to 1002
dial_started user 1002
dial_answered user 1002
~dial_ended user 1002 answered
~dial_ended user 1001 answered
call_ended answered owner 1002
call_saved recordings 0`,
  ],
  [
    'click-to-call to an extension',
    (pbx) => {
      pbx.dial(null, 'A', '1001')
      pbx.later(1_000)
      pbx.answer('A')
      pbx.dial('A', 'B', '1002')
      pbx.later(1_000)
      pbx.answer('B')
      pbx.bridge('A', 'B')
      pbx.later(1_000)
      pbx.end('B', 'A')
    },
    `call_started internal 1001 1002
dial_started user 1001
dial_answered user 1001
dial_started user 1002
dial_answered user 1002
~dial_ended user 1001 answered
~dial_ended user 1002 answered
call_ended answered owner 1002
call_saved recordings 0`,
  ],
  [
    'click-to-call through a loopback channel that bows out',
    (pbx) => {
      pbx.create(
        'LA',
        'outbound',
        { 'Channel-Name': 'loopback/1001-a', 'Caller-Destination-Number': '1001' },
        { loopback_leg: 'A' },
      )
      pbx.create(
        'LB',
        'inbound',
        { 'Channel-Name': 'loopback/1001-b', 'Caller-Destination-Number': '1001' },
        { loopback_leg: 'B', other_loopback_leg_uuid: 'LA' },
      )
      pbx.dial('LB', 'X', '1001')
      pbx.later(1_000)
      pbx.answer('X')
      pbx.answer('LB')
      pbx.bridge('LB', 'X')
      pbx.answer('LA')
      pbx.dialOutside('LA', 'T', '79031112233')
      pbx.later(1_000)
      pbx.answer('T')
      pbx.bridge('LA', 'T')
      pbx.later(2_000)
      pbx.unbridge('LB', 'X')
      pbx.unbridge('LA', 'T')
      pbx.bridge('X', 'T')
      pbx.hangup('LA')
      pbx.hangup('LB')
      pbx.later(2_000)
      pbx.end('T', 'X')
    },
    `call_started outbound 1001 79031112233
dial_started user 1001
dial_answered user 1001
dial_started external 79031112233
dial_answered external 79031112233
~dial_ended user 1001 answered
~dial_ended external 79031112233 answered
call_ended answered owner 1001
call_saved recordings 0`,
  ],
  [
    'a leg that ended before it began',
    (pbx) => {
      pbx.inbound('A', '79161234567', '74950001001')
      pbx.later(100)
      pbx.unknown('B')
      pbx.emit('CHANNEL_HANGUP', 'B', { 'Hangup-Cause': 'DESTINATION_OUT_OF_ORDER' })
      pbx.create(
        'B',
        'outbound',
        { 'Caller-Destination-Number': '1001', 'Other-Type': 'originator', 'Other-Leg-Unique-ID': 'A' },
        { dialed_user: '1001' },
      )
      pbx.emit('CHANNEL_DESTROY', 'B')
      pbx.later(100)
      pbx.hangup('A', 'DESTINATION_OUT_OF_ORDER')
    },
    `call_started inbound 79161234567 74950001001
dial_ended user 1001 unavailable
call_ended failed owner -
call_saved recordings 0`,
    ['started, answered, ended', 'durations of a stage'],
  ],
  [
    'early media that is bridged before its answer, and one that never answers',
    (pbx) => {
      pbx.call('A', '1001', '979031112233')
      pbx.dialOutside('A', 'T', '79031112233')
      pbx.bridge('A', 'T')
      pbx.later(2_000)
      pbx.hangup('T', 'USER_BUSY')
      pbx.dialOutside('A', 'U', '79031112244')
      pbx.bridge('A', 'U')
      pbx.later(2_000)
      pbx.answer('U')
      pbx.answer('A')
      pbx.later(2_000)
      pbx.end('U', 'A')
    },
    `call_started outbound 1001 79031112233
dial_started external 79031112233
dial_ended external 79031112233 busy
dial_started external 79031112244
dial_answered external 79031112244
dial_ended external 79031112244 answered
call_ended answered owner 1001
call_saved recordings 0`,
  ],
  [
    'one originate for several groups (:_:)',
    (pbx) => {
      pbx.inbound('A', '79161234567', '74950001001')
      pbx.dial('A', 'B', '1001', { ent_originate_aleg_uuid: 'A' })
      pbx.dial('A', 'C', '1002', { ent_originate_aleg_uuid: 'A' })
      pbx.later(1_000)
      pbx.answer('B')
      pbx.answer('A')
      pbx.bridge('A', 'B')
      pbx.hangup('C', 'LOSE_RACE')
      pbx.later(1_000)
      pbx.end('A', 'B')
    },
    `call_started inbound 79161234567 74950001001
dial_started user 1001
dial_started user 1002
dial_answered user 1001
dial_ended user 1002 answered_elsewhere
dial_ended user 1001 answered
dial_ended group 74950001001 answered
call_ended answered owner 1001
call_saved recordings 0`,
  ],
  [
    'a phone that declines while it rings, and the caller who gets that answer',
    (pbx) => {
      pbx.inbound('A', '79161234567', '74950001001')
      pbx.dial('A', 'B', '1001')
      pbx.later(1_000)
      pbx.hangup('B', 'CALL_REJECTED')
      pbx.hangup('A', 'CALL_REJECTED')
    },
    `call_started inbound 79161234567 74950001001
dial_started user 1001
dial_ended user 1001 rejected
call_ended no_answer owner -
call_saved recordings 0`,
  ],
  [
    'a leg that the API kills',
    (pbx) => {
      talk(pbx)
      pbx.set('A', { sip_hangup_disposition: 'send_bye' })
      pbx.hangup('A')
      pbx.set('B', { sip_hangup_disposition: 'send_bye' })
      pbx.hangup('B')
    },
    `${TALK}
dial_ended user 1001 answered
call_ended answered owner 1001
call_saved recordings 0`,
  ],
  [
    'a blind transfer to an outside number: who transferred keeps the call',
    (pbx) => {
      talk(pbx)
      pbx.set('B', { endpoint_disposition: 'BLIND_TRANSFER', transfer_destination: 'blind:979031112233' })
      pbx.hangup('B')
      pbx.unbridge('A', 'B')
      pbx.dialOutside('A', 'D', '79031112233')
      pbx.later(1_000)
      pbx.answer('D')
      pbx.bridge('A', 'D')
      pbx.later(1_000)
      pbx.end('A', 'D')
    },
    `${TALK}
call_blind_transferred by 1001 79161234567 to 979031112233
dial_ended user 1001 answered
dial_started external 79031112233
dial_answered external 79031112233
dial_ended external 79031112233 answered
call_ended answered owner 1001
call_saved recordings 0`,
  ],
  [
    'recordings that start, stop and are empty',
    (pbx) => {
      talk(pbx)
      for (const path of ['/r/1.wav', '/r/2.wav']) {
        pbx.emit('RECORD_START', 'A', { 'Record-File-Path': path })
        pbx.later(1_000)
        pbx.emit('RECORD_STOP', 'A', { 'Record-File-Path': path, variable_record_ms: '1000' })
      }
      pbx.emit('RECORD_START', 'B', { 'Record-File-Path': '/r/3.wav' })
      pbx.emit('RECORD_STOP', 'B', { 'Record-File-Path': '/r/3.wav', 'Record-Completion-Cause': 'empty-file' })
      pbx.end('A', 'B')
    },
    `${TALK}
dial_ended user 1001 answered
call_ended answered owner 1001
call_saved recordings 2`,
  ],
  [
    'a panel brings together two parties that it rang and parked: the older call survives',
    (pbx) => {
      pbx.dial(null, 'A', '1001', {}, { 'Caller-Caller-ID-Number': '79031112233' })
      pbx.later(1_000)
      pbx.answer('A')
      pbx.later(500)
      pbx.dialOutside(null, 'B', '79031112233', { 'Caller-Caller-ID-Number': '74950000000' })
      pbx.later(2_000)
      pbx.answer('B')
      pbx.later(500)
      pbx.bridge('A', 'B')
      pbx.later(2_000)
      pbx.end('B', 'A')
    },
    `call_started outbound 1001 79031112233
dial_started user 1001
dial_answered user 1001
~dial_ended user 1001 answered
~dial_ended external 79031112233 answered
call_ended answered owner 1001
call_saved recordings 0

call_started outbound 74950000000 79031112233
dial_started external 79031112233
dial_answered external 79031112233
call_ended answered owner 79031112233
call_saved recordings 0`,
  ],
  [
    'a phone that a panel has rung long before takes a call that rings another one',
    (pbx) => {
      pbx.inbound('A', '79161234567', '74950001001')
      pbx.later(1_000)
      pbx.dial(null, 'C', '1003')
      pbx.answer('C')
      pbx.later(30_000)
      pbx.dial('A', 'B', '1001')
      pbx.later(5_000)
      pbx.hangup('B', 'PICKED_OFF')
      pbx.bridge('C', 'A')
      pbx.later(2_000)
      pbx.end('A', 'C')
    },
    `call_started inbound 79161234567 74950001001
dial_started user 1001
~dial_ended user 1001 answered_elsewhere
~dial_ended user 1003 answered
call_ended answered owner 1003
call_saved recordings 0

call_started internal 1003 -
dial_started user 1003
dial_answered user 1003
call_ended answered owner 1003
call_saved recordings 0`,
  ],
  [
    'a caller camps on a busy phone, which is rung again for it',
    (pbx) => {
      pbx.call('A', '1004', '38801')
      pbx.set('A', { current_application: 'bridge', campon: 'true' })
      pbx.answer('A')
      const caller = { 'Caller-Caller-ID-Number': '1004' }
      pbx.dial(null, 'B', '1001', { originate_early_media: 'true' }, caller)
      pbx.later(500)
      pbx.hangup('B', 'USER_BUSY')
      pbx.later(3_000)
      pbx.dial(null, 'C', '1001', { originate_early_media: 'true' }, caller)
      pbx.later(1_000)
      pbx.answer('C')
      pbx.bridge('A', 'C')
      pbx.later(1_000)
      pbx.end('A', 'C')
    },
    `call_started internal 1004 38801
dial_started user 1001
dial_ended user 1001 busy
dial_started user 1001
dial_answered user 1001
dial_ended user 1001 answered
call_ended answered owner 1001
call_saved recordings 0`,
  ],
  [
    'a user who cannot be reached, then an outside number: the caller shows it late',
    (pbx) => {
      pbx.call('A', '1001', '2520')
      pbx.dialOutside('A', 'B', '79037778899')
      pbx.later(20)
      pbx.set('A', {
        originate_disposition: 'failure',
        originate_failed_cause: 'USER_NOT_REGISTERED',
        dialed_user: '1008',
        originated_legs: 'B;Outbound Call;79037778899',
      })
      pbx.emit('CHANNEL_PROGRESS', 'A')
      pbx.later(1_000)
      pbx.answer('B')
      pbx.answer('A')
      pbx.bridge('A', 'B')
      pbx.later(1_000)
      pbx.end('A', 'B')
    },
    `call_started internal 1001 2520
dial_ended user 1008 unavailable
dial_started external 79037778899
dial_answered external 79037778899
dial_ended external 79037778899 answered
call_ended answered owner 79037778899
call_saved recordings 0`,
  ],
  [
    'a user whose leg is not known yet was reached, whatever the dial before came to',
    (pbx) => {
      pbx.inbound('A', '79161234567', '74950001001')
      pbx.set('A', {
        originate_disposition: 'failure',
        originate_failed_cause: 'USER_NOT_REGISTERED',
        dialed_user: '1002',
        originated_legs: 'B;Outbound Call;1002',
      })
      pbx.emit('CHANNEL_PROGRESS', 'A')
      pbx.later(10)
      pbx.dial('A', 'B', '1002')
      pbx.later(1_000)
      pbx.answer('B')
      pbx.answer('A')
      pbx.bridge('A', 'B')
      pbx.later(1_000)
      pbx.end('A', 'B')
    },
    `call_started inbound 79161234567 74950001001
dial_started user 1002
dial_answered user 1002
dial_ended user 1002 answered
call_ended answered owner 1002
call_saved recordings 0`,
  ],
  [
    'a user who is not to be disturbed (error/user_busy) is a stage without a leg',
    (pbx) => {
      pbx.inbound('A', '79161234567', '74950001001')
      pbx.set('A', { originate_disposition: 'USER_BUSY', originate_failed_cause: 'USER_BUSY', dialed_user: '1001' })
      pbx.hangup('A', 'USER_BUSY')
    },
    `call_started inbound 79161234567 74950001001
dial_ended user 1001 busy
call_ended busy owner -
call_saved recordings 0`,
  ],
]

test.each(cases)('%s', (_, play, expectedText, exceptions = []) => {
  const pbx = freeswitchScene()
  play(pbx)
  checkScene(pbx.over(), expectedText, exceptions)
})

test.each([
  ['the caller hangs up', true, 'caller'],
  ['the dialplan comes to its end', false, 'system'],
])('the agent leaves, the caller hears an announcement, and %s: the agent did not end the call', (_, hangsUp, by) => {
  const pbx = freeswitchScene()
  talk(pbx)
  pbx.end('B')
  pbx.unbridge('A', 'B')
  pbx.later(6_000)
  if (hangsUp) pbx.end('A')
  else pbx.hangup('A')
  const end = pbx.over().bodies.find(({ data }) => data.name === 'call_ended')
  expect(end?.data.call).toMatchObject({ result: 'answered', hangup: { by } })
})

/** Returns frames in which a leg's end arrives 30 ms after another leg rings, although it was sent before. */
const endOvertaken =
  (leg: string, by: string) =>
  (frames: readonly TimedFrame[]): TimedFrame[] => {
    const isEnd = ({ frame: { event } }: TimedFrame): boolean =>
      event?.get('Unique-ID') === leg && /HANGUP|DESTROY/.test(event.name)
    const nextRings = frames.findIndex(({ frame: { event } }) => event?.get('Unique-ID') === by) + 2
    const isOvertaken = (one: TimedFrame, at: number): boolean => at < nextRings && isEnd(one)
    const ends = frames.filter(isOvertaken).map(({ frame, atUs }) => ({ frame, atUs: atUs + 30_000 }))
    const others = (from: number, to?: number) => frames.slice(from, to).filter((one) => !isEnd(one))
    return [...others(0, nextRings), ...ends, ...others(nextRings)]
  }

test('a phone that was busy in the step of the clock in which the next one was dialled was not rung with it', () => {
  const pbx = freeswitchScene(undefined, endOvertaken('B', 'C'))
  pbx.inbound('A', '79161234567', '74950001001')
  pbx.dial('A', 'B', '1001')
  pbx.later(1_000)
  pbx.hangup('B', 'USER_BUSY')
  pbx.dial('A', 'C', '1002')
  pbx.later(1_000)
  pbx.answer('C')
  pbx.answer('A')
  pbx.bridge('A', 'C')
  pbx.later(2_000)
  pbx.end('C', 'A')
  checkScene(
    pbx.over(),
    `call_started inbound 79161234567 74950001001
~ dial_started user 1001
~ dial_ended user 1001 busy
~ dial_started user 1002
dial_answered user 1002
dial_ended user 1002 answered
call_ended answered owner 1002
call_saved recordings 0`,
  )
})

test.each([
  ['no free line', 'NORMAL_CIRCUIT_CONGESTION', 'congestion'],
  ['an unknown number', 'UNALLOCATED_NUMBER', 'unavailable'],
])('a second gateway is tried for a number before the end of the first try is reported (%s)', (_, cause, result) => {
  const pbx = freeswitchScene(undefined, endOvertaken('B', 'C'))
  pbx.call('A', '1001', '979031112233')
  pbx.create('B', 'outbound', ...gatewayLeg('79031112233', 'first'))
  pbx.hangup('B', cause)
  pbx.create('C', 'outbound', ...gatewayLeg('79031112233', 'second'))
  pbx.emit('CHANNEL_PROGRESS', 'C')
  pbx.later(1_000)
  pbx.answer('C')
  pbx.answer('A')
  pbx.bridge('A', 'C')
  pbx.later(2_000)
  pbx.end('C', 'A')
  const over = pbx.over()
  checkScene(
    over,
    `call_started outbound 1001 79031112233
dial_ended external 79031112233 ${result}
dial_started external 79031112233
dial_answered external 79031112233
dial_ended external 79031112233 answered
call_ended answered owner 1001
call_saved recordings 0`,
  )
  const attempts = over.bodies.flatMap(({ data }) => ('stage' in data ? (data.stage?.attempt ?? []) : []))
  expect(attempts).toEqual([1, 2, 2, 2])
})

test('a number that two gateways ring at once is one stage', () => {
  const pbx = freeswitchScene()
  pbx.call('A', '1001', '979031112233')
  pbx.create('B', 'outbound', ...gatewayLeg('79031112233', 'first'))
  pbx.create('C', 'outbound', ...gatewayLeg('79031112233', 'second'))
  pbx.emit('CHANNEL_PROGRESS', 'B')
  pbx.emit('CHANNEL_PROGRESS', 'C')
  pbx.later(1_000)
  pbx.answer('C')
  pbx.hangup('B', 'LOSE_RACE')
  pbx.answer('A')
  pbx.bridge('A', 'C')
  pbx.later(2_000)
  pbx.end('C', 'A')
  checkScene(
    pbx.over(),
    `call_started outbound 1001 79031112233
dial_started external 79031112233
dial_answered external 79031112233
dial_ended external 79031112233 answered
call_ended answered owner 1001
call_saved recordings 0`,
  )
})

test.each([
  ['NO_USER_RESPONSE', true, 'no_answer', 'no_answer'],
  ['RECOVERY_ON_TIMER_EXPIRE', true, 'no_answer', 'no_answer'],
  ['NO_USER_RESPONSE', false, 'unavailable', 'failed'],
  ['RECOVERY_ON_TIMER_EXPIRE', false, 'unavailable', 'failed'],
])('a dialled number ends with %s, having rung: %p', (cause, rang, result, ofCall) => {
  const pbx = freeswitchScene()
  pbx.call('A', '1001', '979031112233')
  pbx.create('B', 'outbound', ...gatewayLeg('79031112233', 'first'))
  if (rang) pbx.emit('CHANNEL_PROGRESS', 'B')
  pbx.later(3_000)
  pbx.hangup('B', cause)
  pbx.hangup('A', cause)
  checkScene(
    pbx.over(),
    `call_started outbound 1001 79031112233
${rang ? 'dial_started external 79031112233\n' : ''}dial_ended external 79031112233 ${result}
call_ended ${ofCall} owner -
call_saved recordings 0`,
  )
})
