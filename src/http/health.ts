import { Elysia } from 'elysia'
import { Fault } from '../lib/fault.ts'
import type { Store } from '../store/store.ts'
import { accepts } from './accepts.ts'
import { Nothing, responses, success } from './envelope.ts'

/** The disk is checked at most once in this time, however often clients ask. */
const FRESH_MS = 1_000

/**
 * Creates `GET /health`: 200 when the service can write to its store, else 503. It needs no token, so it reveals
 * nothing else.
 */
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
        throw new Fault('unavailable', 'Cannot write to the store. Deliveries are paused and will resume.', { cause })
      }
      return success(
        [],
        nearlyFull() ? 'The service is healthy, but its disk is nearly full.' : 'The service is healthy.',
      )
    },
    {
      response: responses(Nothing),
      detail: {
        summary: 'Is the service healthy?',
        description: '200 while this service can write to its store, else 503. For load balancers and monitoring.',
        tags: ['Operation'],
      },
    },
  )
}
