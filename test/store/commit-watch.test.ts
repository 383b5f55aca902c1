import { expect, test } from 'bun:test'
import { createCommitWatch } from '../../src/store/commit-watch.ts'

test('commits fail from the first that fails, or has no answer for 3 s, until one succeeds or none is tried for 20 s', () => {
  let nowMs = 0
  let expire = (): void => {}
  const after = (ms: number, expired: () => void) => {
    expect(ms).toBe(3_000)
    expire = expired
    return {
      cancel() {
        expire = () => {}
      },
    }
  }
  const watch = createCommitWatch({ nowMs: () => nowMs, after, forgetMs: 20_000 })
  const seen: boolean[] = []
  const note = () => void seen.push(watch.isFailing())
  watch.begin()(true)
  note()
  watch.begin()(false)
  note()
  const ended = watch.begin()
  // The clock alone says nothing: the event loop may have been held.
  nowMs += 3_001
  note()
  expire()
  note()
  ended(true)
  nowMs += 19_999
  note()
  nowMs += 1
  note()
  expect(seen).toEqual([true, false, false, true, true, false])
})
