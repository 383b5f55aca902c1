import { expect, test } from 'bun:test'
import { asteriskScene } from '../help/asterisk-scene.ts'

// Calls from trunks that hardly show what they are: which parties they have, and which number was called.

type Scene = ReturnType<typeof asteriskScene>

/** A call comes in and is answered by 101; `learns` happens before the phone rings. */
function talk(pbx: Scene, line: string, of: { exten: string; num?: string }, learns = (_pbx: Scene): void => {}): void {
  pbx.channel('caller', line, { ringsUs: true, ...of })
  pbx.later(10)
  learns(pbx)
  pbx.ring('caller', 'phone', '101')
  pbx.later(1_000)
  pbx.answer('caller', 'phone')
  pbx.later(1_000)
  pbx.end('caller', 'phone')
}

const callsOf = (pbx: Scene, name: string) =>
  pbx.over().bodies.flatMap(({ data }) => (data.name === name ? [data.call] : []))

test.each(['s', 'i'])('a call from a line at %s that dials at once is inbound, to nobody known', (exten) => {
  const pbx = asteriskScene()
  talk(pbx, 'DAHDI/33', { exten, num: '15551230001' })
  const [call] = callsOf(pbx, 'call_ended')
  expect(call).toMatchObject({ direction: 'inbound', did: null, from: { number: '15551230001', extension: null } })
  expect(call?.to.number).toBeNull()
})

test('a gateway that is named by digits is a trunk from its first call on', () => {
  const pbx = asteriskScene()
  talk(pbx, 'SIP/200', { exten: '101', num: '15551230001' })
  const [call] = callsOf(pbx, 'call_started')
  expect(call).toMatchObject({ direction: 'inbound', from: { number: '15551230001', extension: null } })
})

test('a phone that is named by digits and shows its own number is none', () => {
  const pbx = asteriskScene()
  talk(pbx, 'SIP/200', { exten: '101', num: '200' })
  expect(callsOf(pbx, 'call_started')[0]).toMatchObject({ direction: 'internal', from: { extension: '200' } })
})

test.each([
  ['101', 'from-did-direct', null],
  ['600', 'ext-group', null],
  ['15550100101', 'ext-did', '15550100101'],
  ['0101', 'ext-did', '0101'],
])('a line without a number whose dialplan goes to %s in %s called %p', (exten, context, did) => {
  const pbx = asteriskScene()
  talk(pbx, 'DAHDI/33', { exten: 's', num: '15551230001' }, () => {
    pbx.exten('caller', exten)
    pbx.emit('Newexten', pbx.snapshot('caller'), {
      Context: context,
      Extension: exten,
      Application: 'NoOp',
      AppData: '',
    })
  })
  expect(callsOf(pbx, 'call_ended')[0]).toMatchObject({ direction: 'inbound', did, to: { number: exten } })
})

const learns =
  (CallerIDNum: string, CallerIDName: string) =>
  (pbx: Scene): void =>
    pbx.emit('NewCallerid', pbx.snapshot('caller'), { CallerIDNum, CallerIDName, 'CID-CallingPres': '0' })

test.each([
  ['', '15551230001', 'Alice', '15551230001', 'Alice'],
  ['15551230001', '15551230001', 'Alice', '15551230001', 'Alice'],
  // What was known stays.
  ['15551230001', '15550109999', 'Alice', '15551230001', 'Alice'],
  ['', '<unknown>', 'Alice', null, 'Alice'],
  ['anonymous', '15551230001', '<unknown>', '15551230001', null],
  // A dialplan may give the number as name.
  ['15551230001', '15551230001', '15551230001', '15551230001', null],
])('a caller %p of whom the PBX learns %p %p later', (num, laterNum, laterName, number, name) => {
  const pbx = asteriskScene()
  talk(pbx, 'DAHDI/33', { exten: 's', num }, learns(laterNum, laterName))
  expect(callsOf(pbx, 'dial_started')[0]?.from).toMatchObject({ number, name })
  expect(callsOf(pbx, 'call_ended')).toHaveLength(1)
})

test('a party whom the PBX rings is not named by what it shows to that party', () => {
  const pbx = asteriskScene()
  pbx.inbound('caller', '15551230001', '15550100101')
  pbx.ringOutside('caller', 'mobile', '15557654321')
  pbx.emit('NewCallerid', pbx.snapshot('mobile'), { CallerIDNum: '15550100100', CallerIDName: 'Company' })
  pbx.answer('caller', 'mobile')
  pbx.later(1_000)
  pbx.end('caller', 'mobile')
  const [call] = callsOf(pbx, 'call_ended')
  expect(call?.answered_by).toMatchObject({ number: '15557654321', name: null })
})
