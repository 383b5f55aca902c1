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
})
