import { test } from 'bun:test'
import { freeswitchScene } from '../help/freeswitch-scene.ts'
import { checkScene, type SceneCase } from '../help/scene.ts'

// What FusionPBX makes of a FreeSWITCH, written from its public sources (its dialplans, and the scripts behind `lua app.lua …`), not
// recorded: a call to an extension is bridged to user/…, and a script decides what follows when nobody answers.

type Scene = ReturnType<typeof freeswitchScene>

/** 1001 rings for 20 s, and the failure handler sends the caller to its mailbox. */
function ringsInVain(pbx: Scene): void {
  pbx.inbound('A', '15551230001', '15550100101')
  pbx.set('A', { domain_name: 'acme.example.com', dialed_extension: '1001' })
  pbx.dial('A', 'B', '1001', { domain_name: 'acme.example.com' })
  pbx.later(20_000)
  pbx.hangup('B', 'NO_ANSWER')
  pbx.set('A', { current_application: 'lua', current_application_data: 'app.lua failure_handler' })
}

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
]

test.each(cases)('FusionPBX: %s', (_, play, expectedText) => {
  const pbx = freeswitchScene()
  play(pbx)
  checkScene(pbx.over(), expectedText)
})
