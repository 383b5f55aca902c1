import { expect, test } from 'bun:test'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import { newDelivery } from '../../../src/deliveries/queue/delivery.ts'
import { nextStep } from '../../../src/deliveries/queue/retry-policy.ts'
import type { Authorizer } from '../../../src/flows/authorizer.ts'
import { flowOfSteps, type NewStep, type Step, type StepEvent } from '../../../src/flows/model.ts'
import type { StepData, StepRenderer } from '../../../src/flows/step-renderer.ts'
import type { SendStep, StepAnswer } from '../../../src/flows/step-request.ts'
import { createFlowTurns, type FlowWebhook } from '../../../src/flows/turn.ts'
import type { RequestFailure } from '../../../src/outbound/guarded-request.ts'
import type { Outcome } from '../../../src/outbound/outcome.ts'
import type { FlowProgress, KeptValues } from '../../../src/store/operations/flows.ts'
import type { Random } from '../../help/random.ts'
import { playCase, seedsOf } from '../../help/seed.ts'

/**
 * Random flows against a CRM that fails, hangs, repeats, limits and expires tokens, with processes that are killed at
 * any moment. The turns, the machine and the judging of answers are real; store, CRM and renderer are in memory.
 */

const EVENTS = ['call_started', 'dial_answered', 'call_ended', 'call_saved'] as const satisfies readonly StepEvent[]

function randomFlow(random: Random): readonly NewStep[] {
  const count = 1 + random.int(6)
  return Array.from({ length: count }, (_, at): NewStep => {
    const name = `s${at}`
    const on = EVENTS.filter(() => random.chance(0.5))
    const needs = at > 0 && random.chance(0.4) ? [`of_s${random.int(at)}`] : []
    return {
      name,
      on: on.length === 0 ? [random.pick(EVENTS)] : on,
      url: name,
      needs,
      keep: random.chance(0.7) ? { [`of_${name}`]: '/id' } : {},
      ...(random.chance(0.3) ? { each: String(random.int(4)) } : {}),
      ...(random.chance(0.2) ? { if: 'false' } : {}),
      when: [
        { status: [409], then: 'done', keep: { [`of_${name}`]: '/existing' } },
        { pointer: '/error', then: 'retry' },
        { status: [422], then: 'fail' },
        { status: [403], then: 'renew' },
      ],
    }
  })
}

/** Renders the facts that the simulation checks: the call, the element and all kept values. */
const RENDERER: StepRenderer = {
  elements: async ({ each }) => ({ elements: Array.from({ length: Number(each) }, (_, at) => at) }),
  condition: async (step) => (step.if === 'false' ? { skipped: true } : { isMet: true }),
  async request(step, data) {
    if (step.if === 'false') return { skipped: true }
    return { request: { url: step.url, headers: {}, body: bodyOf(data), fields: {} } }
  },
  problems: async () => [],
}
const bodyOf = ({ body, kept, item = 0 }: StepData): string => JSON.stringify({ event: JSON.parse(body), kept, item })

type Asked = { call: string; event: number; step: string; item: number; kept: KeptValues }

async function play(random: Random): Promise<void> {
  const steps = randomFlow(random)
  const flow = flowOfSteps({
    steps: [...steps],
    authorization: { kind: 'oauth2', token_url: 'https://a.example/', client_id: 'x', client_secret: 'y' },
  })
  const world = newWorld(random)
  const webhook: FlowWebhook = {
    id: 1,
    accountId: 1,
    url: 'https://crm.example',
    flow,
    renderer: RENDERER,
    headers: {},
    secrets: [],
    sign: () => 'v1,x',
    signStream: async () => 'v1,x',
  }
  await run(world, webhook, flow.steps, random)
}

/** The CRM, the store and the tokens. */
function newWorld(random: Random) {
  const requests: (Asked & { authorization: string | undefined; processed: boolean; id: string | undefined })[] = []
  /** The objects that the CRM has created, by the request's identity: for most steps it recognizes repeats. */
  const made = new Map<string, string>()
  const store = { progress: new Map<number, FlowProgress>(), kept: new Map<string, KeptValues>() }
  let token = 1
  let ids = 0
  const authorizer: Authorizer = {
    authorize: async () => ({ header: `token ${token}` }),
    async renew(_, header) {
      if (header === `token ${token}`) token += 1
      return { header: `token ${token}` }
    },
  }
  let valid = 1
  const answered = (status: number, json: unknown): StepAnswer => ({
    status,
    json,
    retryAfterMs: status === 429 ? 5 : undefined,
    logged: null,
    durationMs: 1,
    address: null,
  })
  const failed = (reason: string): RequestFailure => ({
    failure: { kind: 'unreachable', reason },
    mayHaveBeenSent: true,
    durationMs: 1,
    address: null,
  })
  const send: SendStep = async ({ url, headers, body }) => {
    if (typeof body !== 'string') throw new Error('every step has a body')
    const { event, kept, item } = JSON.parse(body)
    const step = url.split('/').at(-1) ?? ''
    const asked = { call: event.call, event: event.number, step, item, kept, authorization: headers.authorization }
    const note = (processed: boolean, id?: string) => requests.push({ ...asked, processed, id })
    if (random.chance(0.05)) valid += 1
    if (headers.authorization !== `token ${valid}` && valid > token - 1) {
      // The token has expired, or is too old.
      if (headers.authorization !== `token ${token}` || token < valid) {
        note(false)
        return answered(random.chance(0.8) ? 401 : 403, {})
      }
    }
    const key = `${event.call} ${event.number} ${step} ${item}`
    if (random.chance(0.3)) {
      note(false)
      return random.pick([
        () => answered(500, {}),
        () => answered(503, {}),
        () => answered(429, {}),
        () => answered(404, {}),
        () => answered(200, { error: 'QUERY_LIMIT_EXCEEDED' }),
        () => failed('connection refused'),
        () => (random.chance(0.1) ? answered(422, {}) : answered(500, {})),
      ])()
    }
    const existing = made.get(key)
    if (existing !== undefined && random.chance(0.5)) {
      note(true, existing)
      return answered(409, { existing })
    }
    ids += 1
    const id = `id ${ids} of ${event.call} ${step}`
    made.set(key, id)
    // It is done, and we do not get to know.
    if (random.chance(0.1)) {
      note(true, undefined)
      return failed('no answer within 10 s')
    }
    note(true, id)
    return answered(200, random.chance(0.9) ? { id } : {})
  }
  return { requests, store, authorizer, send }
}

type World = ReturnType<typeof newWorld>
/** A delivery in the store. */
type Row = {
  readonly id: number
  readonly call: string
  readonly event: string
  tries: number
  state: 'pending' | 'delivered' | 'failed'
}

async function run(world: World, webhook: FlowWebhook, steps: readonly Step[], random: Random): Promise<void> {
  const { store, authorizer, send, requests } = world
  const calls = Array.from({ length: 1 + random.int(4) }, (_, at) => `call ${at}`)
  const rows: Row[] = []
  for (const call of calls)
    for (const event of EVENTS) rows.push({ id: rows.length + 1, call, event, tries: 0, state: 'pending' })
  const committed = new Set<string>()
  let at = 1
  const makeTurn = createFlowTurns({
    events: { eventListOfCall: async () => [] },
    ownership: OWNS_EVERYTHING,
    flows: {
      flowBegin: () => Promise.reject(new Error('no step has `again`')),
      flowGet: async ({ deliveryId, callIds }) => ({
        progress: store.progress.get(deliveryId) ?? {},
        kept: new Map(callIds.flatMap((call) => (store.kept.has(call) ? [[call, store.kept.get(call) ?? {}]] : []))),
      }),
    },
    send: async (request) => {
      const { event, item } = JSON.parse(String(request.body))
      const key = `${event.number} ${request.url.split('/').at(-1)} ${item}`
      // The first promise: a step that is done and committed is never made again.
      expect(committed.has(key)).toBe(false)
      return await send(request)
    },
    authorizer,
    openRecording: () => Promise.reject(new Error('there is no recording')),
    nowUs: () => at++,
  })

  async function turnOf(row: Row): Promise<void> {
    const body = JSON.stringify({ call: row.call, number: row.id, data: { call: { id: row.call, merged_from: [] } } })
    const stored = {
      id: 1,
      accountId: 1,
      uuid: `uuid ${row.id}`,
      callId: row.call,
      name: row.event as 'call_ended',
      atUs: 1,
      sinceSteadyUs: 1,
      body,
      deliveries: [],
    } as unknown as Parameters<typeof newDelivery>[0]
    const delivery = newDelivery(stored, { id: row.id, webhookId: 1 })
    const isTrial = random.chance(0.3)
    const requestsOfCall = () => world.requests.filter(({ call }) => call === row.call).length
    const before = requestsOfCall()
    const { outcome, turn } = await makeTurn(webhook, delivery, { isTrial })
    // A trial sends nothing, and what it has skipped counts only if that is all.
    if (isTrial) expect(requestsOfCall()).toBe(before)
    if (isTrial && outcome.kind !== 'skipped') return
    // The process is killed before the turn is committed: the store is as it was.
    if (random.chance(0.15)) return
    if (turn !== undefined) {
      for (const [name, progress] of Object.entries(turn.progress)) {
        const before = store.progress.get(row.id)?.[name]
        const from = before === undefined ? 0 : typeof before === 'object' ? before.made : Number.POSITIVE_INFINITY
        const to = typeof progress === 'object' ? progress.made : elementsOf(steps, name)
        for (let item = from; item < to; item += 1) committed.add(`${row.id} ${name} ${item}`)
      }
      store.progress.set(row.id, turn.progress)
      const before = store.kept.get(row.call) ?? {}
      store.kept.set(row.call, { ...before, ...turn.kept })
    }
    conclude(row, outcome)
  }

  function conclude(row: Row, outcome: Outcome): void {
    if (outcome.kind === 'advanced') return
    row.tries += 1
    const scheduleMs = Array.from({ length: 200 }, () => 1)
    const next = nextStep(row.tries, outcome, { nowUs: 0, random: 0.5, scheduleMs })
    row.state = next.state
  }

  for (let turns = 0; rows.some(({ state }) => state === 'pending'); turns += 1) {
    if (turns > 20_000) throw new Error('the flow does not end')
    // Strict: of a call only its first pending delivery has turns; calls go on beside each other.
    const first = calls.flatMap((call) => rows.find((row) => row.call === call && row.state === 'pending') ?? [])
    const some = first.filter(() => random.chance(0.6))
    await Promise.all(some.map(turnOf))
  }
  check(world, steps, rows)

  /** Checks the promises about all requests together. */
  function check({ requests: all }: World, ofFlow: readonly Step[], deliveries: readonly Row[]): void {
    for (const call of calls) {
      const ofCall = all.filter((one) => one.call === call)
      const places = ofCall.map(({ event, step, item }) => {
        const place = ofFlow.findIndex(({ name }) => name === step)
        return event * 10_000 + place * 100 + item
      })
      // Within a call the order is: events, then steps, then elements. Only the request in flight is repeated.
      expect(places).toEqual(places.toSorted((one, other) => one - other))
      for (const { kept } of ofCall)
        for (const [name, value] of Object.entries(kept)) {
          // Calls are never mixed, and a kept value is one that the CRM has given for this step.
          expect(String(value)).toContain(` of ${call} ${name.slice(3)}`)
        }
    }
    for (const { id, state, event } of deliveries) {
      if (state !== 'delivered') continue
      const begun = ofFlow.filter(({ on }) => (on as readonly string[]).includes(event))
      for (const { name } of begun) expect(store.progress.get(id)?.[name]).toMatch(/^(done|skipped)$/)
    }
    expect(requests).toBe(all)
  }
}

const elementsOf = (steps: readonly Step[], name: string): number => {
  const each = steps.find((one) => one.name === name)?.each ?? null
  return each === null ? 1 : Number(each)
}

test('random flows: a step that is done is never made again, no kept value is lost or mixed, every call has its order', async () => {
  for (const seed of seedsOf(4_711, 400)) {
    await playCase(seed, play).catch((error) => {
      throw new Error(`TEST_SEED=${seed} TEST_SCALE=0: ${error instanceof Error ? error.stack : error}`)
    })
  }
})
