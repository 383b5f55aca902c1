import { describe, expect, test } from 'bun:test'
import { createInbox } from '../../../src/pbx/connection/inbox.ts'

/** An inbox of numbers of which the even ones matter, and whose slices run when the test says. */
function inboxOf(capacity: number) {
  const handled: number[] = []
  const shed: number[] = []
  const turns: (() => void)[] = []
  const inbox = createInbox<number>({
    maxBytes: capacity,
    handle: (items) => void handled.push(...items),
    matters: (item) => item % 2 === 0,
    overrun: (count) => void shed.push(count),
    defer: (run) => void turns.push(run),
  })
  const runAll = (): void => {
    while (turns.length > 0) turns.shift()?.()
  }
  return { inbox, handled, shed, runAll }
}
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

describe('the inbox', () => {
  test('handles in order, never within push', () => {
    const { inbox, handled, runAll } = inboxOf(10_000)
    for (const item of upTo(1_000)) inbox.push(item)
    expect(handled).toEqual([])
    runAll()
    expect(handled).toEqual(upTo(1_000))
  })

  test('while held nothing is handled; what is put before comes first', () => {
    const { inbox, handled, runAll } = inboxOf(10)
    inbox.hold(true)
    inbox.push(1)
    runAll()
    inbox.unshift(0)
    expect(handled).toEqual([])
    inbox.hold(false)
    runAll()
    expect(handled).toEqual([0, 1])
  })

  test('when full it sheds what matters least, then what is new, and says so once', () => {
    const { inbox, handled, shed, runAll } = inboxOf(10)
    for (const item of upTo(30)) inbox.push(item)
    expect(shed).toEqual([5])
    runAll()
    expect(handled).toEqual([0, 2, 4, 6, 8, 10, 11, 12, 13, 14])
    for (const item of upTo(11)) inbox.push(item)
    expect(shed).toEqual([5, 5])
  })

  test('is bounded by bytes, and counts what waits', () => {
    let waiting = 0
    const shed: number[] = []
    const inbox = createInbox<number>({
      maxBytes: 1_000,
      handle: () => {},
      matters: () => true,
      overrun: (count) => void shed.push(count),
      changed: (by) => {
        waiting += by
      },
      defer: () => {},
    })
    for (const item of upTo(9)) inbox.push(item, 100)
    inbox.push(9, 200)
    expect([waiting, shed]).toEqual([9, [0]])
    inbox.push(10, 100)
    expect(waiting).toBe(10)
    inbox.unshift(11)
    expect(waiting).toBe(11)
    inbox.flush()
    expect(waiting).toBe(0)
  })

  test('flush handles all that waits, also when held', () => {
    const { inbox, handled } = inboxOf(10)
    inbox.hold(true)
    for (const item of upTo(5)) inbox.push(item)
    inbox.flush()
    expect(handled).toEqual(upTo(5))
  })
})
