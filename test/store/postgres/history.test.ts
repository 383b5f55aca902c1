import { expect, test } from 'bun:test'
import { newHistory } from '../../../src/store/postgres/engine/history.ts'

/** Makes a history that has had its first connection, and counts how often it was replaced. */
function historyOf(first: string | null) {
  let replaced = 0
  let clockMs = 0
  const history = newHistory('calls on db:5432', () => clockMs)
  history.onReplaced(() => {
    replaced += 1
  })
  history.arrived(first)
  return {
    history,
    replaced: () => replaced,
    pass(ms: number): void {
      clockMs += ms
    },
  }
}

test.each([
  ['a later timeline', '7/00000001', '7/00000002'],
  ['the tenth after the ninth, which is hexadecimal', '7/00000009', '7/0000000A'],
  ['another system', '7/00000002', '8/00000001'],
  ['a later timeline, where the system may not be asked', '/00000001', '/00000002'],
])('%s replaces all connections, once', (_, before, after) => {
  const { history, replaced } = historyOf(before)
  history.arrived(before)
  expect(replaced()).toBe(0)
  history.arrived(after)
  history.arrived(after)
  expect(replaced()).toBe(1)
})

test('an earlier timeline is refused while the later one answers, and replaces it when that has been silent for 10 s', () => {
  const { history, replaced, pass } = historyOf('7/00000002')
  pass(9_000)
  history.answered()
  pass(9_999)
  expect(() => history.arrived('7/00000001')).toThrow('another one has replaced')
  expect(replaced()).toBe(0)
  pass(1)
  history.arrived('7/00000001')
  expect(replaced()).toBe(1)
})

test('a database that does not report its history is used all the same', () => {
  const { history, replaced } = historyOf(null)
  history.arrived('7/00000001')
  history.arrived(null)
  expect(replaced()).toBe(0)
})
