import type { Signal, SnapshotChannel } from '../../src/calls/signal.ts'
import type { StageResult } from '../../src/events/enums.ts'
import type { Random } from './random.ts'

/** Random signals of every kind with few ids, so that they meet: also signals that no real PBX sends. */

const RESULTS: readonly StageResult[] = [
  'answered',
  'answered',
  'answered',
  'no_answer',
  'busy',
  'rejected',
  'cancelled',
  'answered_elsewhere',
  'unavailable',
  'congestion',
  'forwarded',
  'other',
]
const NUMBERS = ['101', '102', '15550100105', null, '', '\r\nEvent: Hangup', '‮9', 'x'.repeat(300)] as const
const KINDS = ['extension', 'extension', 'external', 'virtual'] as const

type Unstamped = Signal extends infer One ? (One extends Signal ? Omit<One, 'atUs' | 'arrivedUs'> : never) : never

export function randomSignals(random: Random, count: number, startUs: number): Signal[] {
  let clockUs = startUs
  return Array.from({ length: count }, () => {
    clockUs += random.pick([0, 1_000, 20_000, 60_000, 300_000, 1_000_000, 2_000_000])
    const arrivedUs = random.chance(0.03) ? clockUs - random.int(5_000_000) : clockUs
    const atUs = random.chance(0.1) ? arrivedUs - random.int(10_000_000) : arrivedUs
    return { ...randomSignal(random), atUs, arrivedUs }
  })
}

const endpoint = (random: Random) =>
  ({ kind: random.pick(KINDS), number: random.pick(NUMBERS), name: random.pick([null, 'Zoë']) }) as const
const channelId = (random: Random): string => `c${random.int(7)}`
const idOrNull = (random: Random): string | null => (random.chance(0.2) ? null : channelId(random))
const linkedIdOf = (random: Random): string => (random.chance(0.7) ? channelId(random) : `l${random.int(3)}`)

function snapshotChannel(random: Random): SnapshotChannel {
  const callee = random.chance(0.5)
  return {
    id: channelId(random),
    linkedId: random.chance(0.3) ? null : linkedIdOf(random),
    endpoint: endpoint(random),
    dialledNumber: random.pick(NUMBERS),
    callee,
    source: callee ? idOrNull(random) : null,
    up: random.chance(0.6),
    ringing: random.chance(0.3),
    ...(random.chance(0.5) && { onHold: random.chance(0.5) }),
    bridge: random.chance(0.5) ? `b${random.int(3)}` : null,
    ...(random.chance(0.2) && { pair: { id: channelId(random), half: random.pick([1, 2] as const) } }),
    startedUs: random.chance(0.5) ? null : 1_795_212_000_000_000,
  }
}

const MAKERS: readonly ((random: Random, id: string) => Unstamped)[] = [
  ...Array.from({ length: 5 }, () => channel),
  ...Array.from({ length: 4 }, () => dial),
  (_random, id) => ({ kind: 'ringing', id }),
  (_random, id) => ({ kind: 'ringing', id }),
  (_random, id) => ({ kind: 'up', id }),
  dialed,
  dialed,
  dialed,
  (_random, id) => ({ kind: 'called_in', id }),
  (random, id) => ({ kind: 'linked', id, linkedId: linkedIdOf(random) }),
  (random, id) => ({ kind: 'extension_changed', id, extension: random.pick(['s', '101', '600', '*8', '701', '']) }),
  (random, id) => ({ kind: 'pair', one: id, two: channelId(random) }),
  (random, source) => ({ kind: 'dial_failed', source, endpoint: endpoint(random), result: random.pick(RESULTS) }),
  bridged,
  bridged,
  (random, id) => ({ kind: 'unbridged', id, bridge: `b${random.int(3)}` }),
  (random, id) => ({ kind: 'hold', id, onHold: random.chance(0.5) }),
  (random) => ({
    kind: 'blind_transfer',
    transferer: idOrNull(random),
    transferee: idOrNull(random),
    to: random.pick(['102', '701']),
    stays: random.chance(0.1),
  }),
  (random) => ({
    kind: 'attended_transfer',
    transferers: Array.from({ length: random.int(3) }, () => channelId(random)),
    transferee: idOrNull(random),
    target: idOrNull(random),
    stays: random.chance(0.1),
    through: random.chance(0.1),
  }),
  joined,
  (random, id) => ({
    kind: 'parked',
    id,
    slot: random.pick(['701', '702']),
    parker: random.chance(0.3) ? null : endpoint(random),
    to: '700',
  }),
  (random, id) => ({
    kind: 'queue_joined',
    id,
    queue: random.pick(['sales', 'help']),
    position: random.pick([1, null]),
  }),
  (random, id) => ({
    kind: 'queue_left',
    id,
    queue: random.pick(['sales', 'help', null]),
    result: random.pick(['abandoned', 'timeout', 'other', null] as const),
    final: random.chance(0.3),
  }),
  (_random, dest) => ({ kind: 'member', dest, name: 'Ann' }),
  (_random, id) => ({ kind: 'voicemail', id }),
  (random, id) => ({ kind: 'conference', id, conference: random.pick(['r1', 'b1']) }),
  (random, id) => ({ kind: 'recording_started', id, path: random.pick([null, '/r/1.wav']) }),
  (random, id) => ({
    kind: 'recording_stopped',
    id,
    path: random.pick([null, '/r/1.wav']),
    durationMs: random.pick([null, 1_500]),
    kept: random.chance(0.8),
  }),
  (_random, id) => ({ kind: 'recording_path', id, path: '/r/2.wav' }),
  (_random, id) => ({ kind: 'variable', id, name: '__proto__', value: 'v' }),
  (_random, id) => ({ kind: 'hangup_requested', id }),
  ...Array.from({ length: 6 }, () => hangup),
  (random) => ({ kind: 'connected', first: random.chance(0.2), boot: random.pick([null, 'one', 'two']) }),
  () => ({ kind: 'disconnected' }),
  (random) => ({
    kind: 'snapshot',
    channels: Array.from({ length: random.int(4) }, () => snapshotChannel(random)),
    uncertain: random.chance(0.1) ? [channelId(random)] : [],
  }),
  () => ({ kind: 'tick' }),
]

const randomSignal = (random: Random): Unstamped => random.pick(MAKERS)(random, channelId(random))

function channel(random: Random, id: string): Unstamped {
  return {
    kind: 'channel',
    id,
    linkedId: random.chance(0.2) ? null : random.chance(0.5) ? id : linkedIdOf(random),
    endpoint: endpoint(random),
    dialledNumber: random.pick(NUMBERS),
    originated: random.chance(0.2),
    shown: random.pick(NUMBERS),
  }
}

function dial(random: Random, dest: string): Unstamped {
  return {
    kind: 'dial_begin',
    source: idOrNull(random),
    dest,
    endpoint: endpoint(random),
    shown: random.pick(NUMBERS),
    place: random.pick([null, null, '600', '*8']),
    // No further draws: the seeds of earlier faults would give other streams.
    placeFollows: /[24]$/.test(dest),
    forwarded: dest.endsWith('3'),
    forConference: random.chance(0.05),
    ...(random.chance(0.3) && { byQueue: random.chance(0.5) }),
  }
}

function dialed(random: Random, dest: string): Unstamped {
  return {
    kind: 'dial_end',
    source: idOrNull(random),
    dest,
    result: random.pick(RESULTS),
    forwardedTo: random.pick([null, '103']),
    ...(random.chance(0.1) && { amends: true }),
    ...(random.chance(0.1) && { unseen: true }),
  }
}

function bridged(random: Random, id: string): Unstamped {
  return {
    kind: 'bridged',
    id,
    bridge: `b${random.int(3)}`,
    conference: random.chance(0.15),
    holding: random.chance(0.1),
  }
}

function joined(random: Random, id: string): Unstamped {
  const into = channelId(random)
  // Not used: without this draw, the seeds of earlier faults would give other streams.
  random.chance(0.2)
  return { kind: 'joined', id, into }
}

function hangup(random: Random, id: string): Unstamped {
  return {
    kind: 'hangup',
    id,
    end: {
      code: random.pick([null, 16, 17, 1, 26]),
      result: random.pick(RESULTS),
      withdrawn: random.chance(0.4),
      mayTransfer: random.chance(0.3),
      forwardedTo: random.pick([null, '103']),
    },
  }
}
