import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { rfc3339 } from '../../src/lib/time.ts'
import { type DeliveryState, stateNumber } from '../../src/store/operations/delivery-state.ts'
import { DELIVERIES_PER_EVENT } from '../../src/store/operations/queue.ts'
import { mutation, type Tx } from '../../src/store/sqlite/engine/mutation.ts'
import { prepared } from '../../src/store/sqlite/engine/prepared.ts'
import { createWebhookService } from '../../src/webhooks/service.ts'
import { ACCOUNT, listed } from '../deliveries/run/rig.ts'
import { emptyFolder } from '../help/app.ts'
import { openStore, storeEvents } from '../help/store.ts'

const DAY_US = 86_400_000_000
const NOW_US = 20_000 * DAY_US
const NAMES = ['call_started', 'dial_started', 'dial_answered', 'dial_ended', 'call_ended', 'call_saved'] as const

const run = mutation('test.run', (tx: Tx, sql: string): void => {
  prepared<never, []>(tx, sql).run()
})

/** A store with one webhook, and calls of six events. */
async function newStore() {
  const folder = emptyFolder()
  const store = openStore(join(folder.path, 'hookswitch.db'))
  const { db } = store
  const webhooks = createWebhookService({ webhooks: store.webhooks })
  await webhooks.replace(ACCOUNT, [listed('http://receiver.example/')], null)
  return {
    run: (sql: string) => db.commit(run, sql),
    wrong: () => store.maintenance.verify(),
    /**
     * Stores a call that began `daysAgo` days ago; its first `older` events are `olderDays` older. @returns the ids of
     * its events.
     */
    async emit(callId: string, daysAgo: number, { older = 0, olderDays = 0 } = {}): Promise<number[]> {
      const startedUs = NOW_US - (daysAgo + olderDays) * DAY_US
      const events = NAMES.map((name, index) => {
        const atUs = index < older ? startedUs + index : NOW_US - daysAgo * DAY_US + index
        const body = JSON.stringify({ data: { call: { started_at: rfc3339(startedUs) } } })
        return { uuid: `${callId} ${index}`, callId, name, sequence: index + 1, atUs, body }
      })
      return (await storeEvents(store, events, { nowSteadyUs: NOW_US })).map(({ id }) => id)
    },
    async end(state: DeliveryState, daysAgo: number, ...ids: number[]): Promise<void> {
      const endedUs = NOW_US - daysAgo * DAY_US
      for (const id of ids) {
        const deliveryId = id * DELIVERIES_PER_EVENT
        await db.commit(
          run,
          `UPDATE deliveries SET state = ${stateNumber(state)}, ended_at = ${endedUs} WHERE id = ${deliveryId}`,
        )
        await db.commit(
          run,
          `INSERT INTO attempts (delivery_id, at, probe, status, duration_ms)
           VALUES (${deliveryId}, ${endedUs}, 0, ${state === 'delivered' ? 200 : 500}, 1)`,
        )
      }
    },
    prune: (keepDeliveredDays = 30, keepFailedDays = 90) =>
      store.maintenance.deliveryPrune({
        afterId: 0,
        deliveredBeforeUs: NOW_US - keepDeliveredDays * DAY_US,
        failedBeforeUs: NOW_US - keepFailedDays * DAY_US,
        nowUs: NOW_US,
        limit: 1_000,
      }),
    async [Symbol.asyncDispose]() {
      await db.stop()
      folder[Symbol.dispose]()
    },
  }
}

describe('a store is whole', () => {
  test.each<[string, number[]]>([
    ['one event', [2]],
    ['some of its events', [1, 4]],
    ['its end, and not that it was saved', [0, 4]],
  ])('after retention has left of a call but the failed deliveries of %s', async (_, failed) => {
    await using store = await newStore()
    const ids = await store.emit('old', 31)
    for (const [index, id] of ids.entries()) await store.end(failed.includes(index) ? 'failed' : 'delivered', 31, id)
    await store.emit('young', 1)
    expect(await store.wrong()).toEqual([])
    expect((await store.prune()).pruned).toBe(2 * (NAMES.length - failed.length))
    expect(await store.wrong()).toEqual([])
  })

  test('after retention has cut through a call that lasted for days', async () => {
    await using store = await newStore()
    const ids = await store.emit('long', 27, { older: 3, olderDays: 4 })
    await store.end('delivered', 30.5, ...ids.slice(0, 3))
    await store.end('delivered', 27, ...ids.slice(3))
    await store.emit('young', 1)
    expect((await store.prune()).pruned).toBe(6)
    expect(await store.wrong()).toEqual([])
  })
})

describe('a store is not whole', () => {
  const young = `(SELECT id FROM events WHERE call_id = 'young' AND sequence = `
  test.each([
    ['an event in the middle of a call', `DELETE FROM events WHERE id = ${young}3)`, 'with a gap'],
    ['the first event of a call', `DELETE FROM events WHERE id = ${young}1)`, 'without their beginning'],
    ['the last event of a call', `DELETE FROM events WHERE id = ${young}6)`, 'have their end'],
    ['an event that is there twice', `UPDATE events SET sequence = 2 WHERE id = ${young}3)`, 'with a gap'],
    [
      'an event of a webhook',
      `DELETE FROM deliveries WHERE id = ${DELIVERIES_PER_EVENT} * ${young}2)`,
      'lack one of their deliveries',
    ],
    ['the attempt that delivered', `DELETE FROM attempts WHERE delivery_id > 0`, 'without the attempt'],
  ])('without %s, also when retention has run', async (_, sql, reported) => {
    await using store = await newStore()
    const old = await store.emit('old', 31)
    await store.end('delivered', 31, ...old)
    await store.prune()
    const ids = await store.emit('young', 1)
    await store.end('delivered', 1, ...ids.slice(0, 1))
    // A second webhook's delivery shows that the first one's is missing.
    await store.run(
      `INSERT INTO deliveries (id, webhook_id, state, since, created_at) SELECT id + 1, 1, 0, 0, 0 FROM deliveries
       WHERE id = ${DELIVERIES_PER_EVENT} * ${young}2)`,
    )
    expect(await store.wrong()).toEqual([])
    await store.run(sql)
    const wrong = await store.wrong()
    expect(wrong.filter((text) => text.includes(reported))).toHaveLength(1)
  })
})
