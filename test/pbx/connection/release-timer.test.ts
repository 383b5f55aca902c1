import { expect, test } from 'bun:test'
import { createReleaseTimer, RELEASE_MS } from '../../../src/pbx/connection/release-timer.ts'

test.each<[string, { lateMs: number; behind: boolean }[], boolean[]]>([
  ['in time: released', [{ lateMs: 0, behind: false }], [true]],
  [
    'some events are not read yet: not before they are',
    [
      { lateMs: 0, behind: true },
      { lateMs: 0, behind: false },
    ],
    [false, true],
  ],
  [
    'the timer is late: once more, after what has come is read',
    [
      { lateMs: 500, behind: false },
      { lateMs: 0, behind: false },
    ],
    [false, true],
  ],
  [
    'the timer is always late: every other time',
    [
      { lateMs: 30, behind: false },
      { lateMs: 30, behind: false },
      { lateMs: 30, behind: false },
    ],
    [false, true, false],
  ],
])('%s', (_, calls, released) => {
  let nowMs = 1_000
  let count = 0
  let behind = false
  const timer = createReleaseTimer({ isBehind: () => behind, release: () => void count++, nowMs: () => nowMs })
  const results = calls.map((call) => {
    nowMs += RELEASE_MS + call.lateMs
    behind = call.behind
    const before = count
    timer()
    return count > before
  })
  expect(results).toEqual(released)
})
