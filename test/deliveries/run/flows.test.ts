import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { testFlow } from '../../../src/deliveries/log/flow-test.ts'
import { cachedWebhookOf, ownRequestsOf } from '../../../src/deliveries/sending/webhook-cache.ts'
import { EXAMPLES } from '../../../src/events/samples.ts'
import type { Authorizer } from '../../../src/flows/authorizer.ts'
import { LOOKS_FIRST, SKIPPED_BY_IF } from '../../../src/flows/flow-machine.ts'
import type { NewStep } from '../../../src/flows/model.ts'
import { newStepRequests } from '../../../src/flows/step-request.ts'
import { newGuardedRequests } from '../../../src/outbound/guarded-request.ts'
import { faultOfSigned } from '../../../src/outbound/signature.ts'
import { NO_STEP } from '../../../src/store/operations/log.ts'
import { until } from '../../help/receiver.ts'
import { TEMPLATES } from '../../help/templates.ts'
import { newFlowRig } from './flow-rig.ts'
import { ACCOUNT, allowing } from './rig.ts'

/** A request as the CRM of these tests gets it. */
type Got = { method: string; path: string; query: string; headers: Record<string, string>; body: string }
type Answers = (request: Got, count: number) => Response | Promise<Response>

let got: Got[] = []
let answer: Answers = () => Response.json({})
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  maxRequestBodySize: 64 * 1024 * 1024,
  async fetch(request) {
    const { pathname: path, search: query } = new URL(request.url)
    const headers = Object.fromEntries(request.headers)
    const one = { method: request.method, path, query, headers, body: await request.text() }
    got.push(one)
    return await answer(one, got.length)
  },
})
const CRM = `http://127.0.0.1:${server.port}/rest/key`
beforeEach(() => {
  got = []
  answer = () => Response.json({ id: 7 })
})
afterAll(() => server.stop(true))

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]()
})
async function start(options: Parameters<typeof newFlowRig>[0] = {}) {
  const rig = await newFlowRig(options)
  open.push(rig)
  await rig.setUrls(CRM)
  return rig
}

const step = (name: string, more: Partial<NewStep> = {}): NewStep => ({ name, on: ['call_ended'], url: name, ...more })
const asked = () => got.map(({ path }) => path.split('/').at(-1))
const logged = ({
  attempts,
}: {
  attempts: readonly { step?: { name: string }; status: number | null; error: string | null }[]
}) => attempts.map(({ step, status, error }) => [step?.name, status, error])

describe('a delivery of a webhook with a flow', () => {
  test('makes its steps one after the other, with kept values, and is then delivered', async () => {
    const rig = await start()
    await rig.setFlow(CRM, {
      steps: [
        step('find', {
          method: 'GET',
          url: 'contacts?phone={{ data.call.from.number }}',
          keep: { contact: '/id', name: '/name' },
        }),
        step('add', {
          url: '/v2/contacts/{{ kept.contact }}/calls',
          needs: ['contact'],
          headers: { 'X-Zone': '{{ parameters.zone }}' },
          body: '{"name":"{{ kept.name }}","id":{{ kept.contact }},"call":"{{ data.call.id }}"}',
          keep: { call: '/id' },
        }),
      ],
      parameters: { zone: 'north' },
    })
    answer = ({ path }) => Response.json(path.endsWith('/contacts') ? { id: 42, name: 'O"Hara' } : { id: 'c-1' })
    const id = await rig.event('call_ended', 'one')
    const delivery = await rig.ended(id)
    expect(delivery).toMatchObject({ state: 'delivered', attemptsMade: 2 })
    expect(got.map(({ method, path, query, body }) => [method, path, query, body])).toEqual([
      ['GET', '/rest/key/contacts', '?phone=%2B4930123456', ''],
      ['POST', '/v2/contacts/42/calls', '', '{"name":"O\\"Hara","id":42,"call":"one"}'],
    ])
    expect(got[1]?.headers).toMatchObject({ 'x-zone': 'north', 'content-type': 'application/json' })
    expect(got[0]?.headers['content-type']).toBeUndefined()
    const [{ id: webhookId = 0 } = {}] = await rig.store.webhooks.webhookListWithPending(ACCOUNT)
    const { kept } = await rig.store.flows.flowGet({ deliveryId: id, webhookId, callIds: ['one'] })
    expect(kept.get('one')).toEqual({ contact: 42, name: 'O"Hara', call: 'c-1' })
    expect(delivery.attempts).toMatchObject([
      {
        status: 200,
        response: '{"id":42,"name":"O\\"Hara"}',
        step: { name: 'find', method: 'GET', url: `${CRM}/contacts`, kept: ['contact', 'name'] },
      },
      { status: 200, step: { name: 'add', kept: ['call'] } },
    ])
  })

  test('whose preset is gone pends: nothing is sent, and no try counts', async () => {
    const rig = await start({ scheduleMs: [] })
    await rig.setFlow(CRM, { preset: 'gone', parameters: {} })
    const id = await rig.event('call_ended', 'one')
    await rig.setFlow(CRM, { steps: [step('find')] })
    expect(await rig.ended(id)).toMatchObject({ state: 'delivered', attemptsMade: 1 })
    expect(asked()).toEqual(['find'])
  })

  test('is signed, step by step', async () => {
    const rig = await start()
    await rig.setFlow(CRM, { steps: [step('one', { body: '{"a":1}' }), step('two', { method: 'GET' })] })
    const { uuid } = await rig.ended(await rig.event('call_ended', 'one'))
    const [{ secret = '' } = {}] = await rig.store.webhooks.secretList(ACCOUNT)
    for (const { headers, body } of got) {
      expect(faultOfSigned(secret, headers, body, Date.now() / 1_000)).toBeUndefined()
      expect(headers['webhook-id']).toBe(uuid)
      expect(headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    }
    expect(got).toHaveLength(2)
  })

  test("sends the headers of the webhook, and the step's headers in their place", async () => {
    const rig = await start()
    const headers = { 'X-Key': 'webhook', 'X-Other': 'other' }
    await rig.setFlow(CRM, { steps: [step('one', { headers: { 'x-key': 'step' } })] }, { headers })
    await rig.ended(await rig.event('call_ended', 'one'))
    expect(got[0]?.headers).toMatchObject({ 'x-key': 'step', 'x-other': 'other' })
  })

  test('is delivered at once if no step is for its event, and the log says so', async () => {
    const rig = await start()
    await rig.setFlow(CRM, { steps: [step('one')] })
    const delivery = await rig.ended(await rig.event('call_started', 'one'))
    expect(delivery).toMatchObject({ state: 'delivered', attempts: [{ status: null, error: NO_STEP }] })
    expect(got).toEqual([])
    expect((await rig.store.maintenance.verify()).filter((one) => !one.includes('calls'))).toEqual([])
  })

  test('skips steps by `if`, by `needs` and by an empty `each`; the log says why', async () => {
    const rig = await start()
    answer = () => Response.json({ other: 1 })
    await rig.setFlow(CRM, {
      steps: [
        step('not_inbound', { if: "{{ data.call.direction == 'nothing' }}" }),
        step('blank', { if: ' {% if data.nothing %}yes{% endif %} \n' }),
        step('find', { keep: { id: '/id' } }),
        step('needs_it', { needs: ['id'] }),
        step('for_each', { each: '[]' }),
      ],
    })
    const delivery = await rig.ended(await rig.event('call_ended', 'one'))
    expect(asked()).toEqual(['find'])
    expect(logged(delivery)).toEqual([
      ['not_inbound', null, 'skipped: its `if` is empty or `false`'],
      ['blank', null, 'skipped: its `if` is empty or `false`'],
      ['find', 200, null],
      ['needs_it', null, 'skipped: no value is kept for id'],
      ['for_each', null, 'skipped: its `each` has no elements'],
    ])
    expect(delivery).toMatchObject({ state: 'delivered', attemptsMade: 1 })
    expect((await rig.store.maintenance.verify()).filter((one) => !one.includes('calls'))).toEqual([])
  })

  test("makes a step for each element, and keeps the last element's values", async () => {
    const rig = await start()
    answer = ({ path }, count) =>
      path.endsWith('note')
        ? Response.json({})
        : count === 2
          ? new Response('', { status: 500 })
          : Response.json({ id: count })
    await rig.setFlow(CRM, {
      steps: [
        step('show', {
          each: '[{"user":"a/b"},{"user":2},{"user":3,"off":true}]',
          if: '{% unless item.off %}yes{% endunless %}',
          url: 'show/{{ item.user }}',
          keep: { id: '/id' },
        }),
        step('note', { body: '{"id":{{ kept.id }}}' }),
      ],
    })
    const delivery = await rig.ended(await rig.event('call_ended', 'one'))
    expect(got.map(({ path }) => path)).toEqual([
      '/rest/key/show/a%2Fb',
      '/rest/key/show/2',
      '/rest/key/show/2',
      '/rest/key/note',
    ])
    expect(got.at(-1)?.body).toBe('{"id":3}')
    expect(logged(delivery)).toEqual([
      ['show', 200, null],
      ['show', 500, null],
      ['show', 200, null],
      ['show', null, 'skipped: its `if` is empty or `false` (element 3 of 3)'],
      ['note', 200, null],
    ])
  })

  test('an invalid list is a failed attempt with this reason', async () => {
    const rig = await start({ scheduleMs: [] })
    await rig.setFlow(CRM, { steps: [step('one', { each: '{{ data.call | json }}' })] })
    const delivery = await rig.ended(await rig.event('call_ended', 'one'))
    expect(delivery.state).toBe('failed')
    expect(delivery.attempts).toMatchObject([{ step: { name: 'one' }, error: expect.stringMatching(/^each: .*array/) }])
    expect(got).toEqual([])
  })

  test('a result with another origin is a failed attempt, and nothing is sent', async () => {
    const rig = await start({ scheduleMs: [] })
    answer = ({ path }) => Response.json(path.endsWith('find') ? { url: 'http://localhost:1/steal' } : {})
    await rig.setFlow(CRM, {
      steps: [step('find', { keep: { url: '/url' } }), step('go', { url: '{{ kept.url | raw }}' })],
    })
    const delivery = await rig.ended(await rig.event('call_ended', 'one'))
    expect(delivery).toMatchObject({ state: 'failed' })
    expect(delivery.attempts.at(-1)?.error).toMatch(/http:\/\/localhost:1 is neither the origin/)
    expect(asked()).toEqual(['find'])
  })
})

describe('an answer', () => {
  const when = (verdict: 'done' | 'retry' | 'fail', more: object = {}) => ({ status: [409], then: verdict, ...more })
  test('other than 2xx is tried again, at the step where it was', async () => {
    const rig = await start()
    answer = (_, count) => (count === 2 ? new Response('no', { status: 404 }) : Response.json({}))
    await rig.setFlow(CRM, { steps: [step('one'), step('two'), step('three')] })
    const delivery = await rig.ended(await rig.event('call_ended', 'one'))
    expect(asked()).toEqual(['one', 'two', 'two', 'three'])
    expect(delivery).toMatchObject({ state: 'delivered', attemptsMade: 4 })
  })

  test('is done if a rule says so', async () => {
    const rig = await start({ scheduleMs: [] })
    answer = () => Response.json({ existing: 9 }, { status: 409 })
    await rig.setFlow(CRM, {
      steps: [
        step('one', { when: [when('done', { keep: { id: '/existing' } })] }),
        step('two', { needs: ['id'], when: [when('done')] }),
      ],
    })
    const delivery = await rig.ended(await rig.event('call_ended', 'one'))
    expect(logged(delivery)).toEqual([
      ['one', 409, null],
      ['two', 409, null],
    ])
    expect(delivery.state).toBe('delivered')
    expect((await rig.store.maintenance.verify()).filter((one) => !one.includes('calls'))).toEqual([])
  })

  test('ends the delivery if a rule says that it failed', async () => {
    const rig = await start()
    answer = () => Response.json({ error: 'ACCESS_DENIED' })
    await rig.setFlow(CRM, {
      steps: [step('one', { when: [{ pointer: '/error', values: ['ACCESS_DENIED'], then: 'fail' }] }), step('two')],
    })
    const delivery = await rig.ended(await rig.event('call_ended', 'one'))
    expect(delivery.state).toBe('failed')
    expect(logged(delivery)).toEqual([['one', 200, 'a rule of the step says "fail" for "ACCESS_DENIED"']])
  })

  test('does not open the circuit breaker if a rule says that it is tried again', async () => {
    const rig = await start()
    answer = (_, count) => Response.json(count < 9 ? { error: 'QUERY_LIMIT' } : {})
    await rig.setFlow(CRM, { steps: [step('one', { when: [{ pointer: '/error', then: 'retry' }] })] })
    const delivery = await rig.ended(await rig.event('call_ended', 'one'))
    expect(delivery).toMatchObject({ state: 'delivered', attemptsMade: 9 })
    expect(delivery.attempts.every(({ probe }) => !probe)).toBe(true)
  })

  test('410 fails the delivery', async () => {
    const rig = await start()
    answer = () => new Response('', { status: 410 })
    await rig.setFlow(CRM, { steps: [step('one'), step('two')] })
    expect(await rig.ended(await rig.event('call_ended', 'one'))).toMatchObject({ state: 'failed', attemptsMade: 1 })
  })

  test('5xx five times in a row opens the circuit breaker, and a probe goes on where it was', async () => {
    // While it is down a delivery fails by its age alone: it must not be older than the schedule on a slow machine.
    const rig = await start({ scheduleMs: [1, 1, 1, 1, 1, 3_600_000] })
    let isDown = true
    answer = ({ path }) => (isDown && path.endsWith('two') ? new Response('', { status: 503 }) : Response.json({}))
    await rig.setFlow(CRM, { steps: [step('one'), step('two')] })
    const id = await rig.event('call_ended', 'one')
    await until('the breaker is open', () => rig.dispatcher.down().now === 1)
    isDown = false
    const delivery = await rig.ended(id)
    expect(delivery.state).toBe('delivered')
    expect(asked().filter((one) => one === 'one')).toHaveLength(1)
    expect(rig.dispatcher.down().now).toBe(0)
  })

  const looking = (): NewStep[] => [
    step('find', { method: 'GET', keep: { call: '/found' } }),
    step('add', { if: '{% unless kept.call %}yes{% endunless %}', again: 'find', keep: { call: '/id' } }),
    step('last'),
  ]
  /** A CRM that creates a call for each request to `add`, and answers only some of them: the others get `lost`. */
  const creating = (lost: (count: number) => Response | undefined | Promise<Response | undefined>) => {
    const made: number[] = []
    answer = async ({ path }) => {
      if (path.endsWith('find')) return Response.json(made[0] === undefined ? {} : { found: made[0] })
      if (!path.endsWith('add')) return Response.json({})
      made.push(made.length + 1)
      return (await lost(made.length)) ?? Response.json({ id: made.length })
    }
    return made
  }

  test.each([
    ['lost on the way', () => new Response('', { status: 504 })],
    ['given up by the server', () => new Response('', { status: 408 })],
  ])('%s: its step looks first, and finds what was made; the log says so', async (_, lost) => {
    const rig = await start()
    const made = creating((count) => (count === 1 ? lost() : undefined))
    await rig.setFlow(CRM, { steps: looking() })
    const delivery = await rig.ended(await rig.event('call_ended', 'one'))
    expect(asked()).toEqual(['find', 'add', 'find', 'last'])
    expect(made).toHaveLength(1)
    expect(logged(delivery)).toEqual([
      ['find', 200, null],
      ['add', lost().status, null],
      ['add', null, `${LOOKS_FIRST} find`],
      ['find', 200, null],
      ['add', null, SKIPPED_BY_IF],
      ['last', 200, null],
    ])
  })

  test('too late: its step looks first, and creates if there is nothing', async () => {
    const rig = await start({ requestMs: 300 })
    let isFirst = true
    answer = async ({ path }) => {
      if (!path.endsWith('add') || !isFirst) return Response.json({ id: 7 })
      isFirst = false
      await Bun.sleep(2_000)
      return Response.json({})
    }
    await rig.setFlow(CRM, { steps: looking() })
    expect((await rig.ended(await rig.event('call_ended', 'one'))).state).toBe('delivered')
    expect(asked()).toEqual(['find', 'add', 'find', 'add', 'last'])
  })

  test('that is one, as 503 or a rule: its step is made again as it is', async () => {
    const rig = await start()
    const answers = [new Response('', { status: 503 }), new Response('', { status: 500 })]
    answer = ({ path }) => (path.endsWith('add') ? answers.shift() : undefined) ?? Response.json({ id: 7 })
    await rig.setFlow(CRM, { steps: looking() })
    await rig.ended(await rig.event('call_ended', 'one'))
    expect(asked()).toEqual(['find', 'add', 'add', 'add', 'last'])
  })

  test('came, and the delivery failed: a retry by hand looks first', async () => {
    const rig = await start()
    let isRefused = true
    answer = ({ path }) =>
      isRefused && path.endsWith('add') ? new Response('', { status: 410 }) : Response.json({ id: 7 })
    await rig.setFlow(CRM, { steps: looking() })
    const id = await rig.event('call_ended', 'one')
    expect((await rig.ended(id)).state).toBe('failed')
    isRefused = false
    await rig.store.queue.deliveryRetry({ accountId: ACCOUNT, id, nowSteadyUs: rig.clock.steadyUs() })
    rig.emitter.emit('due', [id])
    rig.wake()
    await rig.ended(id)
    expect(asked()).toEqual(['find', 'add', 'find', 'add', 'last'])
  })

  test('never came on a kept connection that was dead: nothing is sent twice', async () => {
    // A receiver whose second request on a connection is read, and answered by closing it.
    const requests: string[] = []
    using receiver = Bun.listen<{ count: number }>({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        open(socket) {
          socket.data = { count: 0 }
        },
        data(socket, bytes) {
          const [line = ''] = bytes.toString().split('\r\n')
          requests.push(line.split(' ').slice(0, 2).join(' '))
          socket.data.count += 1
          if (socket.data.count > 1) socket.terminate()
          else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
        },
      },
    })
    const rig = await newFlowRig()
    open.push(rig)
    const url = `http://127.0.0.1:${receiver.port}/rest/key`
    await rig.setUrls(url)
    await rig.setFlow(url, { steps: looking() })
    expect((await rig.ended(await rig.event('call_ended', 'one'))).state).toBe('delivered')
    expect(requests).toEqual(['GET /rest/key/find', 'POST /rest/key/add', 'POST /rest/key/last'])
  })

  test('is none where it is to be kept and breaks off', async () => {
    const rig = await start()
    answer = (_, count) => {
      if (count > 1) return Response.json({ id: 7 })
      const broken = new ReadableStream({
        async pull(controller) {
          controller.enqueue(new TextEncoder().encode('{"id":'))
          await Bun.sleep(20)
          controller.error(new Error('broken'))
        },
      })
      return new Response(broken, { headers: { 'content-type': 'application/json' } })
    }
    await rig.setFlow(CRM, { steps: [step('one', { keep: { id: '/id' } }), step('two', { needs: ['id'] })] })
    const delivery = await rig.ended(await rig.event('call_ended', 'one'))
    expect(asked()).toEqual(['one', 'one', 'two'])
    expect(delivery.attempts[0]?.error).toMatch(/the answer \(200\) broke off/)
  })

  test('ends its step, but is not kept, if it is longer than 256 KiB, endless or no JSON', async () => {
    const rig = await start()
    const endless = () =>
      new ReadableStream({
        pull(controller) {
          controller.enqueue(new Uint8Array(65_536).fill(0x20))
        },
      })
    answer = ({ path }) =>
      path.endsWith('endless')
        ? new Response(endless())
        : path.endsWith('long')
          ? Response.json({ id: 7, more: 'x'.repeat(300_000) })
          : new Response('<html>')
    const keep = { id: '/id' }
    await rig.setFlow(CRM, { steps: [step('endless', { keep }), step('long', { keep }), step('html', { keep })] })
    const delivery = await rig.ended(await rig.event('call_ended', 'one'))
    expect(delivery.state).toBe('delivered')
    expect(delivery.attempts.map(({ step, response }) => [step?.kept, response?.length])).toEqual([
      [[], 4_096],
      [[], 4_096],
      [[], 6],
    ])
  })

  test('a redirect is not followed', async () => {
    const rig = await start({ scheduleMs: [] })
    answer = () => new Response('', { status: 302, headers: { location: '/elsewhere' } })
    await rig.setFlow(CRM, { steps: [step('one')] })
    expect(await rig.ended(await rig.event('call_ended', 'one'))).toMatchObject({ state: 'failed', attemptsMade: 1 })
    expect(asked()).toEqual(['one'])
  })
})

describe('the calls of a flow', () => {
  test('have each their order and their values, and go on beside each other', async () => {
    const rig = await start()
    const waiting: (() => void)[] = []
    let most = 0
    answer = async ({ body }) => {
      const { call } = JSON.parse(body)
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        most = Math.max(most, waiting.length)
      })
      return Response.json({ id: `of ${call}` })
    }
    const body = '{"call":"{{ data.call.id }}","kept":"{{ kept.id }}"}'
    await rig.setFlow(CRM, {
      steps: [
        step('start', { on: ['call_started'], body, keep: { id: '/id' } }),
        step('end', { body }),
        step('after', { body }),
      ],
      parallel: 3,
    })
    const ids: number[] = []
    for (const call of ['a', 'b', 'c', 'd', 'e']) {
      await rig.event('call_started', call)
      ids.push(await rig.event('call_ended', call))
    }
    await until('three are in flight', () => waiting.length === 3)
    const release = setInterval(() => waiting.shift()?.(), 5)
    for (const id of ids) expect((await rig.ended(id)).state).toBe('delivered')
    clearInterval(release)
    expect(most).toBe(3)
    const byCall = Map.groupBy(got, ({ body }) => JSON.parse(body).call)
    for (const [call, requests] of byCall) {
      expect(requests.map(({ path }) => path.split('/').at(-1))).toEqual(['start', 'end', 'after'])
      expect(requests.map(({ body }) => JSON.parse(body).kept)).toEqual(['', `of ${call}`, `of ${call}`])
    }
    expect(byCall.size).toBe(5)
  })

  test('a step that fails holds back the later events of its call alone', async () => {
    const rig = await start({ scheduleMs: [1, 1, 1, 3_600_000] })
    answer = ({ body }) => (body === '"a"' ? new Response('', { status: 400 }) : Response.json({}))
    const body = '"{{ data.call.id }}"'
    await rig.setFlow(CRM, { steps: [step('start', { on: ['call_started'], body }), step('end', { body })] })
    const held = await rig.event('call_started', 'a')
    const later = await rig.event('call_ended', 'a')
    await rig.event('call_started', 'b')
    await rig.ended(await rig.event('call_ended', 'b'))
    await until('it waits for an hour', async () => (await rig.delivery(held)).attemptsMade === 4)
    expect((await rig.delivery(later)).attempts).toEqual([])
    expect(got.filter(({ body }) => body === '"b"')).toHaveLength(2)
  })

  test('give their values to the call into which they are merged', async () => {
    const rig = await start()
    answer = ({ body }) => Response.json({ id: `id of ${body}` })
    await rig.setFlow(CRM, {
      steps: [
        step('start', { on: ['call_started'], body: '"{{ data.call.id }}"', keep: { id: '/id' } }),
        step('end', { body: '{"all":{{ merged | json }},"first":"{{ merged[0].kept.id }}","own":"{{ kept.id }}"}' }),
      ],
    })
    for (const call of ['a', 'b', 'c']) await rig.ended(await rig.event('call_started', call))
    const change = (data: { call: Record<string, unknown> }) => {
      data.call.merged_from = ['c', 'unknown', 'a']
    }
    await rig.ended(await rig.event('call_ended', 'b', change))
    expect(JSON.parse(got.at(-1)?.body ?? '')).toEqual({
      all: [{ kept: { id: 'id of "c"' } }, { kept: {} }, { kept: { id: 'id of "a"' } }],
      first: 'id of "c"',
      own: 'id of "b"',
    })
  })

  test('of a preset see the call of an outside party that was joined into an internal one', async () => {
    const rig = await start()
    await rig.setFlow(CRM, { preset: 'journal' })
    await rig.ended(await rig.event('call_started', 'outside'))
    const change = (data: { call: Record<string, unknown> }) => {
      Object.assign(data.call, { direction: 'internal', merged_from: ['unknown', 'outside'] })
    }
    await rig.ended(await rig.event('call_saved', 'internal', change))
    expect(got.map(({ body }) => JSON.parse(body))).toMatchObject([{ call_id: 'outside', direction: 'inbound' }])
  })

  test('wait, from a merge on, until the deliveries of the merged call have ended', async () => {
    const rig = await start()
    const { promise: slow, resolve: answerSlow } = Promise.withResolvers<Response>()
    answer = ({ path, body }, count) => {
      if (!path.endsWith('start') || body !== '"merged"') return Response.json({ id: `${body} at ${count}` })
      return got.filter((one) => one.body === body).length === 1 ? slow : Response.json({ id: 'merged' })
    }
    await rig.setFlow(CRM, {
      steps: [
        step('start', { on: ['call_started'], body: '"{{ data.call.id }}"', keep: { id: '/id' } }),
        step('moved', { on: ['call_transferred'], body: '{"merged":"{{ merged[0].kept.id }}"}' }),
        step('end', { body: '{"of":"{{ data.call.id }}","merged":"{{ merged[0].kept.id }}"}' }),
      ],
    })
    const change = (data: { call: Record<string, unknown> }) => {
      data.call.merged_from = ['merged']
    }
    await rig.ended(await rig.event('call_started', 'older'))
    await rig.event('call_started', 'merged')
    await until('the step of the merged call is in flight', () => got.some(({ body }) => body === '"merged"'))
    await rig.event('call_attended_transferred', 'older', change)
    const last = await rig.event('call_ended', 'older', change)
    await rig.ended(await rig.event('call_ended', 'other'))
    expect(asked()).toEqual(['start', 'start', 'end'])
    // It fails, and is tried again: that is still before the events that follow the merge.
    answerSlow(new Response('', { status: 500 }))
    expect(await rig.ended(last)).toMatchObject({ state: 'delivered' })
    expect(got.slice(2).map(({ body }) => JSON.parse(body))).toEqual([
      { of: 'other', merged: '' },
      'merged',
      { merged: 'merged' },
      { of: 'older', merged: 'merged' },
    ])
  })
})

describe('an authorization', () => {
  const authorization = { kind: 'oauth2', token_url: 'https://a.example/', client_id: 'x', client_secret: 'y' } as const
  function tokens(): Authorizer & { renewed: string[]; state: { token: string; refused: number } } {
    const state = { token: 'one', refused: 0 }
    const renewed: string[] = []
    const present = () => ({ header: `Bearer ${state.token}` })
    return {
      state,
      renewed,
      async authorize() {
        if (state.refused === 0) return present()
        state.refused -= 1
        return { reason: 'the server refused it', retryAfterMs: 20 }
      },
      async renew(_, header) {
        renewed.push(header)
        state.token = 'two'
        return present()
      },
    }
  }

  test('is sent, and renewed once after a 401, and the step is repeated', async () => {
    const authorizer = tokens()
    const rig = await start({ authorizer })
    answer = ({ headers }) => Response.json({}, { status: headers.authorization === 'Bearer two' ? 200 : 401 })
    await rig.setFlow(CRM, { steps: [step('one'), step('two')], authorization })
    const delivery = await rig.ended(await rig.event('call_ended', 'one'))
    expect(delivery).toMatchObject({ state: 'delivered', attemptsMade: 3 })
    expect(logged(delivery)).toEqual([
      ['one', 401, null],
      ['one', 200, null],
      ['two', 200, null],
    ])
    expect(authorizer.renewed).toEqual(['Bearer one'])
  })

  test('fails the attempt if it is renewed and refused again', async () => {
    const rig = await start({ authorizer: tokens(), scheduleMs: [] })
    answer = () => new Response('', { status: 401 })
    await rig.setFlow(CRM, { steps: [step('one')], authorization })
    expect(await rig.ended(await rig.event('call_ended', 'one'))).toMatchObject({ state: 'failed', attemptsMade: 2 })
  })

  test('is waited for: deliveries stay pending without one, and are sent once it is there', async () => {
    const authorizer = tokens()
    authorizer.state.refused = 3
    const rig = await start({ authorizer, scheduleMs: [] })
    await rig.setFlow(CRM, { steps: [step('one')], authorization })
    const delivery = await rig.ended(await rig.event('call_ended', 'one'))
    expect(delivery).toMatchObject({ state: 'delivered', attemptsMade: 1 })
    expect(authorizer.state.refused).toBe(0)
  })
})

describe('an upload', () => {
  const sound = new Uint8Array(300_000).map((_, at) => at % 251)
  const recordings = () => {
    const state = { opened: 0, closed: 0, asked: [] as unknown[] }
    return {
      state,
      async open(...ask: unknown[]) {
        state.asked.push(ask)
        state.opened += 1
        const read = () => new Blob([sound]).stream()
        const close = async () => {
          state.closed += 1
        }
        return { size: sound.length, mediaType: 'audio/wav', read, close }
      },
    }
  }
  const upload = (more: Partial<NewStep>): NewStep => step('attach', { on: ['recording_saved'], ...more })

  test('sends the recording as the body', async () => {
    const { open, state } = recordings()
    const rig = await start({ openRecording: open })
    let received = new Uint8Array()
    await rig.setFlow(CRM, { steps: [upload({ upload: 'recording', method: 'PUT' })] })
    const taken = Bun.serve({
      port: 0,
      async fetch(request) {
        received = await request.bytes()
        return Response.json({
          length: request.headers.get('content-length'),
          type: request.headers.get('content-type'),
        })
      },
    })
    await rig.setUrls(`${taken.url}`)
    await rig.setFlow(`${taken.url}`, { steps: [upload({ upload: 'recording', method: 'PUT' })] })
    const delivery = await rig.ended(await rig.event('recording_saved', 'one'))
    taken.stop(true)
    expect(delivery).toMatchObject({
      state: 'delivered',
      attempts: [{ response: '{"length":"300000","type":"audio/wav"}' }],
    })
    expect(Buffer.compare(received, sound)).toBe(0)
    expect(state).toMatchObject({ opened: 1, closed: 1 })
    expect(state.asked).toMatchObject([[ACCOUNT, { callId: 'one' }]])
  })

  test('sends the recording as a part of a form, whose fields are templates, signed as a whole', async () => {
    const { open } = recordings()
    const rig = await start({ openRecording: open })
    let form: FormData | undefined
    let head = ''
    let fault: string | undefined = 'no request'
    const [{ secret = '' } = {}] = await rig.store.webhooks.secretList(ACCOUNT)
    const taken = Bun.serve({
      port: 0,
      async fetch(request) {
        const bytes = await request.clone().bytes()
        form = await request.formData()
        const [{ secret: own = secret } = {}] = await rig.store.webhooks.secretList(ACCOUNT)
        const text = Buffer.from(bytes).toString('latin1')
        head = text.slice(0, 1_000)
        const headers = Object.fromEntries(request.headers)
        const signed = new Bun.CryptoHasher('sha256', Buffer.from(own.slice(6), 'base64'))
        signed.update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`).update(Buffer.from(text, 'latin1'))
        fault = headers['webhook-signature'] === `v1,${signed.digest('base64')}` ? undefined : 'wrong'
        return Response.json({})
      },
    })
    await rig.setUrls(`${taken.url}`)
    const fields = { call_id: '{{ data.call.id }}', note: 'a "b"\r\n--x' }
    await rig.setFlow(`${taken.url}`, { steps: [upload({ upload: { field: 'file', fields } })] })
    const delivery = await rig.ended(await rig.event('recording_saved', 'one'))
    taken.stop(true)
    expect(delivery.state).toBe('delivered')
    expect(fault).toBeUndefined()
    expect(form?.get('call_id')).toBe('one')
    expect(form?.get('note')).toBe('a "b"\r\n--x')
    const file = form?.get('file')
    if (!(file instanceof Blob)) throw new Error('there is no file')
    expect(Buffer.compare(await file.bytes(), sound)).toBe(0)
    expect(head).toContain('content-type: audio/wav\r\n')
  })

  test('whose recording cannot be opened is a failed attempt that says so', async () => {
    const rig = await start({
      scheduleMs: [],
      openRecording: async () => {
        const { Fault } = await import('../../../src/lib/fault.ts')
        throw new Fault('not_found', 'There is no such recording.')
      },
    })
    await rig.setFlow(CRM, { steps: [upload({ upload: 'recording' })] })
    const delivery = await rig.ended(await rig.event('recording_saved', 'one'))
    expect(delivery).toMatchObject({
      state: 'failed',
      attempts: [{ error: 'the recording: There is no such recording.' }],
    })
    expect(got).toEqual([])
  })
})

describe('the pace', () => {
  test('is the smallest one among webhooks that share it, in requests', async () => {
    const rig = await start()
    const other = `${CRM}/other`
    await rig.setUrls(CRM, other)
    const flow = { steps: [step('one'), step('skipped', { if: 'false' }), step('two')] }
    await rig.setFlow(CRM, flow, { sharePace: true, maxPerSecond: 1_000 })
    await rig.setFlow(other, flow, { sharePace: true, maxPerSecond: 4 })
    const at: number[] = []
    answer = () => {
      at.push(performance.now())
      return Response.json({})
    }
    const fromMs = performance.now()
    await rig.event('call_ended', 'a')
    await rig.event('call_ended', 'b')
    await until('all eight requests came', () => at.length === 8)
    // A burst of one second, then four a second: the eighth comes a second after the beginning, at the earliest.
    expect((at[7] ?? 0) - fromMs).toBeGreaterThan(900)
  })
})

describe('an event that begins no step, while others of its webhook wait', () => {
  const BUSY = { steps: [step('one'), step('two', { on: ['call_started'], if: "{{ data.call.direction == 'x' }}" })] }
  /** Events without a request, of calls of their own: of a kind without a step, and with an `if` that is not met. */
  const others = async (rig: Awaited<ReturnType<typeof start>>) => [
    await rig.ended(await rig.event('dial_started', 'without a step')),
    await rig.ended(await rig.event('call_started', 'without a match')),
  ]
  const DELIVERED = [
    { state: 'delivered', attempts: [{ status: null, error: NO_STEP }] },
    { state: 'delivered', attempts: [{ status: null, error: SKIPPED_BY_IF }] },
  ]
  const sent = () => got.length

  test.each([
    ['the pace', { maxPerSecond: 1 }],
    ['a shared pace', { maxPerSecond: 1, sharePace: true }],
  ])('is delivered though %s allows no request', async (_, more) => {
    // The clock stands still: the pace allows one request, and no further one ever.
    const rig = await start({ steadyUs: () => 0 })
    await rig.setFlow(CRM, BUSY, more)
    await rig.ended(await rig.event('call_ended', 'first'))
    const waiting = await rig.event('call_ended', 'second')
    expect(await others(rig)).toMatchObject(DELIVERED)
    // Those of a call keep their order: this one waits for the one before it.
    const after = await rig.event('dial_started', 'second')
    expect(await others(rig)).toMatchObject(DELIVERED)
    expect([(await rig.delivery(waiting)).state, (await rig.delivery(after)).state]).toEqual(['pending', 'pending'])
    expect(sent()).toBe(1)
  })

  test('is delivered while `parallel` calls have their steps in flight', async () => {
    const rig = await start()
    const held = Promise.withResolvers<Response>()
    answer = () => held.promise
    await rig.setFlow(CRM, { ...BUSY, parallel: 1 })
    await rig.event('call_ended', 'first')
    await until('the request came', () => got.length === 1)
    await rig.event('call_ended', 'second')
    expect(await others(rig)).toMatchObject(DELIVERED)
    expect(sent()).toBe(1)
    held.resolve(Response.json({}))
  })

  test('is delivered while the webhook is down', async () => {
    const rig = await start({ steadyUs: () => 0 })
    answer = () => new Response('', { status: 500 })
    await rig.setFlow(CRM, BUSY)
    for (const call of ['a', 'b', 'c', 'd', 'e']) await rig.event('call_ended', call)
    await until('five failed', () => rig.dispatcher.down().now === 1)
    expect(await others(rig)).toMatchObject(DELIVERED)
  })

  test('is delivered while there is no authorization', async () => {
    let refusals = 0
    const refuse = async () => {
      refusals += 1
      return { reason: 'it was refused (400)', retryAfterMs: 3_600_000 }
    }
    const rig = await start({ authorizer: { authorize: refuse, renew: refuse } })
    const authorization = {
      kind: 'oauth2',
      token_url: 'https://a.example/',
      client_id: 'i',
      client_secret: 's',
    } as const
    await rig.setFlow(CRM, { ...BUSY, authorization })
    await rig.event('call_ended', 'first')
    await until('an authorization was asked for', () => refusals === 1)
    expect(await others(rig)).toMatchObject(DELIVERED)
    expect(sent()).toBe(0)
  })

  test('waits while the webhook is paused', async () => {
    const rig = await start()
    await rig.setFlow(CRM, BUSY, { paused: true })
    const ids = [await rig.event('dial_started', 'one'), await rig.event('call_started', 'two')]
    await rig.setFlow(CRM, BUSY, { paused: true, name: 'still' })
    for (const id of ids) expect((await rig.delivery(id)).state).toBe('pending')
    await rig.setFlow(CRM, BUSY)
    for (const id of ids) expect((await rig.ended(id)).state).toBe('delivered')
  })
})

const NO_TOKEN = { reason: 'no flow here has an authorization', retryAfterMs: 0 }

describe('the test of a flow', () => {
  const sample = EXAMPLES.find(({ data }) => data.name === 'call_ended')
  const options = (more: object = {}) => ({
    templates: TEMPLATES,
    send: newStepRequests(newGuardedRequests({ allow: allowing('loopback') })),
    authorizer: { authorize: async () => NO_TOKEN, renew: async () => NO_TOKEN },
    sample: { event: 'call_ended', body: JSON.stringify(sample) } as const,
    ...more,
  })
  const flow = {
    steps: [
      step('find', { method: 'GET', url: 'contacts', keep: { id: '/id' } }),
      step('ring', { on: ['dial_started'] }),
      step('add', {
        url: 'contacts/{{ kept.id }}?key={{ parameters.key }}',
        needs: ['id'],
        headers: { 'X-Key': 'top-secret' },
        body: '{"by":"{{ data.call.id }}","again":"top-secret"}',
      }),
      step('off', { if: 'false' }),
    ],
    parameters: { key: 'k' },
  }
  async function tested(how: { send: boolean }, tried: { steps: NewStep[] } = flow) {
    const rig = await start()
    await rig.setFlow(CRM, tried, { headers: { 'X-Account': 'account-secret' } })
    const webhook = await rig.store.webhooks.webhookGetByUrl(ACCOUNT, CRM)
    if (webhook === undefined) throw new Error('there is no webhook')
    const own = ownRequestsOf(webhook, { templates: TEMPLATES, purpose: 'trying' })
    const cached = cachedWebhookOf(webhook, Date.now() * 1_000, own)
    if (cached.flow === undefined) throw new Error('there is no flow')
    return { rig, steps: (await testFlow(options(), cached.flow, how)).steps }
  }

  test('renders the steps that begin when a call ends, and sends nothing', async () => {
    const { steps } = await tested({ send: false })
    expect(steps).toEqual([
      {
        step: 'find',
        method: 'GET',
        url: `${CRM}/contacts`,
        headers: ['x-account'],
        body: null,
        status: null,
        error: null,
      },
      {
        step: 'add',
        method: 'POST',
        url: `${CRM}/contacts/id?key=k`,
        headers: ['x-account', 'x-key'],
        body: `{"by":"${sample?.data.call.id}","again":"***"}`,
        status: null,
        error: null,
      },
      {
        step: 'off',
        method: 'POST',
        url: null,
        headers: [],
        body: null,
        status: null,
        error: 'skipped: its `if` is empty or `false`',
      },
    ])
    expect(got).toEqual([])
  })

  test.each([false, true])('ends when its bodies are a million characters; sent: %p', async (send) => {
    const body = `{% for i in (1..1000) %}${'x'.repeat(150)}{% endfor %}`
    const huge = step('huge', { body, content_type: 'text/plain', each: JSON.stringify(Array(50).fill(1)) })
    const { steps } = await tested({ send }, { steps: [huge] })
    expect(steps.filter((one) => one.body !== null).map((one) => one.body?.length)).toEqual(Array(7).fill(150_000))
  })

  test('sends them if it is asked to, and stores nothing', async () => {
    answer = ({ path }) => Response.json({ id: 42 }, { status: path.endsWith('42') ? 409 : 200 })
    const { rig, steps } = await tested({ send: true })
    expect(steps.map(({ step, url, status, error }) => [step, url, status, error])).toEqual([
      ['find', `${CRM}/contacts`, 200, null],
      ['add', `${CRM}/contacts/42?key=k`, 409, 'it answered 409'],
    ])
    expect(JSON.stringify(steps)).not.toMatch(/top-secret|account-secret/)
    expect(got.map(({ headers }) => headers['x-account'])).toEqual(['account-secret', 'account-secret'])
    expect(await rig.store.queue.pendingCount()).toBe(0)
  })
})
