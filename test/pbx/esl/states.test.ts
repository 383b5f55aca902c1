import { describe, expect, test } from 'bun:test'
import { runAtOnce } from '../../../src/lib/slices.ts'
import { eventFromJson } from '../../../src/pbx/esl/event.ts'
import { createEslStates, type ListedRow } from '../../../src/pbx/esl/states.ts'
import type { StateSignal } from '../../../src/states/signal.ts'

// Events as a FreeSWITCH 1.10.12 sent them.

const event = (fields: Readonly<Record<string, string>>) => {
  const found = eventFromJson(Buffer.from(JSON.stringify(fields)))
  if (found === undefined) throw new Error('this is no event')
  return found
}
const custom = (subclass: string, fields: Readonly<Record<string, string>>) =>
  event({ 'Event-Name': 'CUSTOM', 'Event-Subclass': subclass, ...fields })
const register = (callId = 'r1') =>
  custom('sofia::register', { 'from-user': '1004', 'from-host': 'pbx.example', 'call-id': callId, expires: '60' })
const unregister = (callId = 'r1') =>
  custom('sofia::unregister', { 'from-user': '1004', 'from-host': 'pbx.example', 'call-id': callId, expires: '0' })
const expire = (callId = 'r1') =>
  custom('sofia::expire', { user: '1004', host: 'pbx.example', 'call-id': callId, username: '1004' })
const gateway = (State: string, more: Readonly<Record<string, string>> = {}) =>
  custom('sofia::gateway_state', { Gateway: 'carrier', State, 'Ping-Status': 'DOWN', ...more })
const agent = (action: string, fields: Readonly<Record<string, string>>) =>
  custom('callcenter::info', { 'CC-Agent': '1004@default', 'CC-Action': action, ...fields })
const queued = (action: string) =>
  custom('callcenter::info', { 'CC-Queue': 'support@default', 'CC-Action': action, 'CC-Member-UUID': 'm1' })
const leg = (name: string, direction: string) =>
  event({
    'Event-Name': name,
    'Unique-ID': 'leg',
    'Call-Direction': direction,
    'Channel-Presence-ID': '1004@pbx.example',
  })

const row = (fields: Readonly<Record<string, string>>): ListedRow => new Map(Object.entries(fields))
const USERS = [
  row({
    userid: '1004',
    domain: 'pbx.example',
    effective_caller_id_name: 'Extension 1004',
    effective_caller_id_number: '1004',
  }),
]
const LISTS = {
  queues: [row({ name: 'support@default' })],
  agents: [
    row({
      name: '1004@default',
      contact: '[leg_timeout=5]user/1004@pbx.example',
      status: 'Available',
      state: 'Waiting',
    }),
  ],
  tiers: [row({ queue: 'support@default', agent: '1004@default' })],
}

/** A short form of a signal: `contact 1004@pbx.example unchecked`. */
const textOf = (signal: StateSignal): string => {
  switch (signal.kind) {
    case 'contact':
    case 'contact_gone':
      return `${signal.kind} ${signal.contact}${signal.kind === 'contact' ? ` ${signal.state}` : ''}`
    case 'device':
      return `device ${signal.device}`
    case 'registration':
      return `${signal.trunk} ${signal.state} ${signal.reason}`
    case 'member':
      return `${signal.extension} of ${signal.queue} ${signal.state}`
    case 'caller':
    case 'caller_gone':
      return `${signal.kind} ${signal.caller}`
    default:
      return signal.kind
  }
}

/** A translator that has read its lists, with one phone that is registered. */
function listed() {
  const states = createEslStates()
  states.beginLists()
  runAtOnce(states.users(USERS, 0))
  runAtOnce(states.registrations([{ user: '1004@pbx.example', callId: 'r1', ping: 'Reachable' }], 0))
  runAtOnce(states.legs([], 0))
  states.agents(LISTS, 0)
  return states
}

test('a gateway whose name is given is called by it, in events and in the list', () => {
  const states = createEslStates({ carrier: 'Main carrier' })
  const told = [
    ...states.signals(gateway('FAILED', { Status: '408' }), 1),
    ...states.gateways([{ name: 'carrier', state: 'REGED', isUp: true, isPinged: true }], 2),
  ]
  expect(told.map(textOf)).toEqual(['Main carrier unreachable 408', 'Main carrier unreachable 408'])
})

const CASES: readonly [sentence: string, events: ReturnType<typeof event>[], signals: string[]][] = [
  ['a second device', [register('r2')], ['contact r2 unchecked', 'device idle', '1004 of support@default available']],
  ['a phone that leaves', [unregister()], ['contact_gone r1', '1004 of support@default unreachable']],
  ['one whose registration has expired', [expire()], ['contact_gone r1', '1004 of support@default unreachable']],
  [
    'a phone that rings and answers',
    ['CHANNEL_CREATE', 'CHANNEL_PROGRESS', 'CHANNEL_ANSWER', 'CHANNEL_HANGUP', 'CHANNEL_DESTROY'].map((name) =>
      leg(name, 'outbound'),
    ),
    ['device ringing', 'device in_use', 'device idle'],
  ],
  [
    'a phone that calls',
    ['CHANNEL_CREATE', 'CHANNEL_HANGUP'].map((name) => leg(name, 'inbound')),
    ['device in_use', 'device idle'],
  ],
  [
    'a gateway that is refused',
    [gateway('TRYING'), gateway('FAILED', { Status: '403', Phrase: 'Forbidden' }), gateway('FAIL_WAIT')],
    ['carrier rejected 403 Forbidden'],
  ],
  ['a gateway that is silent', [gateway('FAILED', { Status: '408' })], ['carrier unreachable 408']],
  [
    'a gateway that registers',
    [gateway('REGISTER', { Status: '200', Phrase: 'OK' }), gateway('REGED', { 'Ping-Status': 'UP' })],
    ['carrier registered null'],
  ],
  [
    'an agent on a break, one who logs out, and one who gets a call',
    [
      agent('agent-status-change', { 'CC-Agent-Status': 'On Break' }),
      agent('agent-status-change', { 'CC-Agent-Status': 'Logged Out' }),
      agent('agent-status-change', { 'CC-Agent-Status': 'Available' }),
      agent('agent-state-change', { 'CC-Agent-State': 'Receiving' }),
    ],
    ['paused', 'logged_out', 'available', 'busy'].map((state) => `1004 of support@default ${state}`),
  ],
  [
    'a caller who waits until an agent talks',
    [queued('member-queue-start'), queued('bridge-agent-start'), queued('member-queue-end')],
    ['caller m1', 'caller_gone m1', 'caller_gone m1'],
  ],
]

describe('states of a FreeSWITCH', () => {
  test.each(CASES)('%s', (_, events, signals) => {
    const states = listed()
    expect(events.flatMap((one) => states.signals(one, 1)).map(textOf)).toEqual(signals)
  })

  test('a phone that the directory does not list is known once it registers', () => {
    const states = createEslStates()
    const signals = states.signals(register(), 1)
    expect(signals[0]).toMatchObject({
      kind: 'endpoint',
      entry: { endpoint: '1004@pbx.example', kind: 'phone', key: '1004', tenant: 'pbx.example' },
    })
    expect(states.signals(register('r2'), 1).map(textOf)).not.toContain('endpoint')
  })

  test('a row that is older than an event is passed over', () => {
    const states = listed()
    states.beginLists()
    states.signals(unregister(), 1)
    const rows = [{ user: '1004@pbx.example', callId: 'r1', ping: '' }]
    expect([...states.registrations(rows, 2)].flat()).toEqual([])
    states.signals(agent('agent-status-change', { 'CC-Agent-Status': 'On Break' }), 3)
    expect(states.agents(LISTS, 4).map(textOf)).toContain('1004 of support@default paused')
  })

  test('registrations are taken a row at a time, and an event that comes between two rows is newer than the second', () => {
    const states = createEslStates()
    states.beginLists()
    const row = (callId: string) => ({ user: '1004@pbx.example', callId, ping: 'Reachable' })
    const steps = states.registrations([row('r2'), row('r1'), row('r3')], 0)
    const next = () => (steps.next().value ?? []).map(textOf)
    expect(next()).toContain('contact r2 reachable')
    expect(states.signals(unregister(), 1).map(textOf)).toContain('contact_gone r1')
    expect(next()).toContain('contact r3 reachable')
    expect(steps.next().done).toBe(true)
  })

  test('a gateway that is listed between two attempts stays refused', () => {
    const states = listed()
    states.signals(gateway('FAILED', { Status: '403', Phrase: 'Forbidden' }), 1)
    states.beginLists()
    const listing = (state: string) =>
      states.gateways([{ name: 'carrier', state, isUp: false, isPinged: true }], 2).map(textOf)
    expect(listing('FAIL_WAIT')).toEqual(['carrier rejected 403 Forbidden'])
    expect(listing('REGED')).toEqual(['carrier registered null'])
  })

  test('a gateway without a registration is reachable or not where it is pinged', () => {
    const states = createEslStates()
    const listing = (isUp: boolean, isPinged: boolean) =>
      states.gateways([{ name: 'trunk', state: 'NOREG', isUp, isPinged }], 2).map(textOf)
    expect(listing(true, true)).toEqual(['trunk reachable null'])
    expect(listing(false, true)).toEqual(['trunk unreachable null'])
    expect(listing(true, false)).toEqual(['trunk unknown null'])
  })
})
