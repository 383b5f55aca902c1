import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AmiDecoder } from '../../src/pbx/ami/decoder.ts'
import { isWanted } from '../../src/pbx/ami/events.ts'
import { createAmiStates } from '../../src/pbx/ami/states.ts'
import { EslDecoder } from '../../src/pbx/esl/decoder.ts'
import { createEslStates, type ListedRow } from '../../src/pbx/esl/states.ts'
import type { StateSignal } from '../../src/states/signal.ts'
import { createRig, phone, type Rig, SECOND, type Step, trunk } from './board/rig.ts'

// Recordings of a real Asterisk 22.10.1 and a real FreeSWITCH 1.10.12, with phones that register, flap, lose the network
// and leave, a trunk that is refused and accepted, agents that pause, and the changes that are emitted.

const FIXTURES = join(import.meta.dir, '../fixtures/states')

/** Returns the chunks of a recording, each with the seconds after its beginning. */
function chunksOf(name: string): { atS: number; bytes: Buffer }[] {
  const bytes = readFileSync(join(FIXTURES, name))
  const timing = readFileSync(join(FIXTURES, name.replace(/\.\w+$/, '.timing')), 'utf8')
  const starts = timing
    .trim()
    .split('\n')
    .map((line) => line.split(' ').map(Number))
  return starts.map(([offset = 0, ms = 0], at) => ({
    atS: ms / 1_000,
    bytes: bytes.subarray(offset, starts[at + 1]?.[0] ?? bytes.length),
  }))
}

/** Plays a recording; emitted changes keep whole seconds. */
function play(rig: Rig, name: string, signalsOf: (bytes: Buffer, nowUs: number) => readonly StateSignal[]): string[] {
  const begunUs = rig.nowUs()
  for (const { atS, bytes } of chunksOf(name)) {
    rig.pass(Math.max(0, atS - (rig.nowUs() - begunUs) / SECOND))
    for (const { atUs: _, ...step } of signalsOf(bytes, rig.nowUs())) rig.feed(step as Step)
  }
  rig.pass(10)
  return rig.emitted.map(({ text }) => text)
}

const LISTED: readonly Step[] = [
  { kind: 'connected' },
  { kind: 'list_began', list: 'devices' },
  { kind: 'list_ended', list: 'devices', isComplete: true },
]

test('an Asterisk', () => {
  const rig = createRig()
  rig.feed({ kind: 'endpoints', endpoints: [phone('101'), phone('102'), trunk('trunk'), trunk('carrier')] }, ...LISTED)
  const registered = {
    kind: 'registration',
    trunk: 'acct@127.0.9.201:5380',
    state: 'registered',
    reason: null,
  } as const
  const provider = { kind: 'contact', endpoint: 'PJSIP/trunk', contact: 'x', state: 'reachable' } as const
  const member = { kind: 'member', queue: 'one', member: 'PJSIP/101', endpoint: 'PJSIP/101', extension: '101' } as const
  rig.feed(registered, { ...member, state: 'unreachable', reason: null }, { kind: 'listed' })
  rig.feed({ ...provider, contact: 'b0be7d658a43247c38d9672e26cc3ae7' })
  rig.pass(10)
  rig.emitted.length = 0
  const decoder = new AmiDecoder({ skip: (name, peek) => !isWanted(name, peek, []) })
  const states = createAmiStates()
  const emitted = play(rig, 'asterisk.ami', (bytes, nowUs) =>
    decoder.push(bytes).flatMap((frame) => states.signals(frame, nowUs)),
  )
  expect(emitted.filter((text) => !text.startsWith('one:'))).toEqual([
    // Both phones register.
    '101 of one available',
    '101 registered idle 1',
    '102 registered idle 1',
    // A second device; it leaves for two seconds, which is not emitted.
    '101 registered idle 2',
    // 101 calls 102.
    '101 registered in_use 2',
    '102 registered ringing 1',
    '101 of one busy',
    '102 registered in_use 1',
    '102 registered idle 1',
    '101 registered idle 2',
    '101 of one available',
    '101 of one paused (lunch)',
    '101 of one available',
    '102 of one available',
    '102 of one logged_out',
    // One device loses the network, which is not emitted, then the other.
    '101 of one unreachable',
    '101 unreachable unknown 2',
    '101 of one available',
    '101 registered idle 2',
    '102 unregistered unknown 0',
    // The provider answers 403. To register anew Asterisk leaves first.
    'acct@127.0.9.201:5380 rejected (Rejected)',
    'acct@127.0.9.201:5380 unknown',
    'acct@127.0.9.201:5380 registered',
    'trunk unreachable',
    'trunk reachable',
    // The phones and the provider end.
    '101 of one unreachable',
    '101 unreachable unknown 2',
    'trunk unreachable',
  ])
})

const row = (fields: Readonly<Record<string, string>>): ListedRow => new Map(Object.entries(fields))
const user = (name: string): ListedRow => row({ userid: name, domain: 'pbx.example' })

test('a FreeSWITCH', () => {
  const rig = createRig()
  const states = createEslStates()
  const feed = (signals: readonly StateSignal[]) => {
    for (const { atUs: _, ...step } of signals) rig.feed(step as Step)
  }
  const queue = 'support@default'
  const agent = row({
    name: '1004@default',
    contact: '[leg_timeout=5]user/1004@pbx.example',
    status: 'Available',
    state: 'Waiting',
  })
  feed([...states.users([user('1003'), user('1004')], 0)].flat())
  rig.feed(...LISTED)
  const tier = row({ queue, agent: '1004@default' })
  feed(states.agents({ queues: [row({ name: queue })], agents: [agent], tiers: [tier] }, 0))
  feed(states.gateways([{ name: 'carrier', state: 'REGED', isUp: true, isPinged: false }], 0))
  rig.feed({ kind: 'listed' })
  const decoder = new EslDecoder()
  const emitted = play(rig, 'freeswitch.esl', (bytes, nowUs) =>
    decoder.push(bytes).flatMap(({ event }) => (event === undefined ? [] : states.signals(event, nowUs))),
  )
  expect(emitted.filter((text) => !text.startsWith(`${queue}:`))).toEqual([
    '1004 of support@default available',
    // Both register at once.
    '1003 registered idle 1',
    '1004 registered idle 1',
    // A second device comes and goes.
    '1004 registered idle 2',
    '1004 registered idle 1',
    // 1003 calls the queue, and 1004 answers.
    '1003 registered in_use 1',
    '1004 of support@default busy',
    '1004 registered ringing 1',
    '1004 registered in_use 1',
    '1003 registered idle 1',
    '1004 registered idle 1',
    '1004 of support@default available',
    // A break, and the end of the shift.
    '1004 of support@default paused',
    '1004 of support@default logged_out',
    '1004 of support@default available',
    // The phone leaves.
    '1004 of support@default unreachable',
    '1004 unregistered unknown 0',
    // The provider answers 403, then 200.
    'carrier rejected (403 Forbidden)',
    'carrier registered',
    '1004 of support@default available',
    '1004 registered idle 1',
    // The phones and the provider end.
    '1004 unreachable unknown 1',
    '1003 unreachable unknown 1',
    'carrier unreachable (503 Service Unavailable)',
  ])
  const ofQueue = [
    '0 waiting for 0, 1 0 0',
    '1 waiting for 0, 1 0 0',
    '1 waiting for 1, 0 1 0',
    '0 waiting for 0, 0 1 0',
    '0 waiting for 0, 1 0 0',
    '0 waiting for 0, 0 0 1',
    '0 waiting for 0, 0 0 0',
    '0 waiting for 0, 1 0 0',
    '0 waiting for 0, 0 0 0',
    '0 waiting for 0, 1 0 0',
  ]
  expect(emitted.filter((text) => text.startsWith(queue))).toEqual(ofQueue.map((text) => `${queue}: ${text}`))
})
