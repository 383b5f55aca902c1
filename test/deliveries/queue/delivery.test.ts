import { describe, expect, test } from 'bun:test'
import {
  beginAttempt,
  cancelAttempt,
  endAttempt,
  endFailedProbe,
  evict,
  finishRecording,
  type LoadedDelivery,
  newDelivery,
  planAfterRecording,
  requeue,
} from '../../../src/deliveries/queue/delivery.ts'
import { deliveryOf } from '../../help/deliveries.ts'
import { seededRandom } from '../../help/seed.ts'

const RETRY = { state: 'pending', dueUs: 5 } as const
const NOW = { superseded: false, webhookDown: false, maySchedule: true }

/** The moves of a delivery, by their names in the tables. */
const MOVES = {
  'its attempt begins': beginAttempt,
  'nothing was sent': cancelAttempt,
  'its attempt succeeds': (delivery: LoadedDelivery) => endAttempt(delivery, { state: 'delivered' }),
  'its attempt fails': (delivery: LoadedDelivery) => endAttempt(delivery, RETRY),
  'its last attempt fails': (delivery: LoadedDelivery) => endAttempt(delivery, { state: 'failed' }),
  'its probe fails': (delivery: LoadedDelivery) => endFailedProbe(delivery, { expired: false }),
  'its probe fails and it is too old': (delivery: LoadedDelivery) => endFailedProbe(delivery, { expired: true }),
  'it is recorded': (delivery: LoadedDelivery) => finishRecording(delivery, NOW),
  'it is recorded while its webhook is down': (delivery: LoadedDelivery) =>
    finishRecording(delivery, { ...NOW, webhookDown: true }),
  'it is recorded and no more may be scheduled': (delivery: LoadedDelivery) =>
    finishRecording(delivery, { ...NOW, maySchedule: false }),
  'it is recorded, and its row was changed meanwhile': (delivery: LoadedDelivery) =>
    finishRecording(delivery, { ...NOW, superseded: true }),
  'it is due': requeue,
  'it is evicted': evict,
  'its webhook goes down': (delivery: LoadedDelivery) => planAfterRecording(delivery, 'queue'),
  'its row may have changed': (delivery: LoadedDelivery) => planAfterRecording(delivery, 'reload'),
} as const
type Move = keyof typeof MOVES

/** Returns a delivery after these moves. */
function after(...moves: readonly Move[]): LoadedDelivery {
  const delivery = deliveryOf({ id: 7 })
  for (const move of moves) MOVES[move](delivery)
  return delivery
}

const SENT = ['its attempt begins', 'its attempt succeeds'] as const
const FAILED = ['its attempt begins', 'its attempt fails'] as const
const SCHEDULED = [...FAILED, 'it is recorded'] as const
/** The shortest way to each phase. */
type Phase = LoadedDelivery['phase']
const WAYS: Readonly<Record<Phase, readonly Move[]>> = {
  queued: [],
  'in flight': ['its attempt begins'],
  recording: FAILED,
  scheduled: SCHEDULED,
  done: [...SENT, 'it is recorded'],
  evicted: ['it is evicted'],
}

describe('a delivery', () => {
  test.each<[readonly Move[], Phase]>([
    [[], 'queued'],
    [['its attempt begins'], 'in flight'],
    [['its attempt begins', 'nothing was sent'], 'queued'],
    [[...SENT], 'recording'],
    [[...SENT, 'it is recorded'], 'done'],
    [[...SENT, 'it is recorded while its webhook is down'], 'done'],
    [['its attempt begins', 'its last attempt fails', 'it is recorded'], 'done'],
    [SCHEDULED, 'scheduled'],
    [[...SCHEDULED, 'it is due'], 'queued'],
    [[...FAILED, 'it is recorded while its webhook is down'], 'queued'],
    [[...FAILED, 'it is recorded and no more may be scheduled'], 'evicted'],
    [[...FAILED, 'it is recorded, and its row was changed meanwhile'], 'evicted'],
    [[...SENT, 'it is recorded, and its row was changed meanwhile'], 'evicted'],
    [['its attempt begins', 'its probe fails', 'it is recorded while its webhook is down'], 'queued'],
    // It was never tried, as far as its schedule goes: there is nothing to wait for.
    [['its attempt begins', 'its probe fails', 'it is recorded'], 'queued'],
    [['its attempt begins', 'its probe fails and it is too old', 'it is recorded while its webhook is down'], 'done'],
    [['it is evicted'], 'evicted'],
    [[...SCHEDULED, 'it is evicted'], 'evicted'],
    [['its attempt begins', 'it is evicted'], 'in flight'],
    [['its attempt begins', 'it is evicted', 'nothing was sent'], 'evicted'],
    [['its attempt begins', 'it is evicted', 'its attempt fails'], 'recording'],
    [['its attempt begins', 'it is evicted', 'its attempt fails', 'it is recorded'], 'evicted'],
    [['its attempt begins', 'it is evicted', 'its attempt succeeds', 'it is recorded'], 'done'],
    [[...FAILED, 'it is evicted', 'it is recorded while its webhook is down'], 'evicted'],
    // It came up again before the outcome was recorded: the delivery is sent with the others, due or not.
    [[...FAILED, 'its webhook goes down', 'it is recorded'], 'queued'],
    [[...FAILED, 'its row may have changed', 'it is recorded'], 'evicted'],
    [[...FAILED, 'its row may have changed', 'it is recorded while its webhook is down'], 'queued'],
    [[...FAILED, 'its webhook goes down', 'its row may have changed', 'it is recorded'], 'queued'],
    [[...FAILED, 'its webhook goes down', 'it is evicted', 'it is recorded'], 'evicted'],
    [[...FAILED, 'it is evicted', 'its webhook goes down', 'it is recorded'], 'evicted'],
    [[...SENT, 'its webhook goes down', 'it is recorded'], 'done'],
  ])('%j: it is %s', (moves, phase) => {
    expect(after(...moves).phase).toBe(phase)
  })

  test('is queued from the commit that stored it, on its first schedule', () => {
    const event = {
      id: 3,
      accountId: 2,
      uuid: 'u',
      callId: 'c',
      name: 'call_started',
      sequence: 1,
      atUs: 10,
      sinceSteadyUs: 20,
      body: '{}',
      deliveries: [],
    } as const
    const delivery = newDelivery(event, { id: 384, webhookId: 9 })
    expect(delivery).toMatchObject({ id: 384, webhookId: 9, accountId: 2, sinceUs: 20, generation: 1, phase: 'queued' })
    expect(delivery.dueUs).toBeUndefined()
  })

  test('counts an attempt, and is due when its policy decides; a failed probe counts nothing', () => {
    expect(after(...FAILED)).toMatchObject({ tries: 1, attemptsMade: 1, dueUs: 5, state: 'pending' })
    expect(after('its attempt begins', 'its probe fails')).toMatchObject({
      tries: 0,
      attemptsMade: 0,
      state: 'pending',
    })
    expect(after('its attempt begins', 'its probe fails').dueUs).toBeUndefined()
    expect(after('its attempt begins', 'nothing was sent')).toMatchObject({ tries: 0, attemptsMade: 0 })
  })
})

/** The phases from which each move is allowed. */
const LEGAL: Readonly<Record<Move, readonly Phase[]>> = {
  'its attempt begins': ['queued'],
  'nothing was sent': ['in flight'],
  'its attempt succeeds': ['in flight'],
  'its attempt fails': ['in flight'],
  'its last attempt fails': ['in flight'],
  'its probe fails': ['in flight'],
  'its probe fails and it is too old': ['in flight'],
  'it is recorded': ['recording'],
  'it is recorded while its webhook is down': ['recording'],
  'it is recorded and no more may be scheduled': ['recording'],
  'it is recorded, and its row was changed meanwhile': ['recording'],
  'it is due': ['scheduled'],
  'it is evicted': ['queued', 'in flight', 'recording', 'scheduled'],
  'its webhook goes down': ['recording'],
  'its row may have changed': ['recording'],
}
const names = Object.keys(MOVES) as Move[]
const phases = Object.keys(WAYS) as Phase[]
const ILLEGAL = names.flatMap((move) =>
  phases.filter((phase) => !LEGAL[move].includes(phase)).map((phase) => [move, phase] as const),
)

describe('an illegal move throws and changes nothing', () => {
  test.each(ILLEGAL)('%s, but it is %s', (move, phase) => {
    const delivery = after(...WAYS[phase])
    const before = { ...delivery }
    expect(() => MOVES[move](delivery)).toThrow('delivery 7')
    expect(delivery).toEqual(before)
  })
})

test('in 10,000 random games a delivery makes every legal move, no other, and ends for good', () => {
  const random = seededRandom(20_261_122)
  const seen = new Set<string>()
  for (let game = 0; game < 10_000; game += 1) {
    const delivery = deliveryOf({ id: 7 })
    let attempts = 0
    for (let turn = 0; turn < 12; turn += 1) {
      const move = random.pick(names)
      const before = { ...delivery }
      if (!LEGAL[move].includes(before.phase)) {
        expect(() => MOVES[move](delivery)).toThrow()
        expect(delivery).toEqual(before)
        continue
      }
      MOVES[move](delivery)
      seen.add(`${before.phase} → ${delivery.phase}`)
      if (/attempt (fails|succeeds)/.test(move)) attempts += 1
      expect(delivery.attemptsMade).toBe(attempts)
      // An eviction that was asked for is never lost, but to the end of the delivery.
      if (before.plan === 'evict' && !['in flight', 'recording'].includes(delivery.phase))
        expect(['evicted', 'done']).toContain(delivery.phase)
      if (delivery.phase === 'scheduled') expect(delivery.dueUs).toBeDefined()
      if (delivery.phase === 'done') expect(delivery.state).not.toBe('pending')
    }
  }
  expect([...seen].toSorted()).toEqual([
    'in flight → evicted',
    'in flight → in flight',
    'in flight → queued',
    'in flight → recording',
    'queued → evicted',
    'queued → in flight',
    'recording → done',
    'recording → evicted',
    'recording → queued',
    'recording → recording',
    'recording → scheduled',
    'scheduled → evicted',
    'scheduled → queued',
  ])
})
