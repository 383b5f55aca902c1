import { expect, test } from 'bun:test'
import type { FaultCode } from '../../../../src/lib/fault.ts'
import type { Reply } from '../../../../src/store/sqlite/engine/batch.ts'
import { type Backend, createGroupCommit, PACE_MS } from '../../../../src/store/sqlite/engine/group-commit.ts'
import type { Durability } from '../../../../src/store/sqlite/engine/mutation.ts'
import { until } from '../../../help/receiver.ts'

/** A backend that commits when the test lets it, a clock that the test moves, and the answers. */
function play() {
  const begun: { names: string[]; durability: Durability; commit: (replies?: readonly Reply[]) => void }[] = []
  const answered: string[] = []
  const clock = { nowMs: 1_000 }
  const backend: Backend = {
    run({ jobs, durability }, done) {
      const names = jobs.map(([name]) => name)
      begun.push({
        names,
        durability,
        commit: (replies = names.map((value) => ({ value }))) => {
          clock.nowMs += 1
          done(replies)
        },
      })
    },
    async stop() {},
  }
  const deadlines = new Set<() => void>()
  const after = (_: number, expired: () => void) => {
    deadlines.add(expired)
    return { cancel: () => void deadlines.delete(expired) }
  }
  const group = createGroupCommit(backend, { nowMs: () => clock.nowMs, paceMs: PACE_MS, after })
  const push = (name: string, durability: Durability) =>
    group.push({
      job: [name, undefined],
      durability,
      resolve: (value) => void answered.push(String(value)),
      reject: (error) => void answered.push(`${name}: ${error instanceof Error ? error.message : error}`),
    })
  const batch = async (at: number) => {
    await until('the batch was begun', () => begun.length > at)
    const found = begun[at]
    if (found === undefined) throw new Error('no batch')
    return found
  }
  return {
    group,
    answered,
    clock,
    /** The deadlines of the commits that run are over. */
    expire() {
      for (const expired of deadlines) expired()
    },
    batch,
    event: (name: string) => push(name, 'power cut'),
    outcome: (name: string) => push(name, 'crash'),
    /** Commits one batch and returns its durability and names. */
    async commit(at: number): Promise<readonly [Durability, string[]]> {
      const { durability, names, commit } = await batch(at)
      commit()
      return [durability, names]
    },
  }
}

test('all that is written while a commit runs shares the next', async () => {
  const { event, commit, batch, answered } = play()
  event('e1')
  await batch(0)
  event('e2')
  event('e3')
  expect(await commit(0)).toEqual(['power cut', ['e1']])
  expect(answered).toEqual(['e1'])
  expect(await commit(1)).toEqual(['power cut', ['e2', 'e3']])
  expect(answered).toEqual(['e1', 'e2', 'e3'])
})

/** Plays until a commit of outcomes has begun, while another outcome and an event wait. */
async function beginOutcomes({ event, outcome, commit, batch }: ReturnType<typeof play>): Promise<void> {
  event('e1')
  await batch(0)
  outcome('o1')
  event('e2')
  await commit(0)
  await batch(1)
  outcome('o2')
}

test('outcomes have the first turn, a commit of their own that does not wait for the disk; then the two take turns', async () => {
  const playing = play()
  const { event, commit, clock } = playing
  await beginOutcomes(playing)
  expect(await commit(1)).toEqual(['crash', ['o1']])
  event('e3')
  clock.nowMs += 10
  expect(await commit(2)).toEqual(['power cut', ['e2']])
  expect(await commit(3)).toEqual(['crash', ['o2']])
  expect(await commit(4)).toEqual(['power cut', ['e3']])
})

test('on a fast disk events do not wait for a commit of outcomes each time', async () => {
  const playing = play()
  const { event, commit, batch } = playing
  await beginOutcomes(playing)
  event('e3')
  expect(await commit(1)).toEqual(['crash', ['o1']])
  expect(await commit(2)).toEqual(['power cut', ['e2', 'e3']])
  event('e4')
  await batch(3)
  event('e5')
  expect(await commit(3)).toEqual(['power cut', ['e4']])
  expect(await commit(4)).toEqual(['crash', ['o2']])
  expect(await commit(5)).toEqual(['power cut', ['e5']])
})

test('a power cut undoes the outcomes of a tenth of a second at most', async () => {
  const { event, outcome, commit, clock } = play()
  event('e1')
  await commit(0)
  clock.nowMs += 50
  outcome('o1')
  expect(await commit(1)).toEqual(['crash', ['o1']])
  clock.nowMs += 60
  outcome('o2')
  expect(await commit(2)).toEqual(['power cut', ['o2']])
  clock.nowMs += 10
  outcome('o3')
  expect(await commit(3)).toEqual(['crash', ['o3']])
})

test('each write is answered with what came of it', async () => {
  const { event, batch, answered, group } = play()
  event('e1')
  event('e2')
  const { commit } = await batch(0)
  commit([{ value: 'done' }, { error: { message: 'no such table', stack: undefined } }])
  expect(answered).toEqual(['done', 'e2: no such table'])
  event('e3')
  const next = await batch(1)
  next.commit([])
  expect(answered[2]).toBe('e3: cannot write to the store: the thread that writes to it has ended')
  expect(group.counts).toEqual({ batches: 2, writes: 3, failed: 2, lastMs: 1, waiting: 0 })
})

test('draining waits for all that was written', async () => {
  const { event, outcome, commit, group } = play()
  outcome('o1')
  event('e1')
  let isDrained = false
  const drained = group.drained().then(() => {
    isDrained = true
  })
  await commit(0)
  expect(isDrained).toBe(false)
  await commit(1)
  await drained
  expect(isDrained).toBe(true)
})

test('commits fail while the store cannot be written, and a refused write of a client is no failure', async () => {
  const { group, event, outcome, batch, commit, clock, expire } = play()
  const faultOf = (code: FaultCode): Reply => ({ fault: { code, message: 'refused', errors: [], headers: {} } })
  event('e1')
  ;(await batch(0)).commit([faultOf('conflict')])
  expect(group.isFailing()).toBe(false)
  outcome('o1')
  ;(await batch(1)).commit([faultOf('unavailable')])
  expect(group.isFailing()).toBe(true)
  event('e2')
  await commit(2)
  expect(group.isFailing()).toBe(true)
  clock.nowMs += 100
  outcome('o2')
  await commit(3)
  expect(group.isFailing()).toBe(false)
  event('e3')
  const stuck = await batch(4)
  clock.nowMs += 4_000
  expect(group.isFailing()).toBe(false)
  expire()
  expect(group.isFailing()).toBe(true)
  stuck.commit()
  expect(group.isFailing()).toBe(false)
})
