import { expect, test } from 'bun:test'
import type { SnapshotChannel } from '../../../src/calls/signal.ts'
import { EslDecoder, type EslFrame } from '../../../src/pbx/esl/decoder.ts'
import { createEslTranslator } from '../../../src/pbx/esl/translator/translator.ts'

// The first list of a connection, answered after the first events: it is put back to the moment before them.

const NOW_US = 1_795_213_000_000_000
const [A, B] = ['00000000-0000-0000-0000-00000000000a', '00000000-0000-0000-0000-00000000000b']
const AGO = String(NOW_US - 10_000_000)

type Headers = Readonly<Record<string, string>>

const frame = (type: string, body: unknown): EslFrame[] => {
  const text = JSON.stringify(body)
  return new EslDecoder().push(Buffer.from(`Content-Type: ${type}\nContent-Length: ${text.length}\n\n${text}`))
}
const list = (...rows: readonly Headers[]) => frame('api/response', { row_count: rows.length, rows })
const event = (name: string, own: Headers, more: Headers = {}) =>
  frame('text/event-json', { 'Event-Name': name, ...own, ...more })

const CALLER = {
  'Unique-ID': A,
  'Call-Direction': 'inbound',
  'Channel-Name': 'sofia/external/79160000001@sip.example',
  'Channel-Call-State': 'ACTIVE',
  'Channel-Call-UUID': A,
  'Caller-Caller-ID-Number': '79160000001',
  'Caller-Destination-Number': '1001',
  'Caller-Channel-Created-Time': AGO,
}
const PHONE = {
  'Unique-ID': B,
  'Call-Direction': 'outbound',
  'Channel-Name': 'sofia/internal/1001@127.0.0.1:5060',
  'Channel-Presence-ID': '1001@pbx.example',
  'Channel-Call-State': 'ACTIVE',
  'Channel-Call-UUID': A,
  'Other-Type': 'originator',
  'Other-Leg-Unique-ID': A,
  'Caller-Caller-ID-Number': '79160000001',
  'Caller-Destination-Number': '1001',
  'Caller-Channel-Created-Time': AGO,
}
const BRIDGE = { 'Bridge-A-Unique-ID': A, 'Bridge-B-Unique-ID': B }
const ringing = { ...PHONE, 'Channel-Call-State': 'RINGING' }
const TALKING = [
  {
    uuid: A,
    direction: 'inbound',
    name: 'sofia/external/79160000001@sip.example',
    dest: '1001',
    callstate: 'ACTIVE',
    application: 'bridge',
    application_data: 'user/1001@pbx.example',
    call_uuid: A,
  },
  {
    uuid: B,
    direction: 'outbound',
    name: 'sofia/internal/1001@127.0.0.1:5060',
    dest: '1001',
    presence_id: '1001@pbx.example',
    callstate: 'ACTIVE',
    call_uuid: A,
  },
]
const pair = { uuid: A, b_uuid: B, direction: 'inbound', callstate: 'ACTIVE' }

/** Returns the channels of a list, as they were before these events. */
function listed(lists: readonly EslFrame[], earlier: readonly EslFrame[]): SnapshotChannel[] {
  const translator = createEslTranslator({ trunks: [], extensions: ['1001'], variables: [] })
  const [snapshot] = translator.snapshot(lists, NOW_US, { earlier })
  return snapshot?.kind === 'snapshot' ? [...snapshot.channels] : []
}
const shown = ({ id, up, ringing, bridge, source }: SnapshotChannel) => ({
  id,
  up,
  ringing,
  isTalking: bridge !== null,
  source,
})

const talk = (up = true) => [
  { id: A, up: true, ringing: false, isTalking: up, source: null },
  { id: B, up, ringing: !up, isTalking: up, source: A },
]

test.each([
  ['both have hung up since', [list(), list()], ['HANGUP', 'UNBRIDGE', 'HANGUP of the caller'], talk()],
  ['the phone has hung up since', [list(TALKING[0] ?? {}), list()], ['HANGUP', 'UNBRIDGE'], talk()],
  ['the list still shows them', [list(...TALKING), list(pair)], ['HANGUP', 'UNBRIDGE'], talk()],
  ['the phone has answered since', [list(...TALKING), list(pair)], ['ANSWER', 'BRIDGE'], talk(false)],
  ['the list does not show the bridge yet', [list(...TALKING), list()], ['UNBRIDGE'], talk()],
  ['nothing came before it', [list(...TALKING), list(pair)], [], talk()],
  ['they had ended before', [list(...TALKING), list(pair)], ['HANGUP_COMPLETE', 'DESTROY of the caller'], []],
  ['the caller for whom a phone rang is unknown', [list(), list()], ['HANGUP while it rings'], []],
] as const)('a list in which %s', (_, [channels, calls], names, wanted) => {
  const events: Readonly<Record<string, EslFrame[]>> = {
    HANGUP: event('CHANNEL_HANGUP', PHONE, { 'Hangup-Cause': 'NORMAL_CLEARING' }),
    'HANGUP while it rings': event('CHANNEL_HANGUP', ringing, { 'Hangup-Cause': 'ORIGINATOR_CANCEL' }),
    'HANGUP of the caller': event('CHANNEL_HANGUP', CALLER, { 'Hangup-Cause': 'NORMAL_CLEARING' }),
    UNBRIDGE: event('CHANNEL_UNBRIDGE', CALLER, BRIDGE),
    ANSWER: event('CHANNEL_ANSWER', ringing),
    BRIDGE: event('CHANNEL_BRIDGE', CALLER, BRIDGE),
    HANGUP_COMPLETE: event('CHANNEL_HANGUP_COMPLETE', PHONE),
    'DESTROY of the caller': event('CHANNEL_DESTROY', CALLER),
  }
  const got = listed(
    [...channels, ...calls],
    names.flatMap((name) => events[name] ?? []),
  )
  expect(got.map(shown)).toEqual([...wanted])
})
