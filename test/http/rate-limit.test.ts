import { expect, test } from 'bun:test'
import { createQuota } from '../../src/http/rate-limit.ts'
import { Fault } from '../../src/lib/fault.ts'
import { SECOND } from '../../src/lib/time.ts'

test('an account has a limit per minute, and learns when it may try again', () => {
  let atUs = 0
  const quota = createQuota({ limit: 3, windowUs: 60 * SECOND, now: () => atUs })
  const take = (accountId: number) => {
    try {
      quota.take(accountId)
      return 'taken'
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return `${error.status}, again in ${error.headers['retry-after']} s`
    }
  }
  expect([take(1), take(2)]).toEqual(['taken', 'taken'])
  atUs += 10 * SECOND
  expect([take(1), take(1), take(1)]).toEqual(['taken', 'taken', '429, again in 50 s'])
  expect(take(2)).toBe('taken')
  atUs += 49.5 * SECOND
  expect(take(1)).toBe('429, again in 1 s')
  atUs += SECOND
  expect([take(1), take(1)]).toEqual(['taken', '429, again in 10 s'])
})
