import { describe, expect, test } from 'bun:test'
import { forSwitches } from '../../../src/events/kinds.ts'
import { createStatusStore } from '../../../src/store/postgres/statuses.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { clusterDatabase } from '../../help/cluster-stores.ts'
import { databaseSource, POSTGRES_MISSING } from '../../help/postgres.ts'
import { storeEvents } from '../../help/store.ts'

/** Owners report their statuses to other nodes, on a real server. */

const NOW = 1_795_213_000_000_000
const URLS = ['https://one.example/', 'https://two.example/']

/** A database with two webhooks, an account and a PBX of node a, and two that are alive. */
async function open() {
  const cleaning = new AsyncDisposableStack()
  const database = cleaning.use(await clusterDatabase())
  const { client } = database
  const store = await openPostgresStore(databaseSource(database.url))
  cleaning.defer(() => store.stop())
  const list = URLS.map((url) => ({ url, ...forSwitches(() => true) }))
  const setList = (some: typeof list) =>
    store.webhooks.listReplace({ accountId: 1, list: some, ifMatch: null, nowUs: NOW, secrets: ['whsec_a', 'whsec_b'] })
  await setList(list)
  for (const id of ['a', 'b'])
    await client.query(
      `INSERT INTO nodes (id, address, version, pbxs, started_us, beat, beat_us) VALUES ($1, '', '', '', 0, 1, 0)`,
      [id],
    )
  await client.query(`INSERT INTO leases (name, node, term) VALUES ('account:1', 'a', 'term 1')`)
  return {
    client,
    store,
    setList,
    statuses: createStatusStore(client, { listen: () => async () => undefined }),
    [Symbol.asyncDispose]: () => cleaning.disposeAsync(),
  }
}

const one = (term: string, status: string) => ({ webhookId: 1, term, status })

describe.skipIf(POSTGRES_MISSING !== undefined)('the statuses that nodes share', () => {
  test('come from the present owner: a late status changes nothing', async () => {
    await using at = await open()
    const { client, statuses } = at
    await statuses.webhookStatusSet([one('term 1', 'down')])
    expect(await statuses.webhookStatusGetMany([1, 2])).toEqual([{ webhookId: 1, status: 'down', isPresent: true }])
    await client.query(`UPDATE leases SET node = 'b', term = 'term 2'`)
    expect(await statuses.webhookStatusGetMany([1])).toEqual([{ webhookId: 1, status: 'down', isPresent: false }])
    await statuses.webhookStatusSet([one('term 2', 'next')])
    await statuses.webhookStatusSet([one('term 1', 'late')])
    expect(await statuses.webhookStatusGetMany([1])).toEqual([{ webhookId: 1, status: 'next', isPresent: true }])
  })

  test('are of the past once their node is dead', async () => {
    await using at = await open()
    const { client, statuses } = at
    await statuses.webhookStatusSet([one('term 1', 'up')])
    await client.query(`UPDATE nodes SET dead_us = 1 WHERE id = 'a'`)
    expect(await statuses.webhookStatusGetMany([1])).toEqual([{ webhookId: 1, status: 'up', isPresent: false }])
  })

  test('are deleted with their webhook, and statuses of removed webhooks are left out', async () => {
    await using at = await open()
    const { client, store, setList, statuses } = at
    await statuses.webhookStatusSet([one('term 1', 'up'), { ...one('term 1', 'x'), webhookId: 999 }])
    await setList([])
    await store.queue.deliveryCancelUnlisted({ webhookId: 1, nowUs: NOW, limit: 10 })
    await store.queue.deliveryCancelUnlisted({ webhookId: 2, nowUs: NOW, limit: 10 })
    expect(await store.maintenance.webhookPrune(10)).toBe(2)
    expect(await client.query('SELECT webhook_id FROM webhook_statuses')).toEqual([])
  })
})

describe.skipIf(POSTGRES_MISSING !== undefined)('deliveries that changed', () => {
  test('are noted for those who follow their account, in order, once for each position', async () => {
    await using at = await open()
    const { store, statuses } = at
    await store.accounts.userCreate({
      account: 'b',
      type: 1,
      name: 'B',
      email: 'b@example.com',
      passwordHash: '',
      atUs: NOW,
    })
    const event = (n: number) => ({
      uuid: `${n}`,
      callId: 'c',
      name: 'call_saved' as const,
      sequence: n,
      atUs: NOW,
      body: '{}',
    })
    const ids = (await storeEvents(store, [event(1), event(2)], { nowSteadyUs: NOW })).flatMap(({ deliveries }) =>
      deliveries.map(({ id }) => id),
    )
    const add = (number: number, some: readonly number[]) =>
      statuses.deliveryChangesAdd({ node: 'a', number, ids: some })
    const get = (after: { accountId: number; node: string; number: number }[] = []) =>
      statuses.deliveryChangesGet({ node: 'b', accountIds: [1], after })
    await add(1, ids)
    expect(await get()).toEqual([])
    expect(await statuses.followedGet('a')).toEqual([])
    await statuses.followedSet({ node: 'b', accountIds: [1, 2] })
    expect((await statuses.followedGet('a')).sort()).toEqual([1, 2])
    expect(await statuses.followedGet('b')).toEqual([])
    await add(2, [...ids, 999_999])
    await add(3, ids.slice(0, 1))
    const [first, second] = [
      { accountId: 1, node: 'a', number: 2, ids },
      { accountId: 1, node: 'a', number: 3, ids: ids.slice(0, 1) },
    ]
    expect(await get()).toEqual([first, second])
    expect(await get([{ accountId: 1, node: 'a', number: 2 }])).toEqual([second])
    expect(await get([{ accountId: 2, node: 'a', number: 9 }])).toEqual([first, second])
    expect(await statuses.deliveryChangesGet({ node: 'a', accountIds: [1], after: [] })).toEqual([])
    await statuses.followedSet({ node: 'b', accountIds: [2] })
    expect(await statuses.followedGet('a')).toEqual([2])
  })

  test('and who follows are forgotten after some seconds', async () => {
    await using at = await open()
    const { client, statuses } = at
    await statuses.followedSet({ node: 'b', accountIds: [1] })
    await client.query(`INSERT INTO delivery_changes VALUES ('c', 1, 1, '128', now() - interval '11 seconds')`)
    await statuses.deliveryChangesAdd({ node: 'a', number: 1, ids: [128] })
    expect(await client.query('SELECT node FROM delivery_changes')).toEqual([])
    await client.query(`UPDATE followed_accounts SET until = now() - interval '1 second'`)
    expect(await statuses.followedGet('a')).toEqual([])
    await statuses.followedSet({ node: 'c', accountIds: [] })
    expect(await client.query('SELECT node FROM followed_accounts')).toEqual([])
  })
})
