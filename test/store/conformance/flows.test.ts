import { expect, test } from 'bun:test'
import { MILLISECOND, SECOND } from '../../../src/lib/time.ts'
import { stateNumber } from '../../../src/store/operations/delivery-state.ts'
import type { FlowTurn } from '../../../src/store/operations/flows.ts'
import type { AttemptRow } from '../../../src/store/operations/log.ts'
import { batch } from '../../help/store.ts'
import { ACCOUNT, event, idsOf, NOW, ONE, onEngines, savedCall, TWO } from './rig.ts'

const attempt = (name: string, more: Partial<AttemptRow> = {}): AttemptRow => ({
  atUs: NOW + SECOND,
  probe: false,
  status: 200,
  durationMs: 7,
  error: null,
  address: '192.0.2.1',
  response: '{"id":7}',
  step: { name, method: 'POST', url: 'https://one.example/contacts', kept: ['id'] },
  ...more,
})

onEngines('flows', ({ open }) => {
  async function begun() {
    const at = await open(ONE, TWO)
    const [delivery = 0, other = 0] = idsOf(await at.put(event('call')))
    const webhookId = await at.webhookId(ONE)
    const turn = (more: Partial<FlowTurn> = {}): FlowTurn => ({
      deliveryId: delivery,
      webhookId,
      callId: 'call',
      generation: 1,
      state: stateNumber('pending'),
      tries: 0,
      attemptsMade: 1,
      dueSteadyUs: null,
      endedUs: null,
      attempts: [attempt('find')],
      progress: { find: 'done' },
      kept: { id: 7 },
      forgotten: [],
      nowUs: NOW,
      ...more,
    })
    const { flows, log } = at.store
    const state = async (callIds = ['call'], deliveryId = delivery, of = webhookId) => {
      const { progress, kept } = await flows.flowGet({ deliveryId, webhookId: of, callIds })
      return { progress, kept: Object.fromEntries(kept) }
    }
    const shown = () => log.deliveryGet(ACCOUNT, delivery)
    return { at, delivery, other, webhookId, turn, flows, state, shown, [Symbol.asyncDispose]: at[Symbol.asyncDispose] }
  }

  test('nothing is done or kept before the first turn', async () => {
    await using begin = await begun()
    expect(await begin.state()).toEqual({ progress: {}, kept: {} })
  })

  test('a turn records its attempts, its progress and its kept values', async () => {
    await using begin = await begun()
    expect(await begin.flows.flowRecord(begin.turn())).toBe(true)
    expect(await begin.state()).toEqual({ progress: { find: 'done' }, kept: { call: { id: 7 } } })
    const delivery = await begin.shown()
    expect(delivery).toMatchObject({ state: 'pending', attemptsMade: 1, endedUs: null })
    expect(delivery?.attempts).toEqual([attempt('find')])
    expect((await begin.at.untried(ONE)).map(({ id, tries }) => [id, tries])).toEqual([[begin.delivery, 0]])
  })

  test('values are kept beside values of earlier turns, for the webhook and the call', async () => {
    await using begin = await begun()
    await begin.flows.flowRecord(begin.turn({ kept: { id: 7, name: 'Ünï 😀 "x"', vip: true } }))
    await begin.flows.flowRecord(begin.turn({ kept: { id: 8, zero: 0 }, attempts: [] }))
    await begin.flows.flowRecord(begin.turn({ kept: {}, attempts: [] }))
    await begin.flows.flowRecord(begin.turn({ kept: { id: 'other' }, callId: 'before', attempts: [] }))
    const kept = { call: { id: 8, name: 'Ünï 😀 "x"', vip: true, zero: 0 }, before: { id: 'other' } }
    expect((await begin.state(['call', 'before', 'unknown'])).kept).toEqual(kept)
    expect((await begin.state(['call'], begin.other, await begin.at.webhookId(TWO))).kept).toEqual({})
  })

  test('a request begins in the store before it is sent', async () => {
    await using begin = await begun()
    const { flows, delivery } = begin
    await flows.flowBegin({ deliveryId: delivery, progress: { find: 'done', add: { made: 0, begun: 1 } } })
    expect((await begin.state()).progress).toEqual({ find: 'done', add: { made: 0, begun: 1 } })
    await flows.flowBegin({ deliveryId: delivery, progress: { add: { made: 3, begun: 2 } } })
    expect((await begin.state()).progress).toEqual({ add: { made: 3, begun: 2 } })
    await flows.flowBegin({ deliveryId: 9_999, progress: { add: { made: 0, begun: 1 } } })
    expect((await begin.state(['call'], 9_999)).progress).toEqual({})
  })

  test('values are forgotten before others are kept', async () => {
    await using begin = await begun()
    await begin.flows.flowRecord(begin.turn({ kept: { id: 7, name: 'x', vip: true } }))
    await begin.flows.flowRecord(begin.turn({ kept: { id: 8 }, forgotten: ['id', 'name', 'other'], attempts: [] }))
    expect((await begin.state()).kept).toEqual({ call: { id: 8, vip: true } })
    await begin.flows.flowRecord(begin.turn({ kept: {}, forgotten: ['id', 'vip'], attempts: [] }))
    expect((await begin.state()).kept).toEqual({ call: {} })
    await begin.flows.flowRecord(begin.turn({ kept: {}, forgotten: ['id'], callId: 'other', attempts: [] }))
    expect((await begin.state(['other'])).kept).toEqual({ other: {} })
  })

  test('a step that was skipped has no request', async () => {
    await using begin = await begun()
    const skipped = attempt('note', {
      status: null,
      error: 'skipped',
      address: null,
      response: null,
      durationMs: 0,
      step: { name: 'note', method: null, url: null, kept: [] },
    })
    const later = attempt('find', { atUs: NOW + SECOND + 1 })
    await begin.flows.flowRecord(begin.turn({ attempts: [skipped, later] }))
    expect((await begin.shown())?.attempts).toEqual([skipped, later])
  })

  test('a turn that failed makes the delivery due, and the next one goes on where it was', async () => {
    await using begin = await begun()
    const dueSteadyUs = NOW + 5 * SECOND
    await begin.flows.flowRecord(begin.turn({ tries: 1, dueSteadyUs, progress: { find: 'done', add: { made: 2 } } }))
    const query = { webhookId: begin.webhookId, afterId: 0, exceptIds: [], dueSteadyUs, limit: 10 }
    expect(await begin.at.store.queue.deliveryGetDue(query)).toMatchObject([{ id: begin.delivery, tries: 1 }])
    expect((await begin.state()).progress).toEqual({ find: 'done', add: { made: 2 } })
  })

  test('the progress of a delivery ends with it, its values stay, and the store is whole', async () => {
    await using begin = await begun()
    await begin.flows.flowRecord(begin.turn())
    const ended = { state: stateNumber('delivered'), endedUs: NOW + SECOND, progress: { add: 'done' } } as const
    await begin.flows.flowRecord(
      begin.turn({ ...ended, attempts: [attempt('add', { status: 409, atUs: NOW + 2 * SECOND })] }),
    )
    expect(await begin.state()).toEqual({ progress: {}, kept: { call: { id: 7 } } })
    expect(await begin.shown()).toMatchObject({ state: 'delivered', endedUs: NOW + SECOND })
    const wrong = await begin.at.store.maintenance.verify()
    expect(wrong.filter((sentence) => !/^calls|\d+ calls/.test(sentence))).toEqual([])
  })

  test('a delivery that failed keeps its progress: a retry goes on where it was', async () => {
    await using begin = await begun()
    await begin.flows.flowRecord(begin.turn({ state: stateNumber('failed'), endedUs: NOW + SECOND, tries: 1 }))
    expect(await begin.shown()).toMatchObject({ state: 'failed' })
    await begin.at.store.queue.deliveryRetry({ accountId: ACCOUNT, id: begin.delivery, nowSteadyUs: NOW })
    expect((await begin.state()).progress).toEqual({ find: 'done' })
  })

  test('only steps that an earlier schedule made count, a success for the delivery too', async () => {
    await using begin = await begun()
    const failed = { state: stateNumber('failed'), endedUs: NOW + SECOND }
    await begin.flows.flowRecord(begin.turn({ ...failed, attempts: [] }))
    await begin.at.store.queue.deliveryRetry({ accountId: ACCOUNT, id: begin.delivery, nowSteadyUs: NOW })
    expect(await begin.flows.flowRecord(begin.turn({ ...failed, progress: { add: 'done' }, kept: { late: 1 } }))).toBe(
      false,
    )
    expect(await begin.shown()).toMatchObject({ state: 'pending' })
    expect(await begin.state()).toEqual({ progress: { add: 'done' }, kept: { call: { id: 7, late: 1 } } })
    const delivered = begin.turn({ state: stateNumber('delivered'), endedUs: NOW + SECOND })
    expect(await begin.flows.flowRecord(delivered)).toBe(true)
    expect(await begin.shown()).toMatchObject({ state: 'delivered' })
  })

  test('a success after the URL left its list counts', async () => {
    await using begin = await begun()
    await begin.at.setList([])
    const { queue } = begin.at.store
    await queue.deliveryCancelUnlisted({ webhookId: begin.webhookId, nowUs: NOW, limit: 10 })
    expect(await begin.shown()).toMatchObject({ state: 'cancelled' })
    expect(await begin.flows.flowRecord(begin.turn())).toBe(false)
    expect(await begin.shown()).toMatchObject({ state: 'cancelled' })
    const ended = begin.turn({ state: stateNumber('delivered'), endedUs: NOW + SECOND })
    expect(await begin.flows.flowRecord(ended)).toBe(true)
    expect(await begin.shown()).toMatchObject({ state: 'delivered' })
  })

  test('twenty probes are kept', async () => {
    await using begin = await begun()
    for (let at = 0; at < 25; at += 1) {
      const probe = attempt('find', { probe: true, status: 503, atUs: NOW + at * MILLISECOND })
      await begin.flows.flowRecord(begin.turn({ attempts: [probe], progress: {}, kept: {} }))
    }
    const times = (await begin.shown())?.attempts.map(({ atUs }) => (atUs - NOW) / MILLISECOND)
    expect(times).toEqual(Array.from({ length: 20 }, (_, at) => at + 5))
  })

  test('kept values of a call are deleted with its record, when it is erased, and after their time', async () => {
    await using begin = await begun()
    const { flows, at } = begin
    const callIds = ['call', 'old', 'erased', 'young']
    const kept = async () => Object.keys((await begin.state(callIds)).kept).toSorted()
    for (const callId of callIds)
      await flows.flowRecord(begin.turn({ callId, nowUs: callId === 'young' ? NOW + 9 : NOW, attempts: [] }))
    expect(await kept()).toEqual(callIds.toSorted())
    await at.store.calls.batchStore(batch({ saved: [savedCall('call'), savedCall('young', NOW + SECOND)] }))
    await at.store.maintenance.callErase(['erased'])
    expect(await kept()).toEqual(['call', 'old', 'young'])
    await at.store.maintenance.callPrune({ beforeUs: NOW + 1, limit: 10 })
    expect(await kept()).toEqual(['old', 'young'])
    expect(await flows.keptPrune({ beforeUs: NOW + 9, limit: 10 })).toBe(1)
    expect(await kept()).toEqual(['young'])
  })

  test('a delivery that is pending keeps nothing for a call that was erased', async () => {
    await using begin = await begun()
    await begin.flows.flowRecord(begin.turn())
    expect(await begin.at.store.maintenance.callErase(['call'])).toMatchObject({ pending: 1 })
    await begin.flows.flowRecord(begin.turn({ kept: { id: 8 }, progress: { find: 'done', add: { made: 1 } } }))
    expect(await begin.state()).toEqual({ progress: { find: 'done', add: { made: 1 } }, kept: {} })
    const ended = begin.turn({
      state: stateNumber('delivered'),
      endedUs: NOW + SECOND,
      kept: { number: '+4930123456' },
    })
    await begin.flows.flowRecord({ ...ended, attempts: [attempt('add', { atUs: NOW + 2 * SECOND })] })
    expect((await begin.state()).kept).toEqual({})
    await begin.flows.flowRecord(begin.turn({ callId: 'other' }))
    expect((await begin.state(['other'])).kept).toEqual({ other: { id: 7 } })
  })

  test('what comes of a delivery that had ended when its call was erased keeps nothing of it', async () => {
    await using begin = await begun()
    const webhookIds = [begin.webhookId, await begin.at.webhookId(TWO)]
    await begin.at.setList([])
    for (const webhookId of webhookIds)
      await begin.at.store.queue.deliveryCancelUnlisted({ webhookId, nowUs: NOW, limit: 10 })
    expect(await begin.shown()).toMatchObject({ state: 'cancelled' })
    await begin.at.store.maintenance.callErase(['call'])
    const turn = begin.turn({ state: stateNumber('delivered'), endedUs: NOW + SECOND })
    await begin.flows.flowRecord(turn)
    expect((await begin.state()).kept).toEqual({})
    const { attempts = [] } = (await begin.shown()) ?? {}
    expect(attempts.map(({ response, step }) => [response, step?.name, step?.url])).toEqual([[null, 'find', null]])
  })

  test('progress goes with its delivery', async () => {
    await using begin = await begun()
    await begin.flows.flowRecord(begin.turn({ state: stateNumber('failed'), endedUs: NOW + SECOND }))
    expect(await begin.flows.flowProgressPrune(10)).toBe(0)
    await begin.at.put(event('another'))
    const step = { afterId: 0, deliveredBeforeUs: NOW + 9 * SECOND, failedBeforeUs: NOW + 9 * SECOND, limit: 10 }
    await begin.at.store.maintenance.deliveryPrune({ ...step, nowUs: NOW + 10 * SECOND })
    expect(await begin.flows.flowProgressPrune(10)).toBe(1)
    expect((await begin.state()).progress).toEqual({})
  })
})
