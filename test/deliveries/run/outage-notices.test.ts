import { expect, test } from 'bun:test'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import { createScheduler } from '../../../src/deliveries/queue/scheduler.ts'
import { startOutageNotices } from '../../../src/deliveries/run/outage-notices.ts'
import { createLog } from '../../../src/lib/log.ts'
import type { OutageStore } from '../../../src/store/operations/outages.ts'
import type { WebhookRecord } from '../../../src/store/operations/webhooks.ts'
import { memoryOutages } from '../../help/outages.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { newRig } from './rig.ts'

test('an outage of five minutes is reported once, and its end; a shorter one is not', async () => {
  const reported: string[] = []
  let leapUs = 0
  const receiver = startReceiver(() => new Response('', { status: 500 }))
  await using rig = await newRig({
    steadyUs: () => performance.now() * 1_000 + leapUs,
    onOutage: (url, state) => void reported.push(`${state} ${url}`),
  })
  const url = `http://127.0.0.1:${receiver.port}/crm`
  await rig.setUrls(url)
  const outage = async (minutes: number, calls: string[]) => {
    receiver.answerWith(() => new Response('', { status: 500 }))
    await rig.emit(...calls)
    await until('it is down', () => rig.dispatcher.down().now === 1)
    leapUs += minutes * 60_000_000
    if (minutes >= 5) await until('the outage is reported', () => reported.length === 1)
    receiver.answerWith(() => new Response('ok'))
    leapUs += 60_000_000
    await until('it is back', () => rig.dispatcher.down().now === 0)
  }
  await outage(1, ['a', 'b', 'c', 'd', 'e'])
  expect(reported).toEqual([])
  await outage(5, ['f', 'g', 'h', 'i', 'j'])
  await until('its end is reported', () => reported.length === 2)
  expect(reported).toEqual([`down ${url}`, `up ${url}`])
  await receiver.stop()
})

/** The notices of a webhook whose circuit breaker a test opens and closes. */
function watchOne(outages = memoryOutages()) {
  const sent: string[] = []
  const state = { nowUs: 0, listed: true, checks: 0 }
  const scheduler = createScheduler()
  const list: OutageStore['outageList'] = (what) => {
    state.checks += 1
    return outages.outageList(what)
  }
  const notices = startOutageNotices({
    scheduler,
    webhooks: { urlOf: () => 'https://crm.example.com/' },
    store: {
      outages: { ...outages, outageList: list },
      webhooks: { webhookGetMany: async () => [{ id: 1, accountId: 1, listed: state.listed } as WebhookRecord] },
    },
    ownership: OWNS_EVERYTHING,
    steadyUs: () => state.nowUs,
    log: createLog('silent'),
    everyMs: 1,
    onOutage: (_, change, reason) => void sent.push(reason === undefined ? change : `${change}: ${reason}`),
  })
  return {
    sent,
    state,
    scheduler,
    outages,
    stop: notices.stop,
    pause: (paused: boolean) => scheduler.setTiming(1, { paused, maxPerSecond: null }),
    open() {
      const queue = scheduler.find(1)
      if (queue === undefined) throw new Error('it has no queue')
      Object.assign(queue.breaker, { proven: false, open: { sinceUs: state.nowUs, probeAtUs: 0, waitUs: 1 } })
    },
    works() {
      Object.assign(scheduler.find(1)?.breaker ?? {}, { proven: true, open: undefined })
    },
    /** Lets time pass, and waits until that was noticed. */
    async pass(minutes: number) {
      state.nowUs += minutes * 60_000_000
      const before = state.checks
      await until('it is checked again', () => state.checks >= before + 2)
    },
  }
}

test('a webhook that is paused is not reported as down, and has its five minutes again afterwards', async () => {
  const one = watchOne()
  one.pause(true)
  one.pause(false)
  one.open()
  await one.pass(3)
  one.pause(true)
  await one.pass(60)
  one.pause(false)
  await one.pass(4.9)
  expect(one.sent).toEqual([])
  await one.pass(0.2)
  expect(one.sent).toEqual(['down'])
  one.works()
  await one.pass(0)
  expect(one.sent).toEqual(['down', 'up'])
  one.stop()
})

test('a webhook that was reported as down is reported as up by the next process, once the receiver has answered', async () => {
  const one = watchOne()
  one.pause(true)
  one.pause(false)
  one.open()
  await one.pass(5)
  one.stop()
  const next = watchOne(one.outages)
  await next.pass(60)
  next.pause(true)
  next.pause(false)
  await next.pass(0)
  expect([...one.sent, ...next.sent]).toEqual(['down'])
  next.works()
  await next.pass(0)
  expect(next.sent).toEqual(['up'])
  next.stop()
})

test('a webhook that was reported as down is reported as removed when its URL leaves the list, also between two processes', async () => {
  const one = watchOne()
  one.pause(true)
  one.pause(false)
  one.open()
  await one.pass(5)
  one.stop()
  const next = watchOne(one.outages)
  await next.pass(0)
  expect(next.sent).toEqual([])
  next.state.listed = false
  await next.pass(0)
  expect(next.sent).toEqual(['up: its URL has left the list'])
  next.stop()
})

test('a pause is no end of an outage', async () => {
  const one = watchOne()
  one.pause(true)
  expect(one.scheduler.find(1)?.pace.isPaused).toBe(true)
  one.pause(false)
  await one.pass(0)
  one.stop()
  expect(one.sent).toEqual([])
})
