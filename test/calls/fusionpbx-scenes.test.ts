import { expect, test } from 'bun:test'
import { freeswitchScene } from '../help/freeswitch-scene.ts'
import { checkScene, type SceneCase } from '../help/scene.ts'

// FreeSWITCH under FusionPBX, written from FusionPBX's public sources (its dialplans, and the scripts of `lua app.lua
// …`), not recorded: a call to an extension is bridged to user/…, and if nobody answers a script decides what follows.

type Scene = ReturnType<typeof freeswitchScene>

/** A party enters a conference. */
const CONFERENCE = { 'Event-Subclass': 'conference::maintenance', Action: 'add-member' }

/** The script originates a phone that has to answer by itself. */
function page(pbx: Scene, phone: string, pager: string): void {
  pbx.create(
    phone,
    'outbound',
    {
      'Channel-Name': `sofia/internal/${phone}@acme.example`,
      'Caller-Destination-Number': phone,
      'Caller-Caller-ID-Number': pager,
    },
    {
      dialed_user: phone,
      sofia_profile_name: 'internal',
      sip_auto_answer: 'true',
      'sip_h_Call-Info': '<sip:acme.example>;answer-after=0',
    },
  )
}

/** 1001 rings for 20 s, and the failure handler sends the caller to its mailbox. */
function ringsInVain(pbx: Scene): void {
  pbx.inbound('A', '15551230001', '15550100101')
  pbx.set('A', { domain_name: 'acme.example.com', dialed_extension: '1001' })
  pbx.dial('A', 'B', '1001', { domain_name: 'acme.example.com' })
  pbx.later(20_000)
  pbx.hangup('B', 'NO_ANSWER')
  pbx.set('A', { current_application: 'lua', current_application_data: 'app.lua failure_handler' })
}

/** A menu has answered; 1001 declines, and the script for its mailbox begins. */
function declinesBehindMenu(pbx: Scene): void {
  pbx.inbound('A', '15551230001', '15550100101')
  pbx.answer('A')
  pbx.later(3_000)
  pbx.dial('A', 'B', '1001', { domain_name: 'acme.example.com' })
  pbx.hangup('B', 'CALL_REJECTED')
  pbx.set('A', {
    voicemail_action: 'save',
    voicemail_id: '1001',
    current_application: 'lua',
    current_application_data: 'app.lua voicemail',
  })
}

/** A caller in a ring group, whose leg shows where it is from its first event on. */
function ringGroup(pbx: Scene, id: string): void {
  pbx.inbound(id, '15551230001', '15550100103')
  pbx.move(id, '600')
  pbx.set(id, {
    ring_group_uuid: '2f1c0f6e-5a52-4e0f-9f5a-000000000600',
    current_application: 'lua',
    current_application_data: 'app.lua ring_groups',
  })
}

/** The caller's leg dials a number through a loopback channel, whose second half is at that extension. */
function dialThroughLoopback(pbx: Scene, source: string, half: string, place: string): void {
  const [one, two] = [`${half}1`, `${half}2`]
  pbx.create(
    one,
    'outbound',
    {
      'Channel-Name': `loopback/${place}-a`,
      'Caller-Destination-Number': place,
      'Other-Type': 'originator',
      'Other-Leg-Unique-ID': source,
    },
    { loopback_leg: 'A' },
  )
  pbx.create(
    two,
    'inbound',
    { 'Channel-Name': `loopback/${place}-b`, 'Caller-Destination-Number': place },
    { loopback_leg: 'B', other_loopback_leg_uuid: one },
  )
}

const IN_GROUP = { current_application: 'lua', current_application_data: 'app.lua ring_groups' }

const cases: SceneCase<Scene>[] = [
  [
    'a caller who reaches nobody leaves a message with the script: it is voicemail, and the message no recording',
    (pbx) => {
      ringsInVain(pbx)
      pbx.set('A', {
        voicemail_action: 'save',
        voicemail_id: '1001',
        current_application: 'lua',
        current_application_data: 'app.lua voicemail',
      })
      pbx.answer('A')
      const path = '/var/lib/freeswitch/storage/voicemail/default/acme.example.com/1001/msg_1.wav'
      pbx.emit('RECORD_START', 'A', { 'Record-File-Path': path })
      pbx.later(6_000)
      pbx.emit('RECORD_STOP', 'A', { 'Record-File-Path': path, variable_record_ms: '6000' })
      pbx.end('A')
    },
    `call_started inbound 15551230001 15550100101
dial_started user 1001
dial_ended user 1001 no_answer
call_ended voicemail owner -
call_saved recordings 0`,
  ],
  [
    'the failure handler alone is no voicemail',
    (pbx) => {
      ringsInVain(pbx)
      pbx.end('A')
    },
    `call_started inbound 15551230001 15550100101
dial_started user 1001
dial_ended user 1001 no_answer
call_ended cancelled owner -
call_saved recordings 0`,
  ],
  [
    'a mailbox that is listened to is no voicemail',
    (pbx) => {
      pbx.call('A', '1001', '*97')
      pbx.set('A', {
        voicemail_action: 'check',
        voicemail_id: '1001',
        current_application: 'lua',
        current_application_data: 'app.lua voicemail',
      })
      pbx.answer('A')
      pbx.later(15_000)
      pbx.end('A')
    },
    `call_started internal 1001 *97
call_ended cancelled owner -
call_saved recordings 0`,
  ],
  [
    'a ring group that a script dials has the number of the group; its recording is one',
    (pbx) => {
      pbx.inbound('A', '15551230001', '15550100103')
      pbx.set('A', {
        ring_group_uuid: '2f1c0f6e-5a52-4e0f-9f5a-000000000600',
        current_application: 'lua',
        current_application_data: 'app.lua ring_groups',
      })
      pbx.dial('A', 'B', '1001', { where: '600' })
      pbx.dial('A', 'C', '1002', { where: '600' })
      pbx.later(3_000)
      pbx.answer('C')
      pbx.answer('A')
      pbx.hangup('B', 'LOSE_RACE')
      pbx.bridge('A', 'C')
      const path = '/var/lib/freeswitch/recordings/acme.example.com/archive/2026/Nov/22/a.wav'
      pbx.emit('RECORD_START', 'A', { 'Record-File-Path': path })
      pbx.later(4_000)
      pbx.emit('RECORD_STOP', 'A', { 'Record-File-Path': path, variable_record_ms: '4000' })
      pbx.end('C', 'A')
    },
    `call_started inbound 15551230001 15550100103
dial_started user 1001
dial_started user 1002
dial_answered user 1002
dial_ended user 1001 answered_elsewhere
dial_ended user 1002 answered
dial_ended group 600 answered
call_ended answered owner 1002
call_saved recordings 1`,
  ],
  [
    'a mailbox as a destination (transfer:*99EXT): the script shows itself by what it plays; the message is no recording',
    (pbx) => {
      pbx.inbound('A', '15551230001', '15550100104')
      pbx.set('A', { domain_name: 'acme.example.com', voicemail_action: 'save', voicemail_id: '1001' })
      pbx.answer('A')
      pbx.set('A', { current_application: 'playback', current_application_data: 'phrase:voicemail_greeting' })
      pbx.emit('CALL_UPDATE', 'A')
      const path = '/var/lib/freeswitch/storage/voicemail/default/acme.example.com/1001/msg_2.wav'
      pbx.emit('RECORD_START', 'A', { 'Record-File-Path': path })
      pbx.later(6_000)
      pbx.emit('RECORD_STOP', 'A', { 'Record-File-Path': path, variable_record_ms: '6000' })
      pbx.end('A')
    },
    `call_started inbound 15551230001 15550100104
call_ended voicemail owner -
call_saved recordings 0`,
  ],
  [
    'softphones whose contact is not their extension, dialled by a ring group',
    (pbx) => {
      pbx.inbound('A', '15551230001', '15550100103')
      for (const [id, extension] of [
        ['B', '1001'],
        ['C', '1002'],
      ] as const) {
        pbx.create(
          id,
          'outbound',
          {
            'Channel-Name': `sofia/internal/sip:k3v9q${id}@192.0.2.7`,
            'Caller-Destination-Number': `k3v9q${id}`,
            'Other-Type': 'originator',
            'Other-Leg-Unique-ID': 'A',
            'Other-Leg-Destination-Number': '600',
          },
          {
            presence_id: `${extension}@acme.example.com`,
            dialed_extension: extension,
            sofia_profile_name: 'internal',
          },
        )
        pbx.emit('CHANNEL_PROGRESS', id)
      }
      pbx.later(3_000)
      pbx.answer('C')
      pbx.answer('A')
      pbx.hangup('B', 'LOSE_RACE')
      pbx.bridge('A', 'C')
      pbx.later(3_000)
      pbx.end('C', 'A')
    },
    `call_started inbound 15551230001 15550100103
dial_started user 1001
dial_started user 1002
dial_answered user 1002
dial_ended user 1001 answered_elsewhere
dial_ended user 1002 answered
dial_ended group 600 answered
call_ended answered owner 1002
call_saved recordings 0`,
  ],
  [
    'a page (page.lua): the phones are originated into a conference, and answer by themselves',
    (pbx) => {
      pbx.call('A', '105', '*724')
      pbx.answer('A')
      pbx.emit('CUSTOM', 'A', { ...CONFERENCE, 'Conference-Name': 'page-*724@acme.example' })
      for (const phone of ['101', '102', '103']) {
        page(pbx, phone, '105')
        pbx.later(200)
        pbx.answer(phone)
        pbx.emit('CUSTOM', phone, { ...CONFERENCE, 'Conference-Name': 'page-*724@acme.example' })
      }
      pbx.later(5_000)
      pbx.end('A', '101', '102', '103')
    },
    `call_started internal 105 *724
~dial_answered user 101
~dial_answered user 102
~dial_answered user 103
~dial_ended user 101 answered
~dial_ended user 102 answered
~dial_ended user 103 answered
dial_ended group *724 answered
call_ended answered owner 103
call_saved recordings 0`,
  ],
  [
    'a page of which one phone refuses before the next one is rung has one group',
    (pbx) => {
      pbx.call('A', '105', '*724')
      pbx.answer('A')
      page(pbx, '101', '105')
      pbx.hangup('101', 'USER_BUSY')
      pbx.emit('CUSTOM', 'A', { ...CONFERENCE, 'Conference-Name': 'page-*724@acme.example' })
      page(pbx, '102', '105')
      pbx.emit('CHANNEL_PROGRESS', '102')
      pbx.later(900)
      pbx.answer('102')
      pbx.emit('CUSTOM', '102', { ...CONFERENCE, 'Conference-Name': 'page-*724@acme.example' })
      pbx.later(5_000)
      pbx.end('A', '102')
    },
    `call_started internal 105 *724
dial_ended user 101 busy
dial_started user 102
dial_answered user 102
dial_ended user 102 answered
dial_ended group *724 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
  [
    'a page that every phone refuses: its group ends with the pager',
    (pbx) => {
      pbx.call('A', '105', '*724')
      pbx.answer('A')
      for (const phone of ['101', '102']) {
        page(pbx, phone, '105')
        pbx.hangup(phone, 'USER_BUSY')
      }
      pbx.emit('CUSTOM', 'A', { ...CONFERENCE, 'Conference-Name': 'page-*724@acme.example' })
      pbx.later(5_000)
      pbx.end('A')
    },
    `call_started internal 105 *724
dial_ended user 101 busy
dial_ended user 102 busy
dial_ended group *724 busy
call_ended busy owner -
call_saved recordings 0`,
  ],
  [
    'a ring group that rings one after the other is a group from its first dial',
    (pbx) => {
      ringGroup(pbx, 'A')
      pbx.dial('A', 'B', '1001', { where: '600' })
      pbx.emit('CHANNEL_PROGRESS', 'A')
      pbx.later(5_000)
      pbx.hangup('B', 'NO_ANSWER')
      pbx.dial('A', 'C', '1002', { where: '600' })
      pbx.later(3_000)
      pbx.answer('C')
      pbx.answer('A')
      pbx.bridge('A', 'C')
      pbx.later(3_000)
      pbx.end('C', 'A')
    },
    `call_started inbound 15551230001 15550100103
dial_started user 1001
dial_ended user 1001 no_answer
dial_started user 1002
dial_answered user 1002
dial_ended user 1002 answered
dial_ended group 600 answered
call_ended answered owner 1002
call_saved recordings 0`,
  ],
  [
    'a ring group in a ring group is a group in it, be it shown after its members are dialled',
    (pbx) => {
      ringGroup(pbx, 'A')
      pbx.dial('A', 'B', '1004', { where: '600' })
      dialThroughLoopback(pbx, 'A', 'L', '601')
      pbx.dial('L2', 'C', '1001', { where: '601' })
      pbx.set('L2', { ring_group_uuid: '2f1c0f6e-5a52-4e0f-9f5a-000000000601', ...IN_GROUP })
      pbx.emit('CHANNEL_PROGRESS', 'L2')
      pbx.dial('L2', 'D', '1002', { where: '601' })
      pbx.later(3_000)
      pbx.answer('D')
      pbx.hangup('C', 'LOSE_RACE')
      pbx.answer('L1')
      pbx.answer('L2')
      pbx.bridge('L2', 'D')
      pbx.hangup('B', 'LOSE_RACE')
      pbx.answer('A')
      pbx.bridge('A', 'L1')
      pbx.later(3_000)
      pbx.end('A', 'L1', 'L2', 'D')
    },
    `call_started inbound 15551230001 15550100103
dial_started user 1004
dial_started user 1001
dial_started user 1002
dial_answered user 1002
~ dial_ended user 1001 answered_elsewhere
~ dial_ended user 1004 answered_elsewhere
dial_ended user 1002 answered
dial_ended group 601 answered
dial_ended group 600 answered
call_ended answered owner 1002
call_saved recordings 0`,
  ],
  [
    'a queue in a ring group is in it',
    (pbx) => {
      ringGroup(pbx, 'A')
      pbx.dial('A', 'B', '1004', { where: '600' })
      pbx.emit('CHANNEL_PROGRESS', 'A')
      dialThroughLoopback(pbx, 'A', 'L', '700')
      const queue = { 'Event-Subclass': 'callcenter::info', 'CC-Queue': '700@acme.example', 'CC-Member-UUID': 'M' }
      pbx.emit('CUSTOM', 'L2', { ...queue, 'CC-Action': 'member-queue-start', 'CC-Member-Session-UUID': 'L2' })
      pbx.dial(null, 'C', '1001', { cc_member_session_uuid: 'L2', cc_member_uuid: 'M' })
      pbx.later(3_000)
      pbx.hangup('B', 'NO_ANSWER')
      pbx.answer('C')
      pbx.bridge('L2', 'C')
      pbx.answer('L1')
      pbx.answer('L2')
      pbx.answer('A')
      pbx.bridge('A', 'L1')
      pbx.later(3_000)
      pbx.end('A', 'L1', 'L2', 'C')
    },
    `call_started inbound 15551230001 15550100103
dial_started user 1004
dial_started user 1001
~ dial_ended user 1004 no_answer
~ dial_answered user 1001
dial_ended user 1001 answered
dial_ended queue 700@acme.example answered
dial_ended group 600 answered
call_ended answered owner 1001
call_saved recordings 0`,
  ],
  [
    'a ring group that is forwarded to an extension rings nobody itself',
    (pbx) => {
      pbx.inbound('A', '15551230001', '15550100103')
      pbx.move('A', '1002')
      pbx.set('A', {
        ring_group_uuid: '2f1c0f6e-5a52-4e0f-9f5a-000000000600',
        user_exists: 'true',
        current_application: 'bridge',
        current_application_data: 'user/1002@acme.example.com',
      })
      pbx.dial('A', 'B', '1002', { where: '1002' })
      pbx.emit('CHANNEL_PROGRESS', 'A')
      pbx.later(3_000)
      pbx.answer('B')
      pbx.answer('A')
      pbx.bridge('A', 'B')
      pbx.later(3_000)
      pbx.end('A', 'B')
    },
    `call_started inbound 15551230001 15550100103
dial_started user 1002
dial_answered user 1002
dial_ended user 1002 answered
call_ended answered owner 1002
call_saved recordings 0`,
  ],
  [
    'a follow-me whose phones ring in turn is a group',
    (pbx) => {
      pbx.inbound('A', '15551230001', '15550100114')
      pbx.move('A', '114')
      pbx.set('A', { user_exists: 'true', follow_me_enabled: 'true', current_application: 'ring_ready' })
      pbx.emit('CHANNEL_PROGRESS', 'A')
      pbx.dial('A', 'B', '114', { ent_originate_aleg_uuid: 'A' })
      pbx.later(4_000)
      pbx.hangup('B', 'NO_ANSWER')
      pbx.later(500)
      pbx.dial('A', 'C', '102', { ent_originate_aleg_uuid: 'A' })
      pbx.later(2_000)
      pbx.answer('C')
      pbx.answer('A')
      pbx.bridge('A', 'C')
      pbx.later(3_000)
      pbx.end('A', 'C')
    },
    `call_started inbound 15551230001 15550100114
dial_started user 114
dial_ended user 114 no_answer
dial_started user 102
dial_answered user 102
dial_ended user 102 answered
dial_ended group 114 answered
call_ended answered owner 102
call_saved recordings 0`,
  ],
  [
    'a menu has answered, and there is no such mailbox: the script hangs up at once, and it is no voicemail',
    (pbx) => {
      declinesBehindMenu(pbx)
      pbx.emit('CHANNEL_HANGUP', 'A', { 'Hangup-Cause': 'NORMAL_CLEARING' })
      pbx.emit('RECORD_STOP', 'A', { 'Record-File-Path': '/var/lib/freeswitch/recordings/acme.example.com/1.wav' })
      pbx.hangup('A', 'NORMAL_CLEARING')
    },
    `call_started inbound 15551230001 15550100101
dial_started user 1001
dial_ended user 1001 rejected
call_ended no_answer owner -
call_saved recordings 0`,
  ],
  [
    'a menu has answered, and the caller hangs up while the mailbox greets: it is voicemail',
    (pbx) => {
      declinesBehindMenu(pbx)
      pbx.later(4_000)
      pbx.end('A')
    },
    `call_started inbound 15551230001 15550100101
dial_started user 1001
dial_ended user 1001 rejected
call_ended voicemail owner -
call_saved recordings 0`,
  ],
  [
    'there is no such mailbox: the script answers nobody, and it is no voicemail',
    (pbx) => {
      ringsInVain(pbx)
      pbx.set('A', {
        voicemail_action: 'save',
        voicemail_id: '1001',
        current_application: 'lua',
        current_application_data: 'app.lua voicemail',
      })
      pbx.emit('CALL_UPDATE', 'A')
      pbx.hangup('A', 'NO_ANSWER')
      pbx.over()
    },
    `call_started inbound 15551230001 15550100101
dial_started user 1001
dial_ended user 1001 no_answer
call_ended no_answer owner -
call_saved recordings 0`,
  ],
  [
    'an agent of a queue with an id for a name, who cannot be reached the second time, is the phone that rang the first time',
    (pbx) => {
      const agent = '3c36280b-bf3f-536d-9d49-40273ae66a44'
      const of = { 'Event-Subclass': 'callcenter::info', 'CC-Queue': '700@acme.example', 'CC-Member-UUID': 'M' }
      const queue = { ...of, 'CC-Member-Session-UUID': 'A', 'CC-Agent': agent }
      pbx.inbound('A', '15551230001', '15550100107')
      pbx.answer('A')
      pbx.emit('CUSTOM', 'A', { ...queue, 'CC-Action': 'member-queue-start' })
      pbx.emit('CUSTOM', 'A', { ...queue, 'CC-Action': 'agent-offering' })
      pbx.dial(null, 'B', '1001', { cc_member_session_uuid: 'A', cc_member_uuid: 'M', cc_agent: agent })
      pbx.later(5_000)
      pbx.hangup('B', 'NO_ANSWER')
      pbx.emit('CUSTOM', 'A', { ...queue, 'CC-Action': 'bridge-agent-fail', 'CC-Hangup-Cause': 'NO_ANSWER' })
      pbx.later(5_000)
      pbx.emit('CUSTOM', 'A', { ...queue, 'CC-Action': 'agent-offering' })
      pbx.emit('CUSTOM', 'A', { ...queue, 'CC-Action': 'bridge-agent-fail', 'CC-Hangup-Cause': 'USER_NOT_REGISTERED' })
      pbx.later(2_000)
      pbx.end('A')
    },
    `call_started inbound 15551230001 15550100107
dial_started user 1001
dial_ended user 1001 no_answer
dial_ended user 1001 unavailable
dial_ended queue 700@acme.example abandoned
call_ended cancelled owner -
call_saved recordings 0`,
  ],
  [
    'a ring group that nobody answers, and where its caller goes then',
    (pbx) => {
      ringGroup(pbx, 'A')
      pbx.dial('A', 'B', '1001', { where: '600' })
      pbx.emit('CHANNEL_PROGRESS', 'A')
      pbx.later(5_000)
      pbx.hangup('B', 'NO_ANSWER')
      pbx.later(1_000)
      pbx.set('A', { current_application: 'bridge', current_application_data: 'user/1005' })
      pbx.dial('A', 'C', '1005', { where: '1005' })
      pbx.later(3_000)
      pbx.answer('C')
      pbx.answer('A')
      pbx.bridge('A', 'C')
      pbx.later(3_000)
      pbx.end('C', 'A')
    },
    `call_started inbound 15551230001 15550100103
dial_started user 1001
~dial_ended user 1001 no_answer
~dial_ended group 600 no_answer
dial_started user 1005
dial_answered user 1005
dial_ended user 1005 answered
call_ended answered owner 1005
call_saved recordings 0`,
  ],
  [
    'a group of which the caller hangs up between two members',
    (pbx) => {
      ringGroup(pbx, 'A')
      pbx.dial('A', 'B', '1001', { where: '600' })
      pbx.emit('CHANNEL_PROGRESS', 'A')
      pbx.later(5_000)
      pbx.hangup('B', 'NO_ANSWER')
      pbx.later(400)
      pbx.end('A')
    },
    `call_started inbound 15551230001 15550100103
dial_started user 1001
dial_ended user 1001 no_answer
dial_ended group 600 no_answer
call_ended cancelled owner -
call_saved recordings 0`,
  ],
]

test.each(cases)('FusionPBX: %s', (_, play, expectedText, exceptions = []) => {
  const pbx = freeswitchScene()
  play(pbx)
  checkScene(pbx.over(), expectedText, exceptions)
})

const DIALLED_AS_DID = {
  presence_id: '1001@acme.example.com',
  dialed_domain: 'acme.example.com',
  origination_callee_id_name: '15550100101',
}
const SHOWN = { 'Caller-Callee-ID-Name': '15550100101' }

test.each<[string, Record<string, string>, string, string | null]>([
  ['no name', {}, 'Anna Abel', 'Anna Abel'],
  ['its number as its name', { 'Caller-Caller-ID-Name': '1001' }, 'Anna Abel', 'Anna Abel'],
  ['a name of its own', { 'Caller-Caller-ID-Name': 'Front desk' }, 'Anna Abel', 'Front desk'],
  ['no name, and its extension has none', {}, '', null],
  ['no name, and its extension has its number for one', {}, '1001', null],
])('a phone that sends %s has that of its extension', (_, sent, listed, name) => {
  const pbx = freeswitchScene()
  pbx.call('A', '1001', '1002', { effective_caller_id_name: listed }, sent)
  pbx.dial('A', 'B', '1002')
  pbx.answer('B')
  pbx.bridge('A', 'B')
  pbx.later(1_000)
  pbx.hangup('A', 'NORMAL_CLEARING')
  pbx.hangup('B', 'NORMAL_CLEARING')
  const callers = pbx.over().bodies.map(({ data }) => data.call.from)
  expect(new Set(callers.map((from) => from?.name))).toEqual(new Set([name]))
})

test.each<[string, (pbx: Scene) => void, string | null]>([
  ['the number that was dialled is nobody', () => {}, null],
  ['the PBX was asked', (pbx) => pbx.answers({ user: '1001@acme.example.com', name: 'Anna' }), 'Anna'],
  [
    'the leg of the caller shows it',
    (pbx) => {
      pbx.set('A', { initial_callee_id_name: 'Anna', dialed_extension: '1001' })
      pbx.emit('CHANNEL_PROGRESS', 'A')
    },
    'Anna',
  ],
  [
    'the leg of the caller shows that of another extension',
    (pbx) => {
      pbx.set('A', { initial_callee_id_name: 'Berta', dialed_extension: '1002' })
      pbx.emit('CHANNEL_PROGRESS', 'A')
    },
    null,
  ],
  ['a name of another user', (pbx) => pbx.answers({ user: '1001@beta.example.com', name: 'Berta' }), null],
])('FusionPBX puts the number in the place of the name of a phone: %s', (_, learn, name) => {
  const pbx = freeswitchScene()
  pbx.inbound('A', '15551230001', '15550100101')
  pbx.dial('A', 'B', '1001', DIALLED_AS_DID, SHOWN)
  learn(pbx)
  pbx.later(1_000)
  pbx.hangup('B', 'NO_ANSWER')
  expect(pbx.names()).toEqual({ '1001': name })
  // The next time it is known at once.
  if (name !== null) {
    pbx.dial('A', 'C', '1001', DIALLED_AS_DID, SHOWN)
    const isCached = learn.toString().includes('answers')
    expect(pbx.names()).toEqual({ '1001': isCached ? name : null })
  }
})

test.each([
  ['before it rings', true, ['B', 'C']],
  ['while it rings', false, ['B', 'C']],
  ['before it rings, and shown by the second', true, ['C', 'B']],
  ['while it rings, and shown by the second', false, ['C', 'B']],
])('an extension has its name at each of its phones, if it is known %s', (_, isBefore, order) => {
  const pbx = freeswitchScene()
  const learn = () => pbx.answers({ user: '1001@acme.example.com', name: 'Anna' })
  if (isBefore) learn()
  pbx.inbound('A', '15551230001', '15550100101')
  // FreeSWITCH gives the variables of the dial string to the first contact of the extension only.
  const dialled = { B: DIALLED_AS_DID, C: { origination_callee_id_name: '15550100101' } }
  for (const id of order) pbx.dial('A', id, '1001', id === 'B' ? dialled.B : dialled.C, SHOWN)
  if (!isBefore) learn()
  pbx.later(1_000)
  pbx.answer('C')
  pbx.hangup('B', 'LOSE_RACE')
  pbx.bridge('A', 'C')
  pbx.later(1_000)
  pbx.hangup('A', 'NORMAL_CLEARING')
  pbx.hangup('C', 'NORMAL_CLEARING')
  const { bodies } = pbx.over()
  const ended = bodies.flatMap(({ data }) => (data.name === 'call_ended' ? data : []))
  expect(ended.map(({ call, stages }) => [call.answered_by, call.handled_by, stages])).toMatchObject([
    [{ extension: '1001', name: 'Anna' }, [{ name: 'Anna' }], [{ target: '1001', name: 'Anna', result: 'answered' }]],
  ])
})

test('a ring group dials the phones of an extension by their addresses: they have its name', () => {
  const pbx = freeswitchScene()
  ringGroup(pbx, 'A')
  const dialled = { domain_name: 'acme.example.com', origination_callee_id_name: '15550100103' }
  const address = { 'Caller-Callee-ID-Name': '15550100103', 'Caller-Destination-Number': '1001' }
  for (const id of ['B', 'C']) pbx.dial('A', id, '1001', { ...dialled, dialed_user: '', presence_id: '' }, address)
  pbx.answers({ user: '1002@acme.example.com', name: 'Berta' })
  pbx.answers({ user: '1001@acme.example.com', name: 'Anna' })
  pbx.later(1_000)
  pbx.answer('C')
  pbx.hangup('B', 'LOSE_RACE')
  pbx.bridge('A', 'C')
  expect(pbx.names()).toEqual({ '1001': 'Anna' })
})

test.each([
  ['before the call', true],
  ['soon after it began', false],
])(
  'an extension that the PBX forwards without ringing it is the called party, with the name it learned %s',
  (_, isBefore) => {
    const pbx = freeswitchScene({ by: 'domain', variable: null })
    const learn = () => pbx.answers({ user: '1005@acme.example.com', name: 'Birgit' })
    const outside = { domain_name: 'acme.example.com', sip_gateway_name: 'carrier' }
    if (isBefore) learn()
    pbx.call('A', '1001', '1005', { domain_name: 'acme.example.com' })
    if (!isBefore) learn()
    pbx.later(200)
    pbx.dial('A', 'B', '15557020105', outside, { 'Channel-Name': 'sofia/external/15557020105' })
    pbx.later(1_000)
    pbx.answer('B')
    pbx.bridge('A', 'B')
    pbx.hangup('A', 'NORMAL_CLEARING')
    pbx.hangup('B', 'NORMAL_CLEARING')
    const called = pbx.over().bodies.flatMap(({ data }) => ('call' in data ? [data.call.to] : []))
    const birgit = { number: '1005', name: 'Birgit', extension: '1005', e164: null, contact: null }
    expect(new Set(called.map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(birgit)]))
  },
)

test('a number whose name another customer has, or that is no extension, stays a number', () => {
  const pbx = freeswitchScene({ by: 'domain', variable: null })
  pbx.answers({ user: '600@other.example.com', name: 'Otto' })
  pbx.call('A', '1001', '600', { domain_name: 'acme.example.com' })
  pbx.later(1_000)
  pbx.hangup('A', 'NORMAL_CLEARING')
  const called = pbx.over().bodies.flatMap(({ data }) => ('call' in data ? [data.call.to] : []))
  expect(called.length).toBeGreaterThan(0)
  for (const to of called) expect(to).toMatchObject({ number: '600', name: null, extension: null })
})

test('a mailbox that picks up for a member of a ring group and hangs up without the key has not answered', () => {
  const pbx = freeswitchScene()
  ringGroup(pbx, 'A')
  dialThroughLoopback(pbx, 'A', 'L', '15557010606')
  const outside = { sip_gateway_name: 'carrier', sofia_profile_name: 'external' }
  pbx.dial('L2', 'M', '15557010606', outside, { 'Channel-Name': 'sofia/external/15557010606' })
  pbx.dial('A', 'B', '1004', IN_GROUP)
  pbx.later(1_000)
  pbx.answer('M')
  pbx.answer('L2')
  pbx.bridge('L2', 'M')
  pbx.later(3_000)
  pbx.end('M', 'L2', 'L1')
  pbx.later(2_000)
  pbx.hangup('A', 'ORIGINATOR_CANCEL')
  pbx.hangup('B', 'ORIGINATOR_CANCEL')
  const { bodies } = pbx.over()
  const ends = bodies.flatMap(({ data }) =>
    data.name === 'dial_ended' ? [`${data.stage.target} ${data.stage.result}`] : [],
  )
  expect(ends).toEqual(['15557010606 no_answer', '1004 cancelled', '600 cancelled'])
  const ended = bodies.flatMap(({ data }) => (data.name === 'call_ended' ? data.call : []))
  expect(ended).toMatchObject([{ result: 'cancelled', answered_at: null, hangup: { by: 'caller' } }])
})

test.each([
  ['before', 3_000, 'caller'],
  ['as', 0, 'callee'],
])('a phone that leaves a page %s the pager hangs up ends the call only then', (_, beforeMs, by) => {
  const pbx = freeswitchScene()
  const room = { ...CONFERENCE, 'Conference-Name': 'page-*724@acme.example' }
  pbx.call('A', '105', '*724')
  pbx.answer('A')
  pbx.emit('CUSTOM', 'A', room)
  for (const phone of ['101', '102']) {
    page(pbx, phone, '105')
    pbx.answer(phone)
    pbx.emit('CUSTOM', phone, room)
  }
  pbx.later(2_000)
  pbx.end('102')
  pbx.later(beforeMs)
  pbx.end('A', '101')
  const ended = pbx.over().bodies.flatMap(({ data }) => (data.name === 'call_ended' ? data.call.hangup : []))
  expect(ended).toMatchObject([{ by }])
})

test('click to call shows the called extension with its name from the first event on', () => {
  const pbx = freeswitchScene({ by: 'domain', variable: null })
  pbx.answers({ user: '1004@acme.example.com', name: 'Celia' })
  pbx.dial(null, 'A', '1002', { domain_name: 'acme.example.com' }, { 'Caller-Caller-ID-Number': '1004' })
  pbx.later(1_000)
  pbx.answer('A')
  pbx.later(1_000)
  pbx.end('A')
  const [started] = pbx.over().bodies
  expect(started?.data).toMatchObject({ name: 'call_started', call: { direction: 'internal', to: { name: 'Celia' } } })
})

test('click to call into a ring group has the group and its members', () => {
  const pbx = freeswitchScene()
  pbx.dial(null, 'A', '1006', {}, { 'Caller-Caller-ID-Number': '600' })
  pbx.later(1_000)
  pbx.answer('A')
  pbx.move('A', '600')
  pbx.set('A', { ...IN_GROUP, ring_group_uuid: '2f1c0f6e-5a52-4e0f-9f5a-000000000600' })
  pbx.emit('CALL_UPDATE', 'A')
  pbx.dial('A', 'B', '1002', { ...IN_GROUP, where: '600' })
  pbx.later(1_000)
  pbx.hangup('B', 'CALL_REJECTED')
  pbx.dial('A', 'C', '1003', { ...IN_GROUP, where: '600' })
  pbx.later(1_000)
  pbx.answer('C')
  pbx.bridge('A', 'C')
  pbx.later(1_000)
  pbx.end('A', 'C')
  const ended = pbx.over().bodies.flatMap(({ data }) => (data.name === 'call_ended' ? data.stages : []))
  const group = ended.find(({ kind }) => kind === 'group')
  expect(ended.map(({ target, result, parent_id: parent }) => [target, result, parent === group?.id])).toEqual([
    ['1006', 'answered', false],
    ['600', 'answered', false],
    ['1002', 'rejected', true],
    ['1003', 'answered', true],
  ])
})

test.each([0, 900, 500_000])(
  'halves that are reported the wrong way round, with a clock that goes back %i µs',
  (backUs) => {
    const pbx = freeswitchScene(undefined, (kept) => {
      const at = kept.findIndex(({ frame }) => frame.event?.get('Unique-ID') === 'L1')
      const [first, second] = [kept[at], kept[at + 1]]
      if (first === undefined || second === undefined) throw new Error('the halves are missing')
      const swapped = [second, { ...first, atUs: second.atUs - backUs }]
      return [...kept.slice(0, at), ...swapped, ...kept.slice(at + 2)]
    })
    ringGroup(pbx, 'A')
    dialThroughLoopback(pbx, 'A', 'L', '601')
    pbx.later(100)
    pbx.dial('L2', 'B', '1002', IN_GROUP)
    pbx.later(1_000)
    pbx.hangup('B', 'CALL_REJECTED')
    pbx.hangup('L2', 'CALL_REJECTED')
    pbx.hangup('L1', 'CALL_REJECTED')
    pbx.end('A')
    const { bodies } = pbx.over()
    expect(new Set(bodies.map(({ data }) => ('call' in data ? data.call.id : ''))).size).toBe(1)
  },
)

test('an extension on do not disturb, which is never dialled, has its name', () => {
  const pbx = freeswitchScene()
  pbx.answers({ user: '1008@acme.example.com', name: 'Benno' })
  pbx.inbound('A', '15551230001', '15550100108', { domain_name: 'acme.example.com' })
  pbx.later(100)
  pbx.set('A', { dialed_user: '1008', dialed_domain: 'acme.example.com', originate_disposition: 'USER_BUSY' })
  pbx.emit('CHANNEL_EXECUTE_COMPLETE', 'A', { Application: 'bridge', 'Application-Data': 'user/1008@acme.example.com' })
  pbx.later(100)
  pbx.hangup('A', 'USER_BUSY')
  pbx.over()
  expect(pbx.names()).toEqual({ 1008: 'Benno' })
})

test.each([
  ['at once', 20, 'acme.example.com'],
  ['after a look-up of some seconds', 6_000, 'acme.example.com'],
])('a caller whose customer the PBX is asked for has it %s', (_, ms, account) => {
  const pbx = freeswitchScene({ by: 'domain', variable: null })
  pbx.inbound('A', '15551230001', '15550100101')
  pbx.later(ms)
  pbx.answers({ 'Unique-ID': 'A', variable_domain_name: 'acme.example.com' })
  pbx.later(500)
  pbx.end('A')
  const { bodies } = pbx.over()
  expect(bodies.map(({ data }) => `${data.account} ${data.name}`)[0]).toBe(`${account} call_started`)
})

test('a caller who shows no customer is held back for no longer than a second once a phone rings', () => {
  const pbx = freeswitchScene({ by: 'domain', variable: null })
  pbx.inbound('A', '15551230001', '15550100101')
  pbx.dialOutside('A', 'B', '15557654321')
  pbx.later(2_000)
  pbx.answers({ 'Unique-ID': 'A', variable_domain_name: 'acme.example.com' })
  pbx.later(500)
  pbx.end('A', 'B')
  const { bodies } = pbx.over()
  expect(bodies.map(({ data }) => data.account)).not.toContain('acme.example.com')
})

/** A menu answers a caller and sends it to ring group 600: no event shows that before the first `bridge` of the script. */
function menuToGroup(pbx: Scene): void {
  pbx.inbound('A', '15551230001', '15550100103')
  pbx.move('A', '803')
  pbx.answer('A')
  pbx.later(4_000)
  pbx.move('A', '600')
  pbx.set('A', { ring_group_uuid: '2f1c0f6e-5a52-4e0f-9f5a-000000000600' })
}

/** The script rings each member with a `bridge` of its own. */
function ringInTurn(pbx: Scene, leg: string, user: string): void {
  const data = `{ignore_early_media=true}[confirm=false,dialed_extension=${user}]user/${user}@acme.example.com`
  pbx.set('A', { current_application: 'bridge', current_application_data: data })
  pbx.emit('CHANNEL_EXECUTE', 'A', { Application: 'bridge', 'Application-Data': data })
  pbx.dial('A', leg, user, { where: '600' })
  pbx.later(4_000)
}

function givenUp(pbx: Scene, leg: string): void {
  pbx.hangup(leg, 'NO_ANSWER')
  pbx.emit('CHANNEL_EXECUTE_COMPLETE', 'A', { Application: 'bridge' })
}

test('FusionPBX: a ring group behind a menu has the member that was rung in vain first, from its first dial', () => {
  const pbx = freeswitchScene()
  menuToGroup(pbx)
  ringInTurn(pbx, 'B', '1001')
  givenUp(pbx, 'B')
  ringInTurn(pbx, 'C', '1002')
  pbx.answer('C')
  pbx.bridge('A', 'C')
  pbx.later(3_000)
  pbx.end('C', 'A')
  expect(membersBehindMenu(pbx)).toEqual(['1001 no_answer in 600', '1002 answered in 600', '600 answered'])
})

test('FusionPBX: a ring group behind a menu in which nobody answers is a group', () => {
  const pbx = freeswitchScene()
  menuToGroup(pbx)
  ringInTurn(pbx, 'B', '1001')
  givenUp(pbx, 'B')
  ringInTurn(pbx, 'C', '1002')
  givenUp(pbx, 'C')
  pbx.hangup('A')
  expect(membersBehindMenu(pbx)).toEqual(['1001 no_answer in 600', '1002 no_answer in 600', '600 no_answer'])
})

/** Returns the stages at the end of the call with their groups, which each event of a member named. */
function membersBehindMenu(pbx: Scene): string[] {
  const { bodies } = pbx.over()
  for (const { data } of bodies)
    if ('stage' in data && data.stage !== null && data.stage.kind === 'user')
      expect(data.stage.parent_id).not.toBeNull()
  const stages = bodies.flatMap(({ data }) => (data.name === 'call_saved' ? data.stages : []))
  const targets = new Map(stages.map(({ id, target }) => [id, target]))
  const lines = stages.map(({ target, result, parent_id: parent }) =>
    [target, result, ...(parent === null ? [] : ['in', targets.get(parent)])].join(' '),
  )
  return lines.toSorted()
}
