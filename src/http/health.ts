import { Elysia } from 'elysia'
import { Fault } from '../lib/fault.ts'
import type { Store } from '../store/store.ts'
import { accepts } from './accepts.ts'
import { Nothing, responses, success } from './envelope.ts'

/** A write is tried at most once in this time, however often clients ask. */
const FRESH_MS = 1_000

/**
 * Creates `GET /health`: 200 when the service can write to its store, else 503. It needs no token, so it reveals
 * nothing else.
 */
export function healthRoutes(
  { maintenance, areCommitsFailing }: Pick<Store, 'maintenance' | 'areCommitsFailing'>,
  nearlyFull: () => boolean = () => false,
) {
  let askedMs = -FRESH_MS
  let answer: Promise<void> = Promise.resolve()

  /** Rejects when the store cannot be written. One row may find space where the batches of the service do not. */
  async function proveWritable(): Promise<void> {
    if (areCommitsFailing()) throw new Error('the last commits failed')
    const nowMs = performance.now()
    if (nowMs - askedMs >= FRESH_MS) {
      askedMs = nowMs
      answer = maintenance.writeProbe()
    }
    await answer
  }

  return new Elysia({ name: 'health', normalize: false, encodeSchema: false }).use(accepts).get(
    '/health',
    async () => {
      try {
        await proveWritable()
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
