import { describe, expect, test } from 'bun:test'
import { createInbox } from '../../../src/pbx/connection/inbox.ts'

/** An inbox of numbers, pumped by a session: odd ones are sheddable, and its turns run only when the test lets them. */
function inboxOf(capacity: number) {
  const handled: number[] = []
  const turns: (() => void)[] = []
  const inbox = createInbox<number>({
    maxBytes: capacity,
    isSheddable: (entry) => entry % 2 === 1,
    defer: (run) => void turns.push(run),
  })
  const pump = async (): Promise<void> => {
    for (let entries = await inbox.next(); entries.length > 0; entries = await inbox.next()) handled.push(...entries)
  }
  const runAll = async (): Promise<void> => {
    await Promise.resolve()
    while (turns.length > 0) {
      turns.shift()?.()
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
    }
  }
  const push = (entry: number): boolean => inbox.push(entry, 1)
  const pumping = pump()
  return { inbox, push, handled, runAll, pumping }
}
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

describe('the inbox', () => {
  test('hands out in order, never within push', async () => {
    const { push, handled, runAll } = inboxOf(10_000)
    for (const entry of upTo(1_000)) push(entry)
    expect(handled).toEqual([])
    await runAll()
    expect(handled).toEqual(upTo(1_000))
  })

  test('hands out nothing while paused; earlier entries come first', async () => {
    const { inbox, push, handled, runAll } = inboxOf(10)
    inbox.pause()
    push(1)
    await runAll()
    inbox.unshift(0)
    expect(handled).toEqual([])
    inbox.resume()
    await runAll()
    expect(handled).toEqual([0, 1])
  })

  test('hands out nothing before all pauses are over', async () => {
    const { inbox, push, handled, runAll } = inboxOf(10)
    inbox.pause()
    inbox.pause()
    push(1)
    inbox.resume()
    await runAll()
    expect(handled).toEqual([])
    inbox.resume()
    await runAll()
    expect(handled).toEqual([1])
  })

  test('when full it drops sheddable entries, once until it was empty, then new ones, and counts them', async () => {
    const { inbox, push, handled, runAll } = inboxOf(10)
    expect(upTo(30).filter(push)).toEqual(upTo(15))
    expect(inbox.dropped()).toBe(5 + 15)
    await runAll()
    expect(handled).toEqual([0, 2, 4, 6, 8, 10, 11, 12, 13, 14])
    for (const entry of upTo(11)) push(entry)
    expect(inbox.dropped()).toBe(20 + 5)
  })

  test('accepts entries without a size, such as the place of a snapshot, also when it is full', () => {
    const { inbox, push } = inboxOf(2)
    for (const entry of [0, 2, 4]) push(entry)
    expect(inbox.push(6)).toBe(true)
    expect(inbox.waiting()).toEqual([0, 2, 6])
  })

  test('is bounded by bytes, and counts its entries', () => {
    const intake = { waiting: 0 }
    const inbox = createInbox<number>({ maxBytes: 1_000, isSheddable: () => false, intake, defer: () => {} })
    for (const entry of upTo(9)) inbox.push(entry, 100)
    expect(inbox.push(9, 200)).toBe(false)
    expect(intake.waiting).toBe(9)
    expect(inbox.dropped()).toBe(1)
    inbox.push(10, 100)
    expect(intake.waiting).toBe(10)
    inbox.unshift(11)
    expect(intake.waiting).toBe(11)
    expect(inbox.drain()).toHaveLength(11)
    expect(intake.waiting).toBe(0)
  })

  test('drain removes all entries, also when paused, and stop ends the pump', async () => {
    const { inbox, push, handled, runAll, pumping } = inboxOf(10)
    inbox.pause()
    for (const entry of upTo(5)) push(entry)
    inbox.stop()
    await runAll()
    await pumping
    expect(handled).toEqual([])
    expect(inbox.drain()).toEqual(upTo(5))
  })
})

test('what an entry takes beside its bytes counts too: many small ones do not fill the memory', () => {
  const inbox = createInbox<number>({ isSheddable: () => false, maxBytes: 100, entryBytes: 9, defer: () => {} })
  for (let at = 0; at < 50; at += 1) inbox.push(at, 1)
  expect(inbox.waiting()).toHaveLength(10)
  expect(inbox.dropped()).toBe(40)
  inbox.drain()
  inbox.push(50, 1)
  expect(inbox.waiting()).toEqual([50])
})

test('there is room while few entries wait, and always before the first is asked for, and while paused', async () => {
  const inbox = createInbox<number>({ isSheddable: () => false, aheadBytes: 100, defer: () => {} })
  const waits = (): boolean => inbox.room() !== undefined
  // A session that still waits for the first lists takes nothing.
  inbox.push(0, 1_000)
  expect(waits()).toBe(false)
  inbox.drain()
  void inbox.next()
  inbox.push(0, 99)
  expect(waits()).toBe(false)
  inbox.push(1, 1)
  const room = inbox.room()
  expect(room).toBeDefined()
  inbox.pause()
  await room
  expect(waits()).toBe(false)
  inbox.resume()
  const later = inbox.room()
  expect(later).toBeDefined()
  inbox.drain()
  await later
  inbox.push(2, 100)
  const last = inbox.room()
  inbox.stop()
  await last
  expect(waits()).toBe(false)
})

test('what was handed out is not kept, although the inbox is never empty', async () => {
  let kept = 0
  const registry = new FinalizationRegistry(() => {
    kept -= 1
  })
  const turns: (() => void)[] = []
  const inbox = createInbox<object>({ isSheddable: () => false, defer: (run) => void turns.push(run) })
  const push = (): void => {
    const entry = {}
    registry.register(entry, undefined)
    kept += 1
    inbox.push(entry, 1)
  }
  push()
  for (let round = 0; round < 20; round += 1) {
    for (let count = 0; count < 256; count += 1) push()
    const next = inbox.next()
    turns.shift()?.()
    await next
  }
  expect(inbox.size()).toBe(1)
  for (let round = 0; round < 20 && kept > 512; round += 1) {
    Bun.gc(true)
    await new Promise((resolve) => void setImmediate(resolve))
  }
  expect(kept).toBeLessThanOrEqual(512)
})
