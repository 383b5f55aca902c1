import { expect, test } from 'bun:test'
import { OWNS_EVERYTHING } from '../../src/cluster/ownership.ts'
import type { LoadedDelivery } from '../../src/deliveries/queue/delivery.ts'
import { nextStep } from '../../src/deliveries/queue/retry-policy.ts'
import { flowOfSteps, type NewStep } from '../../src/flows/model.ts'
import type { StepRenderer } from '../../src/flows/step-renderer.ts'
import type { SendStep, StepAnswer } from '../../src/flows/step-request.ts'
import { createFlowTurns, type FlowWebhook } from '../../src/flows/turn.ts'
import type { RequestFailure } from '../../src/outbound/guarded-request.ts'
import type { FlowProgress, KeptValues } from '../../src/store/operations/flows.ts'
import type { Random } from '../help/random.ts'
import { playCase, seedsOf } from '../help/seed.ts'

/**
 * Flows that look before they create, against a CRM that recognizes no repeated request: each request that it carries
 * out makes a record. It loses answers, and processes are killed at any moment, also between a request and its answer.
 * The turns and the machine are real; store, CRM and renderer are in memory.
 */

/** A flow creates some records, each after the step that looks for it, with other steps before, between and after. */
function randomSteps(random: Random): readonly NewStep[] {
  const steps: NewStep[] = []
  const add = (step: Omit<NewStep, 'on'>) => steps.push({ on: ['call_ended'], url: step.name, ...step })
  const others = (): void => {
    for (let count = random.int(3); count > 0; count -= 1) {
      const name = `other_${steps.length}`
      add({ name, keep: { [`of_${name}`]: '/id' } })
    }
  }
  for (let records = 1 + random.int(3); records > 0; records -= 1) {
    others()
    const record = `record_${steps.length}`
    const [find, create] = [`find_${record}`, `create_${record}`]
    add({ name: find, if: record, keep: { [record]: '/id' } })
    others()
    add({ name: create, if: record, again: find, keep: { [record]: '/id' } })
  }
  others()
  return steps
}

/** Skips a step if the value that `if` names is kept. */
const RENDERER: StepRenderer = {
  elements: () => Promise.reject(new Error('no step has elements')),
  condition: async (step, { kept }) => (isKnown(step.if, kept) ? { skipped: true } : { isMet: true }),
  async request(step, { kept, body }) {
    if (isKnown(step.if, kept)) return { skipped: true }
    return { request: { url: step.url, headers: {}, body, fields: {} } }
  },
  problems: async () => [],
}
const isKnown = (name: string | null, kept: KeptValues): boolean => name !== null && Object.hasOwn(kept, name)

/** What becomes of a request: how it fails, and whether the CRM has carried it out. */
const FATES = [
  'answered',
  'answered',
  'answered',
  'refused',
  'unavailable',
  'not connected',
  'lost before',
  'lost after',
  'gateway before',
  'gateway after',
] as const
type Fate = (typeof FATES)[number]

/** After half of them the CRM answers everything, and no process is killed. */
const MOST_TURNS = 3_000

function newCrm(random: Random) {
  /** The ids of records, by delivery and name. */
  const records = new Map<string, string[]>()
  let ids = 0
  let mayFail = true
  const answered = (status: number, json: unknown): StepAnswer => {
    return { status, json, retryAfterMs: undefined, logged: null, durationMs: 1, address: null }
  }
  const failed = (reason: string, mayHaveBeenSent: boolean): RequestFailure => {
    return { failure: { kind: 'unreachable', reason }, mayHaveBeenSent, durationMs: 1, address: null }
  }
  const carryOut = (name: string, delivery: string): unknown => {
    const [, verb = '', record = ''] = /^(find|create)_(record_\d+)$/.exec(name) ?? []
    const key = `${delivery} ${record}`
    const known = records.get(key) ?? []
    if (verb === 'find') return known[0] === undefined ? {} : { id: known[0] }
    ids += 1
    const id = `id ${ids}`
    if (verb === 'create') records.set(key, [...known, id])
    return { id }
  }
  const send: SendStep = async ({ url, body }) => {
    const name = url.split('/').at(-1) ?? ''
    const delivery = String(body)
    const fate: Fate = mayFail ? random.pick(FATES) : 'answered'
    switch (fate) {
      case 'answered':
        return answered(200, carryOut(name, delivery))
      case 'refused':
        return answered(400, {})
      case 'unavailable':
        return answered(503, {})
      case 'not connected':
        return failed('connection refused', false)
      case 'lost before':
        return failed('no answer within 10 s', true)
      case 'lost after':
        carryOut(name, delivery)
        return failed('no answer within 10 s', true)
      case 'gateway before':
        return answered(504, {})
      case 'gateway after':
        carryOut(name, delivery)
        return answered(502, {})
    }
  }
  return {
    send,
    records,
    heal(): void {
      mayFail = false
    },
  }
}

async function play(random: Random): Promise<void> {
  const steps = randomSteps(random)
  const flow = flowOfSteps({ steps: [...steps] })
  const crm = newCrm(random)
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
  let progress: FlowProgress = {}
  let kept: KeptValues = {}
  const makeTurn = createFlowTurns({
    flows: {
      flowGet: async () => ({ progress, kept: new Map([['call', kept]]) }),
      flowBegin: async (begun) => {
        progress = begun.progress
      },
    },
    ownership: OWNS_EVERYTHING,
    events: { eventListOfCall: async () => [] },
    send: crm.send,
    authorizer: {
      authorize: () => Promise.reject(new Error('the flow has no authorization')),
      renew: () => Promise.reject(new Error('the flow has no authorization')),
    },
    openRecording: () => Promise.reject(new Error('there is no recording')),
    nowUs: () => 1,
  })
  let delivery = deliveryOf(1)
  for (let turns = 0; ; turns += 1) {
    // The CRM recovers in the end: every flow ends then.
    if (turns === MOST_TURNS / 2) crm.heal()
    if (turns > MOST_TURNS) throw new Error('the flow does not end')
    const { outcome, turn } = await makeTurn(webhook, delivery, {})
    // The process is killed: of its turn the store has what was committed before the request.
    if (turns < MOST_TURNS / 2 && random.chance(0.2)) continue
    if (turn !== undefined) {
      progress = turn.progress
      const rest = Object.entries(kept).filter(([name]) => !turn.forgotten.includes(name))
      kept = { ...Object.fromEntries(rest), ...turn.kept }
    }
    const { state } = nextStep(1, outcome, { nowUs: 0, random: 0.5, scheduleMs: random.chance(0.8) ? [1] : [] })
    if (state === 'delivered') break
    if (state === 'failed') delivery = deliveryOf(delivery.generation + 1)
  }
  const created = steps.filter(({ name }) => name.startsWith('create_')).map(({ name }) => name.slice('create_'.length))
  for (const record of created) {
    const ids = crm.records.get(`${BODY} ${record}`) ?? []
    expect({ record, ids: ids.length }).toEqual({ record, ids: 1 })
    expect(kept[record]).toBe(ids[0])
  }
}

const BODY = JSON.stringify({ data: { call: { id: 'call', merged_from: [] } } })
const deliveryOf = (generation: number): LoadedDelivery => ({
  id: 1,
  accountId: 1,
  webhookId: 1,
  callId: 'call',
  event: 'call_ended',
  uuid: 'uuid',
  body: BODY,
  atUs: 1,
  generation,
  sinceUs: 1,
  tries: 0,
  attemptsMade: 0,
  dueUs: undefined,
  phase: 'in flight',
  state: 'pending',
  plan: 'schedule',
  hadTrial: false,
})

test('random flows with `again`: over lost answers, kills and retries by hand, each record is created exactly once', async () => {
  for (const seed of seedsOf(1_311, 300)) {
    await playCase(seed, play).catch((error) => {
      throw new Error(`TEST_SEED=${seed} TEST_SCALE=0: ${error instanceof Error ? error.stack : error}`)
    })
  }
})
