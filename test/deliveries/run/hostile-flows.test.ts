import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test'
import type { NewStep } from '../../../src/flows/model.ts'
import { until } from '../../help/receiver.ts'
import { newFlowRig } from './flow-rig.ts'

// Callers, CRMs and owners of flows who mean harm, or are only careless.

type Got = { path: string; query: URLSearchParams; headers: Record<string, string>; body: string }
let got: Got[] = []
let answer: (request: Got, count: number) => Response | Promise<Response>
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  maxRequestBodySize: 64 * 1024 * 1024,
  async fetch(request) {
    const { pathname: path, searchParams: query } = new URL(request.url)
    const one = { path, query, headers: Object.fromEntries(request.headers), body: await request.text() }
    got.push(one)
    return await answer(one, got.length)
  },
})
const CRM = `http://127.0.0.1:${server.port}/rest`
const open: AsyncDisposable[] = []
beforeEach(() => {
  got = []
  answer = () => Response.json({ id: 7 })
})
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]()
})
afterAll(() => server.stop(true))

async function start(options: Parameters<typeof newFlowRig>[0] = {}) {
  const rig = await newFlowRig(options)
  open.push(rig)
  await rig.setUrls(CRM)
  return rig
}
const step = (name: string, more: Partial<NewStep> = {}): NewStep => ({ name, on: ['call_ended'], url: name, ...more })
const named = (name: string) => (data: { call: Record<string, unknown> }) => {
  data.call.from = { ...(data.call.from as object), name }
}

const NAMES = [
  'O"Hara \\ ',
  'a\r\nX-Evil: 1\r\n\r\nPOST / HTTP/1.1',
  '","admin":true,"x":"',
  '</name><admin>1</admin>&amp;',
  'a&admin=1#x?y=/../%2e%2e/',
  '{{ parameters.secret }}{% raw %}',
  '\u0000\u0007\u2028\u202e😀Ünïcödé',
  '%0d%0aX-Evil:%201',
]

test.each(NAMES)('the name of a caller is a value, wherever it stands: %j', async (name) => {
  const rig = await start()
  const WHO = '{{ data.call.from.name }}'
  await rig.setFlow(CRM, {
    steps: [
      step('json', { body: `{"who":"${WHO}","whole":{{ data.call.from.name | json }}}`, headers: { 'X-Who': WHO } }),
      step('form', { body: `who=${WHO}&end=1`, content_type: 'application/x-www-form-urlencoded' }),
      step('xml', { body: `<who>${WHO}</who>`, content_type: 'text/xml' }),
      step('url', { method: 'GET', url: `who/${WHO}/x?who=${WHO}&end=1` }),
    ],
    parameters: { secret: 'not for callers' },
  })
  const { state, attempts } = await rig.ended(await rig.event('call_ended', 'one', named(name)))
  expect([state, attempts.map(({ error }) => error)]).toEqual(['delivered', [null, null, null, null]])
  const [json, form, xml, url] = got
  expect(JSON.parse(json?.body ?? '')).toEqual({ who: name, whole: name })
  expect(Object.fromEntries(new URLSearchParams(form?.body))).toEqual({ who: name, end: '1' })
  expect(xml?.body.match(/<|>/g)).toHaveLength(4)
  expect(Object.fromEntries(url?.query ?? [])).toEqual({ who: name, end: '1' })
  expect(url?.path.split('/')).toHaveLength(5)
  for (const { headers } of got) expect(headers['x-evil']).toBeUndefined()
  expect(json?.headers['x-who']).toMatch(/^[ -~]*$/)
  expect(JSON.stringify(got)).not.toContain('not for callers')
})

test('an answer that nests without an end is kept as nothing, and harms nobody', async () => {
  const rig = await start()
  answer = ({ path }) =>
    new Response(path.endsWith('deep') ? '['.repeat(250_000) : `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`)
  await rig.setFlow(CRM, { steps: [step('deep', { keep: { x: '/0/0' } }), step('object', { keep: { y: '/a/a' } })] })
  const { state, attempts } = await rig.ended(await rig.event('call_ended', 'one'))
  expect(state).toBe('delivered')
  expect(attempts.map(({ step: one }) => one?.kept)).toEqual([[], []])
})

test('names of JavaScript are names like any other', async () => {
  const rig = await start()
  answer = () => new Response('{"constructor":"c","__proto__":{"polluted":true}}')
  const first = step('constructor', { keep: { constructor: '/constructor', proto: '/__proto__/polluted' } })
  const after = step('after', { needs: ['constructor'], body: '"{{ kept.constructor }}"' })
  await rig.setFlow(CRM, { steps: [first, after] })
  expect((await rig.ended(await rig.event('call_ended', 'one'))).state).toBe('delivered')
  expect(got.at(-1)?.body).toBe('"c"')
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
})

test('many steps for many elements are each made once', async () => {
  const rig = await start()
  const elements = JSON.stringify(Array.from({ length: 12 }, (_, at) => at))
  const steps = Array.from({ length: 20 }, (_, at) => step(`s${at}`, { each: elements, body: '{{ item }}' }))
  await rig.setFlow(CRM, { steps })
  const { state, attemptsMade } = await rig.ended(await rig.event('call_ended', 'one'))
  expect([state, attemptsMade]).toEqual(['delivered', 240])
  const made = got.map(({ path, body }) => `${path} ${body}`)
  expect(new Set(made).size).toBe(240)
})

test('an upload to a CRM that takes nothing ends after its time, and its recording is closed', async () => {
  let closed = 0
  const bytes = new Uint8Array(60_000)
  const rig = await start({
    scheduleMs: [],
    requestMs: 50,
    openRecording: async () => ({
      size: bytes.length,
      mediaType: 'audio/wav',
      read: () => new Blob([bytes]).stream(),
      close: async () => {
        closed += 1
      },
    }),
  })
  answer = () => new Promise(() => {})
  await rig.setFlow(CRM, { steps: [step('attach', { on: ['recording_saved'], upload: 'recording' })] })
  const { state, attempts } = await rig.ended(await rig.event('recording_saved', 'one'))
  expect(state).toBe('failed')
  expect(attempts[0]?.error).toMatch(/^no answer within/)
  expect(closed).toBe(1)
})

test('a recording that breaks off is a failed attempt', async () => {
  const rig = await start({
    scheduleMs: [],
    openRecording: async () => ({
      size: 1_000,
      mediaType: 'audio/wav',
      read: () =>
        new ReadableStream({
          pull(controller) {
            controller.error(new Error('the PBX went away'))
          },
        }),
      close: async () => {},
    }),
  })
  await rig.setFlow(CRM, { steps: [step('attach', { on: ['recording_saved'], upload: { field: 'file' } })] })
  const { state, attempts } = await rig.ended(await rig.event('recording_saved', 'one'))
  expect([state, attempts[0]?.error]).toEqual(['failed', 'the recording: its file cannot be read to its end'])
  expect(got).toEqual([])
})

test('a stop does not wait for an upload that hangs, and it does not count', async () => {
  const bytes = new Uint8Array(40_000_000)
  const rig = await start({
    openRecording: async () => ({
      size: bytes.length,
      mediaType: 'audio/wav',
      read: () => new Blob([bytes]).stream(),
      close: async () => {},
    }),
  })
  answer = () => new Promise(() => {})
  await rig.setFlow(CRM, { steps: [step('attach', { on: ['recording_saved'], upload: 'recording' })] })
  const id = await rig.event('recording_saved', 'one')
  await until('the upload is taken', () => got.length === 1)
  await rig.dispatcher.stop()
  expect(await rig.delivery(id)).toMatchObject({ state: 'pending', attemptsMade: 0, attempts: [] })
})
