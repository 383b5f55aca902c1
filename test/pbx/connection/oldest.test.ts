import { expect, test } from 'bun:test'
import { dropOldest } from '../../../src/pbx/connection/oldest.ts'

test('of channels whose ends are not reported, the newest stay', () => {
  const channels = new Map<string, number>()
  for (let at = 0; at < 10; at += 1) {
    dropOldest(channels, 4)
    channels.set(`c${at}`, at)
  }
  expect([...channels.keys()]).toEqual(['c6', 'c7', 'c8', 'c9'])
})
