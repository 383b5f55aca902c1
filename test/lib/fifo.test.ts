import { expect, test } from 'bun:test'
import { newFifo } from '../../src/lib/fifo.ts'

test('values leave in the order in which they came, also around the end of the ring and after it has grown', () => {
  const fifo = newFifo<number>()
  const expected: number[] = []
  let next = 0
  for (let round = 0; round < 50; round += 1) {
    for (let count = 0; count < 7; count += 1) {
      fifo.push(next)
      expected.push(next)
      next += 1
    }
    for (let count = 0; count < 5; count += 1) expect(fifo.shift()).toBe(expected.shift())
    expect(fifo.peek()).toBe(expected[0])
    expect(fifo.size).toBe(expected.length)
    expect(fifo.values()).toEqual(expected)
  }
})

test('a value that is put before the others leaves first, also if the ring is full or begins at its first slot', () => {
  const fifo = newFifo<number>()
  fifo.unshift(0)
  expect(fifo.values()).toEqual([0])
  for (let value = 1; value < 16; value += 1) fifo.push(value)
  fifo.unshift(-1)
  expect(fifo.values()).toEqual([-1, ...Array.from({ length: 16 }, (_, at) => at)])
  expect(fifo.shift()).toBe(-1)
  expect(fifo.shift()).toBe(0)
  expect(fifo.size).toBe(15)
})

test('an empty one has nothing', () => {
  const fifo = newFifo<number>()
  expect(fifo.shift()).toBeUndefined()
  expect(fifo.peek()).toBeUndefined()
  expect(fifo.values()).toEqual([])
  fifo.push(1)
  fifo.shift()
  expect(fifo.values()).toEqual([])
})
