import { expect, test } from 'bun:test'
import { createLiveTracker } from '../../../../src/calls/ingest/live-tracker.ts'
import type { Signal, SnapshotChannel } from '../../../../src/calls/signal.ts'
import { newTracker, takeChanges, track, trackSnapshot } from '../../../../src/calls/tracker/tracker.ts'
import type { CallEvent } from '../../../../src/events/bodies.ts'
import { createLog } from '../../../../src/lib/log.ts'
import { countingIds } from '../../../help/play.ts'

// The list of a busy PBX: its cost grows with its length and no faster, and it holds nobody up.

const AT_US = 1_795_213_000_000_000
const AT = { atUs: AT_US, arrivedUs: AT_US }

/** Calls between an extension and a phone, which ring. `read` is called whenever a row is looked at. */
function listOf(calls: number, read: () => void = () => {}): SnapshotChannel[] {
  return Array.from({ length: calls }, (_, call) => {
    const is = { linkedId: `a${call}`, source: null, bridge: null, startedUs: AT_US }
    const caller = { kind: 'extension', number: `${1_000 + call}`, name: null } as const
    const phone = { kind: 'extension', number: `${5_000_000 + call}`, name: null } as const
    const dialledNumber = phone.number
    return [
      { ...is, id: `a${call}`, endpoint: caller, dialledNumber, callee: false, up: true, ringing: false },
      { ...is, id: `b${call}`, endpoint: phone, dialledNumber: null, callee: true, up: false, ringing: true },
    ]
  })
    .flat()
    .map(
      (row) =>
        new Proxy(row, {
          get(target, key, receiver) {
            read()
            return Reflect.get(target, key, receiver)
          },
        }),
    )
}

const newState = () => newTracker('pbx', 'default', countingIds())
const snapshotOf = (channels: readonly SnapshotChannel[]) => ({ ...AT, kind: 'snapshot', channels }) as const

test.each(['unknown', 'known'])('a list of ten times as many %s calls costs ten times as much', (which) => {
  const costOf = (calls: number): number => {
    let reads = 0
    const state = newState()
    if (which === 'known') track(state, snapshotOf(listOf(calls)))
    const rows = listOf(calls, () => {
      reads += 1
    })
    track(state, snapshotOf(rows))
    return reads
  }
  expect(costOf(2_000) / costOf(200)).toBeLessThan(11)
})

test('a list is applied in small steps, and gives what it gives at once', () => {
  const channels = listOf(500)
  const state = newState()
  const steps = trackSnapshot(state, snapshotOf(channels))
  const sizes: number[] = []
  const events: CallEvent[] = []
  for (let step = steps.next(); step.done !== true; step = steps.next()) {
    sizes.push(step.value.length)
    events.push(...step.value)
  }
  expect(sizes.length).toBeGreaterThan(1_000)
  // Those of one call.
  expect(Math.max(...sizes)).toBe(2)
  expect(events).toEqual([...track(newState(), snapshotOf(channels)).events])
})

test('other work runs in between; the signals and ticks that come meanwhile are applied behind the list', async () => {
  const calls = 2_000
  const events: CallEvent[] = []
  const state = newState()
  let steadyUs = AT_US
  const tracker = createLiveTracker(state, {
    pbx: 'pbx',
    onEvents: (more) => void events.push(...more),
    onFault: () => expect('a fault').toBe('none'),
    log: createLog('silent'),
    nowUs: () => AT_US,
    steadyUs: () => steadyUs,
  })
  let turns = 0
  const turn = (): void => {
    turns += 1
    if (tracker.caughtUp() !== undefined) setImmediate(turn)
  }
  const end = { code: 16, result: 'other', withdrawn: false, mayTransfer: false, forwardedTo: null } as const
  const hangup = (id: string): Signal => ({ ...AT, kind: 'hangup', id, end })
  tracker.apply([{ ...AT, kind: 'connected', first: true, boot: null }, snapshotOf(listOf(calls)), hangup('b0')])
  setImmediate(turn)
  tracker.apply([hangup('a0')])
  steadyUs += 250_000
  tracker.tick()
  expect(events.length).toBeLessThan(2 * calls)
  await tracker.caughtUp()
  tracker.tick()
  expect(turns).toBeGreaterThan(2)
  const started = events.filter(({ name }) => name === 'call_started').map(({ body }) => body.data.call.from.number)
  expect(started).toEqual(Array.from({ length: calls }, (_, call) => `${1_000 + call}`))
  steadyUs += 250_000
  tracker.tick()
  const [first] = events
  expect(events.filter(({ callId }) => callId === first?.callId).map(({ name }) => String(name))).toEqual([
    'call_started',
    'dial_started',
    'dial_ended',
    'call_ended',
    'call_missed',
  ])
  await tracker.stop()
})

test('the changes of a long list are stored in parts, those of the calls that must be there first', () => {
  const state = newState()
  const { events } = track(state, snapshotOf(listOf(1_000)))
  const last = events.at(-1)?.callId ?? ''
  const { changed } = takeChanges(state, undefined, { callIds: new Set([last]), most: 100 })
  expect(changed.map(({ call }) => call.id)).toContain(last)
  expect(changed).toHaveLength(101)
  const rest = takeChanges(state).changed
  expect(new Set([...changed, ...rest].map(({ call }) => call.id)).size).toBe(1_000)
  expect(rest).toHaveLength(899)
})

test('a list that is short once the signals before it are applied holds nothing up', async () => {
  const state = newState()
  let steadyUs = AT_US
  const names: string[] = []
  const tracker = createLiveTracker(state, {
    pbx: 'pbx',
    onEvents: (more) => void names.push(...more.map(({ name }) => name)),
    onFault: () => expect('a fault').toBe('none'),
    log: createLog('silent'),
    nowUs: () => AT_US,
    steadyUs: () => steadyUs,
  })
  const end = { code: 16, result: 'other', withdrawn: false, mayTransfer: false, forwardedTo: null } as const
  const hangup = (id: string): Signal => ({ ...AT, kind: 'hangup', id, end })
  // 66 channels are a long list, and 64 are none.
  tracker.apply([{ ...AT, kind: 'connected', first: true, boot: null }, snapshotOf(listOf(33))])
  await tracker.caughtUp()
  tracker.apply([hangup('b0'), hangup('a0')])
  // The first call is saved, and forgotten, with the next signal.
  steadyUs += 250_000
  tracker.tick()
  steadyUs += 10_000_000
  expect(state.channels.size).toBe(66)
  tracker.apply([hangup('b1'), snapshotOf([])])
  await tracker.caughtUp()
  names.length = 0
  tracker.apply([hangup('a1')])
  steadyUs += 250_000
  tracker.tick()
  expect(names).toContain('call_ended')
  await tracker.stop()
})
