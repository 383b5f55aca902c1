import { Elysia } from 'elysia'
import { Fault } from '../lib/fault.ts'
import type { Store } from '../store/store.ts'
import { accepts } from './accepts.ts'
import { Nothing, responses, success } from './envelope.ts'

/** Strangers may ask as often as they like: the disk is asked once in this time. */
const FRESH_MS = 1_000

/** `GET /health`: 200 when the service can serve and write, else 503; it says nothing else to strangers. */
export function healthRoutes(maintenance: Store['maintenance'], nearlyFull: () => boolean = () => false) {
  let askedMs = -FRESH_MS
  let answer: Promise<void> = Promise.resolve()

  function canWrite(): Promise<void> {
    const nowMs = performance.now()
    if (nowMs - askedMs >= FRESH_MS) {
      askedMs = nowMs
      answer = maintenance.writeProbe()
    }
    return answer
  }

  return new Elysia({ name: 'health', normalize: false, encodeSchema: false }).use(accepts).get(
    '/health',
    async () => {
      try {
        await canWrite()
      } catch (cause) {
        throw new Fault('unavailable', 'The store cannot be written.', { cause })
      }
      return success([], nearlyFull() ? 'The service is well, but its disk is nearly full.' : 'The service is well.')
    },
    { response: responses(Nothing), detail: { summary: 'Can the service serve and write?', tags: ['Operation'] } },
  )
}
