import type { Database } from '../db/database.ts'
import { Fault } from '../lib/fault.ts'
import { newUuid } from '../lib/id.ts'
import { type NowUs, rfc3339, SECOND, nowUs as wallUs } from '../lib/time.ts'
import type { Attempt } from './attempt.ts'
import type { Tested } from './model.ts'
import { accountName, readListed } from './receiver-store.ts'
import { failureOf, statusOf } from './schedule.ts'

type Dependencies = { readonly db: Database; readonly attempt: Attempt; readonly nowUs?: NowUs }

/**
 * Sends one signed sample request to a URL of an account's list, marked as a test; it is stored nowhere.
 * @throws Fault 422 when the URL is not in the list.
 */
export async function sendSample(deps: Dependencies, accountId: number, url: string): Promise<Tested> {
  const { db, attempt, nowUs = wallUs } = deps
  const atUs = nowUs()
  const receiver = readListed(db.read, accountId, url, atUs)
  if (receiver === undefined)
    throw new Fault('invalid', 'This URL is not in the list.', {
      errors: [{ path: '/url', message: 'is not in the list' }],
    })
  const id = newUuid(atUs)
  const time = rfc3339(atUs)
  const body = JSON.stringify({ time, data: { name: 'test', id, account: accountName(db.read, accountId) } })
  const timestampS = Math.floor(atUs / SECOND)
  const signature = receiver.sign(id, timestampS, body)
  const { outcome, durationMs, response } = await attempt({ target: receiver.target, id, timestampS, signature, body })
  return {
    status: statusOf(outcome),
    duration_ms: durationMs,
    error: failureOf(outcome),
    response,
  }
}
