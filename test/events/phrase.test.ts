import { expect, test } from 'bun:test'
import { phraseOf } from '../../src/events/phrase.ts'
import { ALL_EXAMPLES } from '../../src/events/samples.ts'

const PHRASES: Readonly<Record<string, string>> = {
  call_started: 'Inbound call from Carla Caller (+4930123456) to +49301110',
  dial_started: 'Anna (101) rings: Carla Caller (+4930123456) calls',
  dial_answered: 'Anna (101) answered Carla Caller (+4930123456) after 5 s of ringing',
  call_blind_transferred: 'Anna (101) transferred Carla Caller (+4930123456) to Ben (102)',
  call_attended_transferred: 'Anna (101) transferred Carla Caller (+4930123456) to Ben (102) after a consultation',
  dial_ended: 'Anna (101) left the call with Carla Caller (+4930123456) after 27 s of talk',
  call_held: 'Ben (102) put Carla Caller (+4930123456) on hold',
  call_resumed: 'Ben (102) took Carla Caller (+4930123456) off hold',
  custom: 'Survey in the call from Carla Caller (+4930123456) to +49301110: question 1, digit 5',
  call_ended:
    'Call from Carla Caller (+4930123456) to +49301110 ended, handled by Anna (101), then Ben (102): 86 s in all, 80 s of talk',
  call_missed: 'Missed call from Carla Caller (+4930123456) to +49301110',
  call_saved:
    'Call from Carla Caller (+4930123456) to +49301110 was saved: /var/spool/asterisk/monitor/1795297896.14.wav',
  recording_saved:
    'The recording of the call from Carla Caller (+4930123456) to +49301110 is ready: /var/spool/asterisk/monitor/1795297896.14.wav',
  phone_changed: 'Phone Anna (101) is idle',
  trunk_changed: 'Trunk carrier is rejected (Rejected)',
  agent_changed: 'Agent 101 of support is paused (lunch)',
  queue_changed: 'Queue support: 2 waiting; agents: 0 available, 3 busy, 1 paused',
}

test('a test and a kind of a later version have their name', () => {
  const named = (name: string) => phraseOf(JSON.parse(JSON.stringify({ time: '', data: { name, account: 'default' } })))
  expect(['test', 'call_parked', 'toString'].map(named)).toEqual([
    'Hookswitch: test',
    'Hookswitch: call_parked',
    'Hookswitch: toString',
  ])
})

test('each kind of event has a phrase that names who and what', () => {
  const phrases = ALL_EXAMPLES.map((body) => [body.data.name, phraseOf(body)])
  expect(Object.fromEntries(phrases)).toEqual(PHRASES)
})
