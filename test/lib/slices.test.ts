import { expect, test } from 'bun:test'
import { bodyInSlices, collectInSlices, takeSlice } from '../../src/lib/slices.ts'

/** Numbers that take a millisecond each, on a clock of their own. */
function slowNumbers(count: number) {
  let nowMs = 0
  let made = 0
  function* numbers() {
    for (let n = 0; n < count; n += 1) {
      nowMs += 1
      made += 1
      yield n
    }
  }
  return { numbers: numbers(), nowMs: () => nowMs, made: () => made }
}

test('a slice ends after 5 ms, and nothing beyond it was made', () => {
  const { numbers, nowMs, made } = slowNumbers(12)
  const slices = Array.from({ length: 3 }, () => takeSlice(numbers, nowMs))
  expect(slices.map(({ taken }) => taken)).toEqual([
    [0, 1, 2, 3, 4],
    [5, 6, 7, 8, 9],
    [10, 11],
  ])
  expect(slices.map(({ done }) => done)).toEqual([false, false, true])
  expect(made()).toBe(12)
})

test('a slice holds one at least, however long that takes', () => {
  let nowMs = 0
  const items = [1, 2].values().map((n) => {
    nowMs += 1_000
    return n
  })
  expect(takeSlice(items, () => nowMs)).toEqual({ taken: [1], done: false })
})

/** Items that each take longer than a slice may: so each is a slice, and others have a turn after it. */
function* heavy(count: number): Generator<string> {
  for (let n = 0; n < count; n += 1) {
    const untilMs = performance.now() + 6
    while (performance.now() < untilMs);
    yield `${n},`
  }
}

/** Counts the turns that others have until it is done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0
  let done = false
  const turn = () => {
    turns += 1
    if (!done) setImmediate(turn)
  }
  setImmediate(turn)
  await work
  done = true
  return turns
}

test.each<[string, () => Promise<unknown>]>([
  ['collecting', () => collectInSlices(heavy(10))],
  ['sending', () => new Response(bodyInSlices(heavy(10))).text()],
])('others have a turn between two slices, while %s', async (_, work) => {
  expect(await turnsDuring(work())).toBeGreaterThanOrEqual(9)
})

test('with many at a time each turn has a slice of one of them', async () => {
  const four = Promise.all(Array.from({ length: 4 }, () => collectInSlices(heavy(5))))
  expect(await turnsDuring(four)).toBeGreaterThanOrEqual(4 * 4)
})

test('nothing is lost between slices', async () => {
  expect((await collectInSlices(heavy(5))).join('')).toBe('0,1,2,3,4,')
  expect(await new Response(bodyInSlices(heavy(5))).text()).toBe('0,1,2,3,4,')
})
