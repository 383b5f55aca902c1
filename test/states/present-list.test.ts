import { expect, test } from 'bun:test'
import { listOf } from '../../src/states/api/present-list.ts'
import type { Present } from '../../src/states/board/subject.ts'

const since = '2026-11-20T22:16:40.000000Z'
const phone = (extension: string): Present => ({
  kind: 'phone',
  state: { extension, name: null, state: 'registered', since, device: 'idle', contacts: 1 },
})
const agent = (queue: string, extension: string): Present => ({
  kind: 'agent',
  state: { extension, queue, state: 'available', reason: null, since },
})
const queue = (name: string): Present => ({
  kind: 'queue',
  state: { queue: name, waiting: 0, longest_wait: 0, available: 0, busy: 0, paused: 0 },
  waitingSinceUs: null,
})

test('phones are in order of number, those without one behind them in order of name', () => {
  const given = ['desk-10', '1000', '99', 'anna', '101', 'desk-9', '007'].map(phone)
  const sorted = listOf('phone', [queue('sales'), ...given]).map(({ extension }) => extension)
  expect(sorted).toEqual(['007', '99', '101', '1000', 'anna', 'desk-9', 'desk-10'])
})

test('agents are in order of queue, then of number', () => {
  const given = [agent('queue10', '101'), agent('queue9', '102'), agent('queue9', '99'), agent('Sales', '100')]
  const sorted = listOf('agent', given).map((one) => `${one.queue} ${one.extension}`)
  expect(sorted).toEqual(['queue9 99', 'queue9 102', 'queue10 101', 'Sales 100'])
})

test('queues are in order of name', () => {
  const given = ['queue10', 'sales', 'queue9', '400'].map(queue)
  expect(listOf('queue', given).map((one) => one.queue)).toEqual(['400', 'queue9', 'queue10', 'sales'])
})
