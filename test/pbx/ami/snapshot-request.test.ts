import { describe, expect, test } from 'bun:test'
import { type AmiReply, createActions } from '../../../src/pbx/ami/actions.ts'
import { AmiDecoder } from '../../../src/pbx/ami/decoder.ts'
import { amiEvent, snapshotOf } from '../../help/ami-event.ts'

const PATIENCE = { replyMs: 60_000, listMs: 60_000 }
const GREETING = 'Asterisk Call Manager/11.0.0\r\n'

/** Asks for a list, answers with this text, and returns the reply. */
async function listed(answer: (id: string) => string, name = 'Status'): Promise<AmiReply> {
  let asked = ''
  const actions = createActions((text) => {
    asked = text
  }, PATIENCE)
  const reply = actions.list({ Action: name })
  const id = /^ActionID: (\S+)/m.exec(asked)?.[1] ?? ''
  const decoder = new AmiDecoder({ idPrefix: actions.idPrefix })
  for (const frame of decoder.push(Buffer.from(GREETING + answer(id)))) actions.receive(frame)
  actions.close()
  return reply
}

const begin = (id: string): string => `Response: Success\r\nActionID: ${id}\r\nEventList: start\r\n\r\n`
const end = (id: string, rows: number, name = 'Status'): string =>
  `Event: ${name}Complete\r\nActionID: ${id}\r\nEventList: Complete\r\nListItems: ${rows}\r\n\r\n`
const status = (id: string, channel: string, fields = {}, row = {}): string =>
  amiEvent('Status', snapshotOf(channel, fields), {
    Type: 'PJSIP',
    DNID: '102',
    EffectiveConnectedLineNum: '<unknown>',
    Data: '',
    Nativeformats: '(ulaw)',
    Seconds: 7,
    ...row,
    ActionID: id,
  })
const channel = (id: string, channel: string, fields = {}): string =>
  amiEvent('CoreShowChannel', { ActionID: id }, snapshotOf(channel, fields), {
    Application: 'Dial',
    ApplicationData: 'PJSIP/102',
    Duration: '00:00:07',
    BridgeId: '',
  }).replace('Privilege: call,all\r\n', '')

const ids = (reply: AmiReply) =>
  reply.kind === 'rows' ? [reply.rows.map((row) => row.get('Uniqueid')), reply.uncertain] : reply

describe('a list in which a caller wrote', () => {
  test.each([
    ['a header', '1\r\nUniqueid: 1.1', ['2.2', '1.1']],
    ['another header', '1\r\nSeconds: 999', ['2.2']],
    ['an empty line', '1\r\n\r\n', ['2.2']],
    ['an event', '1\r\n\r\nEvent: Status\r\nPrivilege: a\r\nUniqueid: 1.1\r\n', ['1.1', '2.2']],
    ['the end of a list', '1\r\n\r\nEvent: StatusComplete\r\nActionID: x\r\nListItems: 0\r\n', ['2.2']],
  ])('leaves out that channel alone: %s', async (_, written, uncertain) => {
    for (const row of [status, channel]) {
      const name = row === status ? 'Status' : 'CoreShowChannels'
      const reply = await listed(
        (id) =>
          begin(id) + row(id, '1.1') + row(id, '2.2', { CallerIDNum: written }) + row(id, '3.3') + end(id, 3, name),
        name,
      )
      expect(reply.kind).toBe('rows')
      if (reply.kind !== 'rows') continue
      expect(reply.rows.map((one) => one.get('Uniqueid'))).toEqual(['1.1', '3.3'])
      expect(reply.uncertain.toSorted()).toEqual(uncertain.toSorted())
    }
  })

  // What is left of that row has no Linkedid, or a forged frame swallows it: the end of the list stands.
  test.each([
    ['an event in the dialled number', {}, { DNID: '1\r\n\r\nEvent: Foo\r\nPrivilege: a\r\nA: b' }],
    ['the end of a list', {}, { DNID: '1\r\n\r\nEvent: StatusComplete\r\nEventList: Complete\r\nListItems: 0' }],
    ['an event in the data of the application', {}, { Data: '1\r\n\r\nEvent: Foo\r\nPrivilege: a\r\nA: b' }],
    ['a response', { CallerIDNum: '1\r\n\r\nResponse: Success\r\nMessage: a' }, {}],
    ['a refusal', { CallerIDNum: '1\r\n\r\nResponse: Error\r\nMessage: Permission denied' }, {}],
    ['an event and a response', {}, { DNID: '1\r\n\r\nEvent: Hangup\r\n\r\nResponse: Error' }],
    ['a variable that is the last header', {}, { Variable: 'X=1\r\n\r\nEvent: StatusComplete' }],
    ['a variable and a response', {}, { Variable: 'X=1\r\n\r\nResponse: Error' }],
  ])('ends where Asterisk ends it, also when that row is the last: %s', async (_, fields, row) => {
    const reply = await listed((id) => begin(id) + status(id, '1.1') + status(id, '2.2', fields, row) + end(id, 2))
    expect(ids(reply)).toEqual([['1.1'], ['2.2']])
  })

  test('ends though an event before it was cut short, and its rest comes after', async () => {
    const cut = amiEvent('Newstate', snapshotOf('9.9', { CallerIDNum: '1\r\n\r\nEvent: Foo' }))
    expect(ids(await listed((id) => begin(id) + status(id, '1.1') + cut + end(id, 1) + cut))).toEqual([
      ['1.1'],
      ['9.9'],
    ])
  })

  test('is not whole all the same when another row is missing', async () => {
    expect(await listed((id) => begin(id) + status(id, '1.1') + end(id, 2))).toMatchObject({ kind: 'partial' })
    expect(ids(await listed((id) => begin(id) + status(id, '1.1') + end(id, 1)))).toEqual([['1.1'], []])
  })
})

test('a list without end is given up, and does not fill the memory', async () => {
  const reply = await listed((id) => begin(id) + `Event: X\r\nActionID: ${id}\r\n\r\n`.repeat(50_001))
  expect(reply).toMatchObject({ kind: 'partial', message: expect.stringContaining('longer than 50000 rows') })
  const wide = (id: string) => `Event: X\r\nActionID: ${id}\r\nA: ${'x'.repeat(60_000)}\r\n\r\n`
  expect(await listed((id) => begin(id) + wide(id).repeat(1_200))).toMatchObject({ kind: 'partial' })
})
