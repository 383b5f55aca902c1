import { describe, expect, test } from 'bun:test'
import { createEndpoints } from '../../../src/pbx/endpoints/endpoints.ts'
import { ANSWER, answerEvent } from '../../../src/pbx/esl/answers.ts'
import type { EslFrame } from '../../../src/pbx/esl/decoder.ts'
import { eventFromJson } from '../../../src/pbx/esl/event.ts'
import { inventoryOf } from '../../../src/pbx/esl/inventory.ts'
import { createEslTranslator } from '../../../src/pbx/esl/translator/translator.ts'
import { player } from '../../help/play.ts'

// Calls that are already up when Hookswitch connects, at a PBX with a known configuration: the caller is the same as if
// the call had been seen from its beginning.

const NOW_US = 1_795_213_000_000_000
const PATTERNS = { trunks: [], extensions: [], variables: [] }

/** FreeSWITCH as it is installed: its phones' profile has the context of strangers, and each user has another one. */
const CONFIGURED = inventoryOf({
  sofia:
    'internal\tprofile\tsip:x RUNNING (0)\nexternal\tprofile\tsip:x RUNNING (0)\nexternal::carrier\tgateway\tsip:x REGED\n',
  profiles: { internal: 'Context          \tpublic\n', external: 'Context          \tpublic\n' },
  users: 'userid|context|domain\n1001|default|pbx.example\nanna|default|pbx.example\n',
  registrations: '',
  agents: '',
})

const list = (rows: readonly object[]): EslFrame => ({
  offset: 0,
  contentType: 'api/response',
  get: () => '',
  body: JSON.stringify({ row_count: rows.length, rows }),
  event: undefined,
})

const UP = { direction: 'inbound', state: 'CS_EXECUTE', callstate: 'ACTIVE', created_epoch: '1795213000' }
const DIALLED = {
  ...UP,
  uuid: 'dialled',
  direction: 'outbound',
  name: 'sofia/external/79035556677',
  dest: '79035556677',
  call_uuid: 'caller',
}
const PHONE = {
  ...UP,
  uuid: 'caller',
  name: 'sofia/internal/1001@pbx.example',
  cid_num: '1001',
  initial_cid_num: '1001',
  dest: '979035556677',
  initial_dest: '979035556677',
  context: 'default',
}

/** Returns direction and caller of the call that a list begins, with the configuration known or not. */
function found(caller: object, isConfigured: boolean) {
  const endpoints = createEndpoints(PATTERNS)
  if (isConfigured) endpoints.configure(CONFIGURED)
  const { play, rest, events } = player()
  play([{ kind: 'connected', first: true, boot: null, atUs: NOW_US, arrivedUs: NOW_US }])
  const bridged = { uuid: 'caller', b_uuid: 'dialled' }
  play(createEslTranslator(PATTERNS, endpoints).snapshot([list([caller, DIALLED]), list([bridged])], NOW_US))
  rest(5_000_000)
  return events.slice(0, 1).map(({ body }) => [body.data.call.direction, body.data.call.from.extension])
}

describe.each([
  ['known', true],
  ['not known', false],
])('a caller who is found up, the configuration %s', (_, isConfigured) => {
  test.each([
    ['a phone', { presence_id: '1001@pbx.example', initial_context: 'default' }],
    ['a user whose name is no number', { presence_id: 'anna@pbx.example', initial_context: 'default' }],
    ['a user of one customer of several', { presence_id: '1001@acme.example', initial_context: 'acme.example' }],
  ])('%s that logged in', (_name, shown) => {
    expect(found({ ...PHONE, ...shown }, isConfigured)).toEqual([['outbound', '1001']])
  })

  test.each([
    ['a carrier', { name: 'sofia/external/79161234567@carrier.example', cid_num: '79161234567', presence_id: '' }],
    ['a carrier that gives a presence', { name: 'sofia/external/1001@carrier.example', presence_id: '1001@carrier' }],
    ['a stranger at the profile of the phones', { name: 'sofia/internal/1001@stranger', presence_id: '1001@stranger' }],
  ])('%s', (_name, shown) => {
    const row = { ...PHONE, initial_context: 'public', ...shown }
    expect(found(row, isConfigured)).toEqual([['inbound', null]])
  })
})

test('a carrier whose calls begin in a context of its own gives its callers no extension', () => {
  const shown = {
    name: 'sofia/external/79161234567@carrier.example',
    cid_num: '79161234567',
    initial_cid_num: '79161234567',
  }
  const row = { ...PHONE, ...shown, presence_id: '79161234567@carrier.example', initial_context: 'calls' }
  expect(found(row, true)).toEqual([['inbound', null]])
})

test.each([
  ['bridge', undefined],
  ['lua', undefined],
  ['voicemail', true],
])(
  'a caller that is listed in %s, and may have rung a group before, has stopped ringing it: %s',
  (application, rungAll) => {
    const rows = [list([{ ...PHONE, application, application_data: '' }]), list([])]
    const [snapshot] = createEslTranslator(PATTERNS).snapshot(rows, NOW_US)
    const channels = snapshot?.kind === 'snapshot' ? snapshot.channels : []
    expect(channels.map((channel) => channel.rungAll)).toEqual([rungAll])
  },
)

describe.each([
  ['before the connection was lost', true],
  ['after the list', false],
])('a phone that is found ringing, whose name was learned %s', (_, isBefore) => {
  test('has its name', () => {
    const endpoints = createEndpoints(PATTERNS)
    const { play, rest, events } = player()
    const answer = { offset: 0, contentType: '', get: () => '', body: '', event: undefined }
    const learned = { ...answer, ...answerEvent(ANSWER, { user: '1002@acme.example', name: 'Boris' }) }
    if (isBefore) play(createEslTranslator(PATTERNS, endpoints).event(learned, NOW_US))
    play([{ kind: 'connected', first: true, boot: null, atUs: NOW_US, arrivedUs: NOW_US }])
    const translator = createEslTranslator(PATTERNS, endpoints)
    const caller = { ...PHONE, presence_id: '1001@acme.example', initial_dest: '1002', dest: '1002' }
    const phone = {
      ...DIALLED,
      name: 'sofia/internal/1002@192.0.2.5',
      dest: '1002',
      presence_id: '1002@acme.example',
      callstate: 'RINGING',
    }
    play(translator.snapshot([list([caller, phone]), list([])], NOW_US))
    if (!isBefore) play(translator.event(learned, NOW_US + 1_000))
    for (const laterUs of [2_000_000, 4_000_000]) play(translator.snapshot([list([]), list([])], NOW_US + laterUs))
    rest(10_000_000)
    const names = events.flatMap(({ body: { data } }) => ('stage' in data ? [`${data.name} ${data.stage?.name}`] : []))
    expect(names).toEqual([`dial_started ${isBefore ? 'Boris' : null}`, 'dial_ended Boris'])
  })
})

/** Returns when a call that a list shows began, in seconds before the list, on a PBX whose clock is off by this. */
function beganBefore(offsetUs: number): number {
  const clockUs = NOW_US + offsetUs
  const caller = { ...PHONE, created_epoch: String(clockUs / 1_000_000 - 10) }
  const clock = { ...list([]), body: `${clockUs}\n` }
  const { play, rest, events } = player()
  play([{ kind: 'connected', first: true, boot: null, atUs: NOW_US, arrivedUs: NOW_US }])
  play(createEslTranslator(PATTERNS).snapshot([list([caller]), list([]), clock], NOW_US))
  rest(5_000_000)
  const started = events.find(({ name }) => name === 'call_started')?.body.data.call.started_at ?? ''
  return (NOW_US / 1_000 - Date.parse(started)) / 1_000
}

test.each([0, 1, -1])('a found call began when it began, though the clock of the PBX is off by %d h', (hours) => {
  expect(beganBefore(hours * 3_600_000_000)).toBe(10)
})

test('a leg that only a list shows is found, though one of its events already waits for its beginning', () => {
  const endpoints = createEndpoints(PATTERNS)
  const translator = createEslTranslator(PATTERNS, endpoints)
  const { play, rest, events } = player()
  play([{ kind: 'connected', first: true, boot: null, atUs: NOW_US, arrivedUs: NOW_US }])
  const fields = { 'Event-Name': 'CHANNEL_PROGRESS', 'Unique-ID': 'dialled', 'Call-Direction': 'outbound' }
  const event = eventFromJson(Buffer.from(JSON.stringify(fields)))
  play(translator.event({ offset: 0, contentType: '', get: () => '', body: '', event }, NOW_US))
  const ringing = { ...DIALLED, callstate: 'RINGING' }
  play(translator.snapshot([list([{ ...PHONE, callstate: 'RINGING' }, ringing])], NOW_US + 70_000))
  rest(5_000_000)
  const told = events.map(({ name, body: { data } }) => [name, 'stage' in data ? (data.stage?.target ?? null) : null])
  expect(told).toEqual([
    ['call_started', null],
    ['dial_started', '79035556677'],
  ])
})

test('a phone whose answer only a later list shows hands its caller over: the call goes on', () => {
  const translator = createEslTranslator(PATTERNS, createEndpoints(PATTERNS))
  const { play, rest, events } = player()
  let sequence = 1_000
  const report = (name: string, fields: Readonly<Record<string, string>>) => {
    sequence += 1
    const stamp = NOW_US + sequence * 1_000
    const all = { 'Event-Name': name, 'Event-Sequence': `${sequence}`, 'Event-Date-Timestamp': `${stamp}`, ...fields }
    const event = eventFromJson(Buffer.from(JSON.stringify(all)))
    play(translator.event({ offset: 0, contentType: '', get: () => '', body: '', event }, stamp))
  }
  const customer = { ...PHONE, uuid: 'customer', name: 'sofia/external/79161234567@192.0.2.1', cid_num: '79161234567' }
  const phone = {
    ...DIALLED,
    uuid: 'phone',
    name: 'sofia/internal/1001@192.0.2.2',
    dest: '1001',
    call_uuid: 'customer',
  }
  const rows = (callstate: string) => [customer, phone].map((row) => ({ ...row, callstate, context: 'public' }))
  play([{ kind: 'connected', first: true, boot: null, atUs: NOW_US, arrivedUs: NOW_US }])
  play(translator.snapshot([list(rows('RINGING')), list([])], NOW_US))
  const pair = list([{ uuid: 'customer', b_uuid: 'phone' }])
  play(translator.snapshot([list(rows('ACTIVE')), pair], NOW_US + 900_000))

  const second = {
    'Unique-ID': 'second',
    'Channel-Name': 'sofia/internal/1001@pbx.example',
    'Call-Direction': 'inbound',
  }
  const target = {
    'Unique-ID': 'target',
    'Channel-Name': 'sofia/internal/1002@192.0.2.3',
    'Call-Direction': 'outbound',
  }
  report('CHANNEL_CREATE', { ...second, 'Caller-Caller-ID-Number': '1001', 'Caller-Destination-Number': '1002' })
  const dialled = { ...target, 'Other-Leg-Unique-ID': 'second', 'Caller-Destination-Number': '1002' }
  for (const name of ['CHANNEL_CREATE', 'CHANNEL_PROGRESS', 'CHANNEL_ANSWER']) report(name, dialled)
  report('CHANNEL_BRIDGE', { ...second, 'Bridge-A-Unique-ID': 'second', 'Bridge-B-Unique-ID': 'target' })
  report('CHANNEL_UNBRIDGE', { ...second, 'Bridge-A-Unique-ID': 'second', 'Bridge-B-Unique-ID': 'target' })
  report('CHANNEL_HANGUP', { ...second, 'Hangup-Cause': 'NORMAL_CLEARING' })
  report('CHANNEL_HANGUP', { 'Unique-ID': 'phone', 'Hangup-Cause': 'NORMAL_CLEARING' })
  report('CHANNEL_BRIDGE', {
    'Unique-ID': 'customer',
    'Bridge-A-Unique-ID': 'customer',
    'Bridge-B-Unique-ID': 'target',
  })
  for (const id of ['customer', 'target'])
    report('CHANNEL_HANGUP', { 'Unique-ID': id, 'Hangup-Cause': 'NORMAL_CLEARING' })
  rest(5_000_000)

  const ends = events.filter(({ name }) => name === 'call_ended').map(({ body }) => body.data.call)
  expect(ends).toMatchObject([
    { direction: 'inbound', handled_by: [{ extension: '1001' }, { extension: '1002' }], transfers: 1 },
  ])
})
