import { Elysia } from 'elysia'
import { Fault } from '../lib/fault.ts'
import { accepts } from './accepts.ts'
import { Nothing, responses, success } from './envelope.ts'

/** `GET /health`: 200 when the service can serve and write, else 503; it says nothing else to strangers. */
export function healthRoutes(canWrite: () => Promise<boolean>) {
  return new Elysia({ name: 'health', normalize: false }).use(accepts).get(
    '/health',
    async () => {
      if (!(await canWrite())) throw new Fault('unavailable', 'The store cannot be written.')
      return success([], 'The service is well.')
    },
    { response: responses(Nothing), detail: { summary: 'Can the service serve and write?', tags: ['Operation'] } },
  )
}
