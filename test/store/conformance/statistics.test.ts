import { expect, test } from 'bun:test'
import { ACCOUNT, onEngines } from './rig.ts'

onEngines('statistics', ({ open }) => {
  test('figures are saved minute by minute in place of those before, and old ones deleted', async () => {
    await using at = await open()
    const { statistics } = at.store
    const figures = (minute: number, delivered: number, webhookId = 1) => ({
      accountId: ACCOUNT,
      webhookId,
      minute,
      events: 0,
      delivered,
      failedAttempts: 2,
      failedProbes: 3,
      latencies: [5, delivered],
    })
    const [first, second, other] = [figures(100, 1), figures(101, 7), figures(101, 1, 2)]
    await statistics.minuteSave({ figures: [first, figures(101, 6), other], beforeMinute: 41 })
    await statistics.minuteSave({ figures: [second], beforeMinute: 41 })
    expect(await statistics.minuteGet(100)).toEqual([first])
    expect(await statistics.minuteGet(101)).toEqual([second, other])
    const minutes = [99, 100, 101]
    expect(await statistics.minuteGetOfAccount({ accountId: ACCOUNT, minutes })).toEqual([first, second, other])
    expect(await statistics.minuteGetOfAccount({ accountId: ACCOUNT, minutes: [99, 101] })).toEqual([second, other])
    expect(await statistics.minuteGetOfAccount({ accountId: 2, minutes })).toEqual([])
    await statistics.minuteSave({ figures: [], beforeMinute: 101 })
    expect(await statistics.minuteGet(100)).toEqual([])
    expect(await statistics.minuteGet(101)).toHaveLength(2)
  })

  test('figures of quarters are saved in place of those before, and read with those of the service', async () => {
    await using at = await open()
    const { statistics } = at.store
    const figures = (accountId: number, quarter: number, delivered: number) => ({
      accountId,
      quarter,
      events: 1,
      delivered,
      failedAttempts: 2,
      failedProbes: 3,
      latencies: [5, delivered],
    })
    const [own, service, other] = [figures(ACCOUNT, 200, 7), figures(0, 200, 0), figures(2, 200, 4)]
    await statistics.quarterSave({ figures: [figures(ACCOUNT, 200, 6), service, other], beforeQuarter: 10 })
    await statistics.quarterSave({ figures: [own], beforeQuarter: 10 })
    const found = await statistics.quarterGetOfAccount({ accountId: ACCOUNT, fromQuarter: 200 })
    expect(found.toSorted((one, another) => one.accountId - another.accountId)).toEqual([service, own])
    expect(await statistics.quarterGetOfAccount({ accountId: ACCOUNT, fromQuarter: 201 })).toEqual([])
    const next = figures(ACCOUNT, 201, 1)
    await statistics.quarterSave({ figures: [next], beforeQuarter: 201 })
    expect(await statistics.quarterGetOfAccount({ accountId: ACCOUNT, fromQuarter: 0 })).toEqual([service, next])
  })
})
