import { expect, test } from 'bun:test'
import { newStepRequests } from '../../src/flows/step-request.ts'
import { newGuardedRequests } from '../../src/outbound/guarded-request.ts'
import { allowing } from '../deliveries/run/rig.ts'

test('an answer that is wanted and trickles: the attempt lasts until it is given up', async () => {
  const timeoutMs = 400
  using server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => new Response(new ReadableStream({ start: (controller) => controller.enqueue('{"id":') })),
  })
  const send = newStepRequests(newGuardedRequests({ allow: allowing('loopback'), timeoutMs }))
  const answer = await send({
    url: `http://127.0.0.1:${server.port}/`,
    method: 'POST',
    headers: {},
    contentType: 'application/json',
    body: '{}',
    isAnswerWanted: true,
    group: undefined,
  })
  expect(answer).toMatchObject({ failure: { kind: 'unreachable' } })
  // Times are rounded to milliseconds, twice.
  expect(answer.durationMs).toBeGreaterThanOrEqual(timeoutMs - 2)
})
