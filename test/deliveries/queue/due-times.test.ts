import { expect, test } from 'bun:test'
import {
  type Backlog,
  createBacklogs,
  needsLoad,
  noteChanged,
  noteDeleted,
  noteEndedOfCall,
  noteEvicted,
  noteRetriesRead,
  noteRetry,
  noteStored,
  noteSuperseded,
  noteUnread,
  noteUntriedRead,
  setStrict,
} from '../../../src/deliveries/queue/backlog.ts'
import { createDueTimes } from '../../../src/deliveries/queue/due-times.ts'
import { deliveryOf } from '../../help/deliveries.ts'
import { seededRandom } from '../../help/seed.ts'

test('items are taken when they are due, the earliest first, each at its earliest time', () => {
  const random = seededRandom(7)
  const times = createDueTimes<number>()
  const planned = new Map<number, number>()
  for (let step = 0; step < 5_000; step += 1) {
    const [item, dueUs] = [random.int(50), random.int(1_000)]
    if (random.chance(0.1)) {
      times.remove(item)
      planned.delete(item)
    } else if (random.chance(0.8)) {
      times.plan(item, dueUs)
      planned.set(item, Math.min(planned.get(item) ?? dueUs, dueUs))
    } else {
      const taken = times.take(dueUs)
      const due = [...planned].filter(([, at]) => at <= dueUs)
      expect(taken.toSorted()).toEqual(due.map(([found]) => found).toSorted())
      const order = taken.map((found) => planned.get(found) ?? 0)
      expect(order).toEqual(order.toSorted((one, other) => one - other))
      for (const found of taken) planned.delete(found)
    }
  }
})

test('the backlogs that are due are those that need a load, whatever has happened to them', () => {
  const random = seededRandom(7)
  const backlogs = createBacklogs()
  let nowUs = 0
  const changes: readonly ((backlog: Backlog) => void)[] = [
    noteStored,
    noteChanged,
    noteSuperseded,
    noteDeleted,
    (backlog) => noteRetry(backlog, nowUs + random.int(100)),
    (backlog) => noteRetriesRead(backlog, random.chance(0.5) ? undefined : nowUs + random.int(100)),
    (backlog) => noteUntriedRead(backlog, { lastId: 1, hasMore: random.chance(0.3) }),
    (backlog) => noteEvicted(backlog, deliveryOf({ id: 5, dueSteadyUs: nowUs + random.int(100) })),
    (backlog) => noteEvicted(backlog, deliveryOf({ id: 5 })),
    (backlog) => void setStrict(backlog, random.chance(0.5)),
    (backlog) => noteEndedOfCall(backlog, 'a'),
    (backlog) => noteUnread(backlog, ['b']),
    ({ nextOf }) => nextOf.clear(),
    (backlog) => backlogs.remove(backlog),
  ]
  for (let step = 0; step < 5_000; step += 1) {
    random.pick(changes)(backlogs.of(random.int(20)))
    nowUs += random.int(10)
    if (random.chance(0.5)) continue
    const wanted = [...backlogs.all()].filter((backlog) => needsLoad(backlog, nowUs))
    expect(new Set(backlogs.due(nowUs))).toEqual(new Set(wanted))
  }
})

test('10,000 webhooks with nothing to load are not gone over', () => {
  const backlogs = createBacklogs()
  let read = 0
  for (let webhookId = 1; webhookId <= 10_000; webhookId += 1) {
    const backlog = backlogs.of(webhookId)
    noteUntriedRead(backlog, { lastId: 0, hasMore: false })
    noteRetriesRead(backlog, webhookId === 7 ? 1_000 : undefined)
  }
  // The first one takes off the agenda what creating them had put on it.
  expect(backlogs.due(0)).toEqual([])
  for (const backlog of backlogs.all()) {
    const { hasMore } = backlog
    const counted = () => {
      read += 1
      return hasMore
    }
    Object.defineProperty(backlog, 'hasMore', { get: counted })
  }
  expect(backlogs.due(999)).toEqual([])
  expect(read).toBe(0)
  expect(backlogs.due(1_000).map(({ webhookId }) => webhookId)).toEqual([7])
  expect(read).toBe(1)
})
