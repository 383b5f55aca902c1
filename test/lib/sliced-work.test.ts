import { expect, test } from 'bun:test'
import { createSlicedWork } from '../../src/lib/sliced-work.ts'

/** Work on numbers, each of which takes 1 ms of a clock that no real time moves; `turn` gives it its next turn. */
function workOn(numbers: number[], fails = (_: number): boolean => false) {
  let nowMs = 0
  const turns: (() => void)[] = []
  const done: number[] = []
  const errors: string[] = []
  const work = createSlicedWork({
    *begin() {
      for (let one = numbers.shift(); one !== undefined; one = numbers.shift()) {
        nowMs += 1
        if (fails(one)) throw new Error(`no ${one}`)
        yield done.push(one)
      }
    },
    nextTurn: () => new Promise<void>((resolve) => void turns.push(resolve)),
    failed: (error) => void errors.push(String(error)),
    nowMs: () => nowMs,
  })
  return {
    work,
    done,
    errors,
    waiting: () => turns.length,
    async turn() {
      for (const resolve of turns.splice(0)) resolve()
      await Promise.resolve()
    },
  }
}

test('a slice is done at once, the rest in later turns, in order, and idle resolves after the last', async () => {
  const { work, done, waiting, turn } = workOn([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  work.request()
  expect(done).toEqual([1, 2, 3, 4, 5])
  expect(work.isIdle()).toBe(false)
  let isOver = false
  void work.idle().then(() => {
    isOver = true
  })
  work.request()
  work.requestLater()
  expect(done).toHaveLength(5)
  expect(waiting()).toBe(1)
  await turn()
  expect(done).toHaveLength(10)
  expect(isOver).toBe(false)
  await turn()
  expect(done).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  await Promise.resolve()
  expect(isOver).toBe(true)
  expect(waiting()).toBe(0)
})

test('work that may wait for its turn does', async () => {
  const { work, done, turn } = workOn([1])
  work.requestLater()
  expect(done).toEqual([])
  await turn()
  expect(done).toEqual([1])
  expect(work.isIdle()).toBe(true)
})

test('a step that fails is reported, and the rest is done when it is requested next', () => {
  const { work, done, errors } = workOn([1, 2, 3], (one) => one === 2)
  work.request()
  expect(errors).toEqual(['Error: no 2'])
  work.request()
  expect(done).toEqual([1, 3])
})

test('a step that is a promise ends the slice, and the next step waits for it and for a turn', async () => {
  const done: string[] = []
  const { promise: room, resolve: giveRoom } = Promise.withResolvers<void>()
  let giveTurn = (): void => {}
  const work = createSlicedWork({
    *begin() {
      yield done.push('first')
      yield room
      yield done.push('second')
    },
    nextTurn: () =>
      new Promise<void>((resolve) => {
        giveTurn = resolve
      }),
    failed: (error) => void done.push(String(error)),
    nowMs: () => 0,
  })
  work.request()
  work.request()
  expect(done).toEqual(['first'])
  giveTurn()
  await settled()
  expect(done).toEqual(['first'])
  giveRoom()
  await settled()
  expect(done).toEqual(['first'])
  giveTurn()
  await work.idle()
  expect(done).toEqual(['first', 'second'])
})

const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
