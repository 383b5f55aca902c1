import { expect, test } from 'bun:test'
import { startOutageNotices } from '../../src/deliveries/outage-notices.ts'
import { createScheduler } from '../../src/deliveries/queue/scheduler.ts'
import { startReceiver, until } from '../help/receiver.ts'
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
  expect(reported).toEqual([`down ${url}`, `up ${url}`])
  await receiver.stop()
})

test('a pause is no end of an outage', () => {
  const noted: unknown[] = []
  const note = (...line: unknown[]) => void noted.push(line)
  const scheduler = createScheduler()
  const notices = startOutageNotices({
    scheduler,
    webhooks: { urlOf: () => 'https://crm.example.com/' },
    steadyUs: () => 0,
    guard: (work) => work,
    log: { debug: note, info: note, warn: note, error: note },
    onOutage: note,
  })
  scheduler.setTiming(1, { paused: true, maxPerSecond: null })
  expect(scheduler.find(1)?.pace.isPaused).toBe(true)
  scheduler.setTiming(1, { paused: false, maxPerSecond: null })
  notices.stop()
  expect(noted).toEqual([])
})
