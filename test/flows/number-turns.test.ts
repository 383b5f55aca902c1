import { describe, expect, test } from 'bun:test'
import { OWNS_EVERYTHING } from '../../src/cluster/ownership.ts'
import type { LoadedDelivery } from '../../src/deliveries/queue/delivery.ts'
import type { CallEvent } from '../../src/events/bodies.ts'
import { createNumberTurns } from '../../src/flows/number-turns.ts'
import { flowOfPreset } from '../../src/flows/setup/flow-option.ts'
import { createStepRenderer } from '../../src/flows/step-renderer.ts'
import { newStepRequests } from '../../src/flows/step-request.ts'
import { createFlowTurns, type FlowWebhook } from '../../src/flows/turn.ts'
import { nowUs } from '../../src/lib/time.ts'
import { newGuardedRequests } from '../../src/outbound/guarded-request.ts'
import type { FlowProgress, KeptValues } from '../../src/store/operations/flows.ts'
import { allowing } from '../deliveries/run/rig.ts'
import { usersOf } from '../help/crm/check.ts'
import { startOdoo } from '../help/crm/odoo.ts'
import { authorizerOf, openAnyRecording, presetOptionsOf } from '../help/crm/preset-options.ts'
import type { CrmStub } from '../help/crm/server.ts'
import { situationOf } from '../help/crm/situations.ts'
import { STUBS } from '../help/crm/stubs.ts'
import { TEMPLATES } from '../help/templates.ts'

const never = (): Promise<void> => Promise.reject(new Error('nothing has to pause'))
const placeOf = (key: string, deliveryId = 1) => ({ key, deliveryId })

describe('the turns of a number', () => {
  test('come one after the other, also after an error; other numbers do not wait', async () => {
    const turns = createNumberTurns({ nowUs: () => 0, pause: never })
    const begun: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const first = turns.run(placeOf('a'), async () => {
      begun.push('first')
      await promise
      throw new Error('no answer')
    })
    const second = turns.run(placeOf('a'), async () => void begun.push('second'))
    await turns.run(placeOf('b'), async () => void begun.push('other'))
    expect(begun).toEqual(['first', 'other'])
    resolve()
    await expect(first).rejects.toThrow('no answer')
    await second
    expect(begun).toEqual(['first', 'other', 'second'])
  })

  test('know what was noted, for some minutes', async () => {
    let atUs = 0
    const turns = createNumberTurns({ nowUs: () => atUs, pause: never })
    const known = (key: string) => turns.run(placeOf(key), async ({ known }) => known)
    turns.note('a', 7)
    expect([await known('a'), await known('b')]).toEqual([7, undefined])
    atUs = 299_999_999
    turns.note('b', 8)
    expect([await known('a'), await known('b')]).toEqual([7, 8])
    atUs = 300_000_000
    expect([await known('a'), await known('b')]).toEqual([undefined, 8])
  })

  test('after a lost request, each other call looks once, when the CRM has had its time', async () => {
    let atUs = 0
    const paused: number[] = []
    const pause = async (ms: number) => {
      paused.push(ms)
      atUs += ms * 1_000
    }
    const turns = createNumberTurns({ nowUs: () => atUs, pause })
    const isInDoubt = (key: string, delivery: number) =>
      turns.run(placeOf(key, delivery), async (state) => state.isInDoubt)
    expect(await isInDoubt('a', 1)).toBe(false)
    turns.noteDoubt(placeOf('a', 1))
    atUs = 1_000_000
    expect(await isInDoubt('b', 2)).toBe(false)
    // The one whose request was lost looks by itself.
    expect(await isInDoubt('a', 1)).toBe(false)
    expect(paused).toEqual([])
    expect(await isInDoubt('a', 2)).toBe(true)
    expect(paused).toEqual([4_000])
    expect([await isInDoubt('a', 2), await isInDoubt('a', 3), await isInDoubt('a', 3)]).toEqual([false, true, false])
    expect(paused).toEqual([4_000])
    turns.note('a', 7)
    expect(await isInDoubt('a', 4)).toBe(false)
    // A contact that was created is found at once.
    turns.noteCreated(placeOf('c', 1))
    expect([await isInDoubt('c', 1), await isInDoubt('c', 2), await isInDoubt('c', 2)]).toEqual([false, true, false])
    expect(paused).toEqual([4_000])
  })
})

/** Returns the events of three calls of an unknown number, which differ in their ids alone. */
function threeCalls(): readonly (readonly CallEvent[])[] {
  const { events } = situationOf('asterisk/a-inbound-answered')
  const number = events[0]?.body.data.call.from.number ?? ''
  return ['1', '2', '3'].map((last) =>
    events.map((event): CallEvent => {
      const { callId } = event
      return JSON.parse(
        JSON.stringify(event)
          .replaceAll(callId, `${callId.slice(0, -1)}${last}`)
          .replaceAll(event.id, `${event.id.slice(0, -1)}${last}`)
          .replaceAll(number, '+4930777'),
      )
    }),
  )
}

const deliveryOf = ({ callId, id: uuid, name: event, body }: CallEvent, id: number): LoadedDelivery => ({
  id,
  accountId: 1,
  webhookId: 1,
  callId,
  event,
  uuid,
  body: JSON.stringify(body),
  atUs: 1,
  generation: 1,
  sinceUs: 1,
  tries: 0,
  attemptsMade: 0,
  dueUs: undefined,
  phase: 'in flight',
  state: 'pending',
  plan: 'schedule',
  hadTrial: false,
})

type Calls = readonly (readonly CallEvent[])[]

/**
 * Returns a function that plays calls at the same time: each turn is made for all of them at once. It returns the steps
 * that have created contacts.
 */
function playerOf(stub: CrmStub, name: string): (calls: Calls) => Promise<readonly string[]> {
  const all = threeCalls().flat()
  const { preset, whole } = presetOptionsOf(stub, name, all)
  const users = usersOf(stub, all)
  const flow = flowOfPreset(preset, { ...whole.parameters, users })
  const webhook: FlowWebhook = {
    id: 1,
    accountId: 1,
    url: stub.url,
    flow,
    renderer: createStepRenderer(TEMPLATES, { accountId: 1, purpose: 'sending' }),
    headers: {},
    secrets: [],
    sign: () => 'v1,x',
    signStream: async () => 'v1,x',
  }
  const progress = new Map<number, FlowProgress>()
  const kept = new Map<string, KeptValues>()
  const makeTurn = createFlowTurns({
    ownership: OWNS_EVERYTHING,
    flows: {
      flowBegin: async () => {},
      flowGet: async ({ deliveryId }) => ({ progress: progress.get(deliveryId) ?? {}, kept }),
    },
    events: { eventListOfCall: async () => [] },
    send: newStepRequests(newGuardedRequests({ allow: allowing('loopback'), timeoutMs: 3_600_000 })),
    authorizer: authorizerOf(stub),
    openRecording: openAnyRecording,
    nowUs,
  })
  let lastId = 0
  const created: string[] = []
  const play = async (delivery: LoadedDelivery): Promise<boolean> => {
    const { outcome, turn } = await makeTurn(webhook, delivery, {})
    expect(['advanced', 'delivered', 'skipped']).toContain(outcome.kind)
    progress.set(delivery.id, turn?.progress ?? {})
    kept.set(delivery.callId, { ...kept.get(delivery.callId), ...turn?.kept })
    created.push(
      ...(turn?.attempts ?? []).flatMap(({ step, status }) =>
        status !== null && step !== undefined && flow.inTurn.has(step.name) ? [step.name] : [],
      ),
    )
    return outcome.kind === 'advanced'
  }
  const asked = new Set<string>(preset.events)
  return async (calls) => {
    const before = created.length
    const count = Math.min(...calls.map((events) => events.length))
    for (let at = 0; at < count; at += 1) {
      let open = calls.flatMap((events) => {
        const event = events[at]
        return event === undefined || !asked.has(event.name) ? [] : [deliveryOf(event, ++lastId)]
      })
      while (open.length > 0) {
        const advanced = await Promise.all(open.map(play))
        open = open.filter((_, index) => advanced[index])
      }
    }
    return created.slice(before)
  }
}

/** The presets that create contacts by a request of their own. */
const CREATING = STUBS.flatMap(({ label, preset, start }) => {
  const stub = start()
  stub.stop()
  const { preset: found } = presetOptionsOf(stub, preset, [])
  return found.steps.some(({ inTurn, again }) => inTurn !== undefined && again != null)
    ? [[label, preset, start] as const]
    : []
})

test('every preset that has the parameter for contacts takes turns', () => {
  const taking = STUBS.filter(({ start, preset }) => {
    const stub = start()
    stub.stop()
    return presetOptionsOf(stub, preset, []).preset.steps.some(({ inTurn }) => inTurn !== undefined)
  }).map(({ label }) => label)
  // An amoCRM lead has its call: each call needs its own.
  expect(taking).toEqual(STUBS.map(({ label }) => label).filter((label) => !/^(journal|amoCRM)/.test(label)))
})

test.each(CREATING)(
  '%s: three calls of an unknown number at the same time create one contact',
  async (_, name, start) => {
    const stub = start()
    try {
      const created = await playerOf(stub, name)(threeCalls())
      expect(created).toHaveLength(1)
      expect(stub.refusals).toEqual([])
      expect(stub.calls().map(({ number }) => number)).toEqual(['+4930777', '+4930777', '+4930777'])
    } finally {
      stub.stop()
    }
  },
)

test.each(['json2', 'rpc'] as const)(
  'Odoo (%s): a call after its new contact was deleted has another one',
  async (version) => {
    const stub = startOdoo(version)
    try {
      const play = playerOf(stub, 'odoo')
      const [first = [], second = [], third = []] = threeCalls()
      expect(await play([first])).toHaveLength(1)
      stub.deleteContacts()
      expect(await play([second])).toHaveLength(1)
      expect(await play([third])).toHaveLength(0)
      expect(stub.refusals).toEqual([])
      expect(stub.calls()).toHaveLength(2)
    } finally {
      stub.stop()
    }
  },
)
