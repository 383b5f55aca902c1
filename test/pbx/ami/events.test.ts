import { describe, expect, test } from 'bun:test'
import { AmiDecoder } from '../../../src/pbx/ami/decoder.ts'
import { EVENT_CLASSES, isSheddable, isWanted } from '../../../src/pbx/ami/events.ts'
import { READ_LINE } from '../../../src/pbx/ami/manager-conf.ts'
import { amiEvent, snapshotOf } from '../../help/ami-event.ts'

const GREETING = 'Asterisk Call Manager/11.0.0\r\n'

/** Reads one event, and returns what became of it. */
function read(text: string, variables: readonly string[] = []): 'read' | 'tainted' | 'skipped' {
  const decoder = new AmiDecoder({ skip: (name, peek) => !isWanted(name, peek, variables) })
  const [frame] = decoder.push(Buffer.from(GREETING + text))
  if (frame === undefined) return 'skipped'
  return frame.tainted ? 'tainted' : 'read'
}
const newexten = (application: string, at = {}) =>
  amiEvent('Newexten', snapshotOf('1.1', { Priority: 2, ...at }), {
    Extension: '101',
    Application: application,
    AppData: '',
  })
const varSet = (variable: string) => amiEvent('VarSet', snapshotOf('1.1'), { Variable: variable, Value: '1' })

describe('the events of an Asterisk', () => {
  test.each([
    ['a new channel', 'read', amiEvent('Newchannel', snapshotOf('1.1'))],
    ['a Dial, in any case', 'read', newexten('dIaL')],
    ['a subroutine that is called', 'read', newexten('Gosub')],
    ['another step of the dialplan', 'skipped', newexten('NoOp')],
    ['the first step of an extension with a number', 'read', newexten('Set', { Exten: '600', Priority: 1 })],
    ['the first step of a macro', 'skipped', newexten('Set', { Exten: 's', Priority: 1 })],
    ['a variable of Dial', 'read', varSet('DIALSTATUS')],
    ["how a ring group of FreePBX's rings", 'read', varSet('RingGroupMethod')],
    ["the beginning of a follow-me of FreePBX's", 'read', varSet('RecordMethod')],
    ['a variable of the operator', 'read', varSet('CRM_ID')],
    ['another variable', 'skipped', varSet('OTHER')],
    ['an event that is of no use', 'skipped', amiEvent('NewConnectedLine', snapshotOf('1.1'))],
    ['an event of an unknown kind', 'skipped', amiEvent('constructor', { Privilege: 'call,all' })],
    ['a row of a list of that kind', 'read', 'Event: DeviceStateChange\r\nActionID: 1\r\nDevice: PJSIP/101\r\n\r\n'],
    ['a shutdown', 'read', 'Event: Shutdown\r\nPrivilege: system,all\r\nShutdown: Cleanly\r\n\r\n'],
    ['neither live nor a row', 'tainted', 'Event: PeerStatus\r\nPeer: PJSIP/101\r\n\r\n'],
    [
      'one of no use that a caller cut short',
      'tainted',
      'Event: NewCallerid\r\nPrivilege: call,all\r\nChannel: PJSIP/1\r\nChannelStateDesc: Up\r\nCallerIDNum: 1\r\n\r\n',
    ],
  ] as const)('%s is %s', (_, outcome, text) => {
    expect(read(text, ['CRM_ID'])).toBe(outcome)
  })

  test('a header that a caller cut short taints an event that he wrote behind it, in any chunks', () => {
    const whole = amiEvent(
      'NewConnectedLine',
      snapshotOf('1.1', { CallerIDNum: '1\r\n\r\nEvent: Shutdown\r\nPrivilege: a' }),
    )
    for (let cut = 0; cut <= whole.length; cut += 7) {
      const decoder = new AmiDecoder({ skip: (name, peek) => !isWanted(name, peek, []) })
      const frames = [GREETING, whole.slice(0, cut), whole.slice(cut)].flatMap((part) =>
        decoder.push(Buffer.from(part)),
      )
      expect(frames.filter(({ name, tainted }) => name === 'Shutdown' && !tainted)).toEqual([])
    }
  })

  test('the login asks for the classes of all that are wanted, and the noisiest are dropped first', () => {
    expect(EVENT_CLASSES.toSorted()).toEqual(['agent', 'call', 'cdr', 'dialplan', 'system', 'user'])
    expect(READ_LINE.replace('read = ', '').split(',').toSorted()).toEqual(EVENT_CLASSES.toSorted())
    expect(['VarSet', 'Newexten', 'Hangup', 'Shutdown', 'unknown'].filter(isSheddable)).toEqual(['VarSet', 'Newexten'])
  })
})
