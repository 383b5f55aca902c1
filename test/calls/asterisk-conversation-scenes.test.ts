import { describe, expect, test } from 'bun:test'
import { type AsteriskScene, asteriskScene, checkAsteriskScene, TALK, talk } from '../help/asterisk-scene.ts'
import type { SceneCase } from '../help/scene.ts'

// Bridges, conferences, spies and recordings at an Asterisk that no recording has.

const cases: SceneCase<AsteriskScene>[] = [
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
]

test.each(cases)('%s', (_, play, expected, exceptions = []) => checkAsteriskScene(play, expected, exceptions))

/** Starts a recording as the dialplan does. */
function record(pbx: AsteriskScene, key: string, path: string, options: string): void {
  pbx.emit('Newexten', pbx.snapshot(key), { Extension: 's', Application: 'MixMonitor', AppData: `a.wav,${options},` })
  pbx.emit('VarSet', pbx.snapshot(key), { Variable: 'MIXMONITOR_FILENAME', Value: path })
  pbx.emit('MixMonitorStart', pbx.snapshot(key))
}

const recordingsOf = (pbx: AsteriskScene) => {
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
