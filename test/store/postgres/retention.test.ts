import { describe, expect, test } from 'bun:test'
import { forSwitches } from '../../../src/events/kinds.ts'
import { SECOND } from '../../../src/lib/time.ts'
import { stateNumber } from '../../../src/store/operations/delivery-state.ts'
import type { OutcomeBatch } from '../../../src/store/operations/queue.ts'
import { newClient } from '../../../src/store/postgres/engine/client.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { until } from '../../help/receiver.ts'
import { storeEvents } from '../../help/store.ts'

/** Retention by partitions: a day's events, deliveries and attempts go together, but for what failed or is pending. */

const DAY = 86_400 * SECOND
const NOW = 1_795_213_000 * SECOND

function outcome(ids: readonly number[], state: 'delivered' | 'failed', atUs: number): OutcomeBatch {
  const each = <Value>(value: Value): Value[] => ids.map(() => value)
  return {
    deliveryIds: ids,
    generations: each(1),
    states: each(stateNumber(state)),
    tries: each(1),
    attemptsMade: each(1),
    dueSteadyUs: each(null),
    endedUs: each(atUs),
    attemptUs: each(atUs),
    probes: each(false),
    statuses: each(state === 'delivered' ? 200 : 500),
    durationsMs: each(1),
    errors: each(null),
    addresses: each(null),
    responses: each('ok'),
  }
}

async function open() {
  const database = await migratedDatabase()
  const store = await openPostgresStore(databaseSource(database.url))
  const beside = newClient(databaseSource(database.url), { role: 'beside', connections: 1, statementMs: 60_000 })
  const list = [{ url: 'https://one.example/', ...forSwitches(() => true) }]
  await store.webhooks.listReplace({ accountId: 1, list, ifMatch: null, nowUs: NOW, secrets: ['whsec_x'] })
  const prune = async (nowUs: number) => {
    let pruned = 0
    for (let afterId: number | null = 0; afterId !== null; ) {
      const ages = { deliveredBeforeUs: nowUs - 30 * DAY, failedBeforeUs: nowUs - 90 * DAY, nowUs, limit: 5 }
      const step = await store.maintenance.deliveryPrune({ afterId, ...ages })
      pruned += step.pruned
      afterId = step.lastId
    }
    return pruned
  }
  const partitions = async () =>
    (
      await beside.query<{ name: string }>(
        "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'events'::regclass ORDER BY 1",
      )
    ).map(({ name }) => name)
  /** Stores the events of a day: the first fails, the second stays pending, the others are delivered. */
  const day = async (atUs: number, count = 12) => {
    const events = Array.from({ length: count }, (_, n) => ({
      uuid: `${atUs} ${n}`,
      callId: `call ${atUs} ${n}`,
      name: 'call_saved' as const,
      sequence: 1,
      atUs,
      body: '{"data":{}}',
    }))
    const stored = await storeEvents(store, events, { nowSteadyUs: atUs })
    const ids = stored.flatMap(({ deliveries }) => deliveries.map(({ id }) => id))
    await store.queue.deliveryRecordOutcomes(outcome(ids.slice(0, 1), 'failed', atUs))
    await store.queue.deliveryRecordOutcomes(outcome(ids.slice(2), 'delivered', atUs))
    return ids
  }
  return {
    store,
    beside,
    prune,
    partitions,
    day,
    async [Symbol.asyncDispose]() {
      await store.stop()
      await beside.stop()
      await database[Symbol.asyncDispose]()
    },
  }
}

describe.skipIf(POSTGRES_MISSING !== undefined)('retention on Postgres', () => {
  test('a day that is over is replaced by what failed or is pending of it, and dropped when that is old too', async () => {
    await using at = await open()
    const { store } = at
    const first = await at.day(NOW)
    // A day later ids go on in the next partition, which retention sees to.
    expect(await at.prune(NOW + DAY)).toBe(0)
    const second = await at.day(NOW + DAY)
    expect(Math.floor((second[0] ?? 0) / 128 / 2 ** 26)).toBe(1)
    expect(await at.prune(NOW + 2 * DAY)).toBe(0)
    const third = await at.day(NOW + 2 * DAY)
    expect((await at.partitions()).length).toBeGreaterThan(3)

    // 10 deliveries of the first day and their events are past 30 days.
    expect(await at.prune(NOW + 30.5 * DAY)).toBe(20)
    const left = (await store.log.deliveryGetMany([...first, ...second, ...third])).map(({ id }) => id)
    expect(left).toEqual([...first.slice(0, 2), ...second, ...third])
    expect(await store.log.deliveryGet(1, first[0] ?? 0)).toMatchObject({
      state: 'failed',
      body: '{"data":{}}',
      attempts: [{ status: 500 }],
    })
    expect((await store.queue.deliveryGetUntried({ webhookId: 1, afterId: 0, limit: 9 })).map(({ id }) => id)).toEqual(
      [first, second, third].map((ids) => ids[1] ?? 0),
    )
    expect(await store.maintenance.verify()).toEqual([])
    const bounds = await store.log.eventGetBounds(1)
    expect(bounds.oldestId).toBe(Math.floor((first.at(-1) ?? 0) / 128))
    expect(await at.prune(NOW + 30.5 * DAY)).toBe(0)

    // A delivery that was kept is retried, ends, and is pruned like any other.
    expect(await store.queue.deliveryRetry({ accountId: 1, id: first[0] ?? 0, nowSteadyUs: NOW })).toBe('queued')
    const again = { ...outcome(first.slice(0, 2), 'delivered', NOW + 31 * DAY), generations: [2, 1] }
    expect(await store.queue.deliveryRecordOutcomes(again)).toEqual([])
    expect(await at.prune(NOW + 61.5 * DAY)).toBeGreaterThan(0)
    expect(await at.partitions()).not.toContain('events_0')
    expect((await store.log.deliveryGetMany(first)).length).toBe(0)
    expect(await store.maintenance.verify()).toEqual([])
  })

  test('a partition that is in use is left for the next round', async () => {
    await using at = await open()
    await at.day(NOW)
    await at.prune(NOW + DAY)
    await at.day(NOW + 39 * DAY)
    const release = Promise.withResolvers<void>()
    const isLocked = Promise.withResolvers<void>()
    const reading = at.beside.transaction(async (query) => {
      await query('SELECT count(*) FROM events')
      isLocked.resolve()
      await release.promise
    })
    await isLocked.promise
    expect(await at.prune(NOW + 40 * DAY)).toBe(0)
    release.resolve()
    await reading
    expect(await at.prune(NOW + 40 * DAY)).toBeGreaterThan(0)
  })

  test('a URL that comes back to its list at this moment keeps its webhook and its secret', async () => {
    await using at = await open()
    const { store, beside } = at
    const one = { url: 'https://one.example/', ...forSwitches(() => true) }
    const two = { ...one, url: 'https://two.example/' }
    const setList = (list: (typeof one)[]) =>
      store.webhooks.listReplace({ accountId: 1, list, ifMatch: null, nowUs: NOW, secrets: list.map(() => 'whsec_x') })
    await setList([one, two])
    await setList([one])
    const prunes = [
      () => store.maintenance.webhookPrune(10),
      () => store.maintenance.secretPrune({ beforeUs: NOW + 1, limit: 10 }),
    ]
    for (const prune of prunes) {
      const pruned = await beside.transaction(async (query) => {
        // An uncommitted change of the list does the same.
        await query("UPDATE webhooks SET position = 2 WHERE url = 'https://two.example/'")
        await query("UPDATE secrets SET left_at = NULL WHERE url = 'https://two.example/'")
        const pruning = prune()
        await until('it waits for the row', async () => {
          const [row] = await query<{ count: number }>(
            'SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))',
          )
          return row?.count === 1
        })
        return { pruning }
      })
      expect(await pruned.pruning).toBe(0)
      expect(await store.webhooks.listGet(1)).toEqual([one, two])
      expect((await store.webhooks.secretList(1)).map(({ url }) => url)).toEqual([one.url, two.url])
      await setList([one])
    }
    expect(await Promise.all(prunes.map((prune) => prune()))).toEqual([1, 1])
  })
})
