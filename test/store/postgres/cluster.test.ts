import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { EVERY_PBX } from '../../../src/store/operations/cluster.ts'
import { createClusterStore } from '../../../src/store/postgres/cluster.ts'
import { type Client, newClient } from '../../../src/store/postgres/engine/client.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'

/** The operations of nodes on the two tables, on a real server. */
describe.skipIf(POSTGRES_MISSING !== undefined)('the store of the cluster', () => {
  let client: Client
  let end: () => Promise<void>
  beforeAll(async () => {
    const database = await migratedDatabase()
    client = newClient(databaseSource(database.url), { role: 'test', connections: 4, statementMs: 30_000 })
    end = async () => {
      await client.stop()
      await database[Symbol.asyncDispose]()
    }
  })
  afterAll(async () => end?.())

  const store = () => createClusterStore(client)
  const add = (id: string, pbxs: readonly string[] = []) =>
    store().nodeAdd({ id, address: `http://${id}:8080`, version: '1', pbxs })
  const seen = async (id: string) => {
    const beat = await store().nodeBeat(id, { isLeaving: false })
    if (beat?.leases === undefined) throw new Error(`${id} is dead`)
    return { ...beat, ...beat.leases }
  }
  const termOf = async (name: string) => {
    const [row] = await client.query<{ term: string }>('SELECT term FROM leases WHERE name = $1', [name])
    return row?.term ?? ''
  }
  const take = async (node: string, name: string, newTerm: string) =>
    store().leaseClaim({ node, claims: [{ name, seenTerm: await termOf(name), newTerm }] })

  test('a node that joins sees itself, and a lease for each account, each of its PBXs and maintenance', async () => {
    await add('a', ['office & branch'])
    await seen('a')
    const { nodes, free, counts, own, databaseUs } = await seen('a')
    expect(nodes).toEqual([{ id: 'a', beat: 2, pbxs: [EVERY_PBX, 'office & branch'], presets: null, isLeaving: false }])
    expect(free.map(({ name }) => name).sort()).toEqual(['account:1', 'maintenance', 'pbx:office & branch'])
    expect(own).toEqual([])
    expect(counts.map(({ node, kind, count }) => `${node} ${kind} ${count}`).sort()).toEqual([
      'null account 1',
      'null maintenance 1',
      'null pbx 1',
    ])
    expect(databaseUs).toBeGreaterThan(1.7e15)
  })

  test('a heartbeat returns the leases only if they have changed since they were seen, by whatever changes them', async () => {
    await add('reader')
    const beat = async (seenVersion: number | undefined) => {
      const seen = await store().nodeBeat('reader', { isLeaving: false, seenVersion, addsLeases: false })
      return seen?.leases?.version
    }
    const name = 'pbx:office & branch'
    let version = (await beat(undefined)) ?? 0
    const changes: [string, () => Promise<unknown>][] = [
      ['a claim', () => take('a', name, 'of a')],
      ['a gift', () => store().leaseGive([{ name, term: 'of a', to: 'reader', newTerm: 'of reader' }])],
      ['a node with another PBX', () => add('other', ['lab'])],
      ['a node that was not heard of', () => store().nodeEndIfSilent({ id: 'other', beat: 1 })],
      ['a node that stops', async () => add('last').then(() => store().nodeEnd('last'))],
    ]
    for (const [what, change] of changes) {
      expect([what, await beat(version)]).toEqual([what, undefined])
      await change()
      const next = await beat(version)
      expect([what, (next ?? 0) > version]).toEqual([what, true])
      version = next ?? 0
    }
    // An operation without a change does not count.
    await take('a', 'account:99', 'of a')
    await store().leaseGive([{ name, term: 'of nobody', to: 'a', newTerm: 'x' }])
    await store().nodeEndIfSilent({ id: 'reader', beat: 0 })
    expect(await beat(version)).toBeUndefined()
    await client.query(`INSERT INTO accounts (id, name) VALUES (77, 'new')`)
    expect(await beat(version)).toBeUndefined()
    await seen('a')
    expect(await beat(version)).toBeGreaterThan(version)
    await client.query(`DELETE FROM accounts WHERE id = 77`)
    await client.query(`DELETE FROM leases WHERE name IN ('account:77', 'pbx:lab')`)
    await client.query(`UPDATE leases SET node = NULL`)
    await client.query(`DELETE FROM nodes WHERE id IN ('reader', 'other', 'last')`)
  })

  test('a lease is claimed by the one that knows its term, once', async () => {
    const seenTerm = await termOf('account:1')
    await add('b')
    const claim = (node: string) =>
      store().leaseClaim({ node, claims: [{ name: 'account:1', seenTerm, newTerm: `of ${node}` }] })
    const won = await Promise.all([claim('a'), claim('b')])
    expect(won.flat()).toEqual(['account:1'])
    const owner = won[0]?.length === 1 ? 'a' : 'b'
    expect((await seen(owner)).own).toEqual([{ name: 'account:1', term: `of ${owner}` }])
    await client.query(`UPDATE leases SET node = NULL WHERE name = 'account:1'`)
  })

  test('a lease is given under a new term to another node, only by its owner', async () => {
    await take('a', 'account:1', 'of a')
    await store().leaseGive([{ name: 'account:1', term: 'not this one', to: 'b', newTerm: 'x' }])
    expect((await seen('a')).own).toEqual([{ name: 'account:1', term: 'of a' }])
    await store().leaseGive([{ name: 'account:1', term: 'of a', to: 'b', newTerm: 'of b' }])
    expect([(await seen('a')).own, (await seen('b')).own]).toEqual([[], [{ name: 'account:1', term: 'of b' }]])
  })

  test('only a node whose heartbeat did not change is made dead; then its leases are free and it has no heartbeat', async () => {
    const { nodes } = await seen('a')
    const beat = nodes.find(({ id }) => id === 'b')?.beat ?? 0
    await seen('b')
    expect(await store().nodeEndIfSilent({ id: 'b', beat })).toBe(false)
    expect(await store().nodeEndIfSilent({ id: 'b', beat: beat + 1 })).toBe(true)
    expect(await store().nodeEndIfSilent({ id: 'b', beat: beat + 1 })).toBe(false)
    expect(await store().nodeBeat('b', { isLeaving: false })).toBeUndefined()
    const view = await seen('a')
    expect(view.nodes.map(({ id }) => id)).toEqual(['a'])
    expect(view.free).toContainEqual({ name: 'account:1', term: 'of b' })
  })

  test('a heartbeat that waits while its node is made dead comes too late', async () => {
    await add('c')
    await seen('c')
    const { promise: isDead, resolve: die } = Promise.withResolvers<void>()
    const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>()
    const ending = client.transaction(async (query) => {
      await query(`UPDATE nodes SET dead_us = beat_us WHERE id = 'c'`)
      locked()
      await isDead
    })
    await isLocked
    const beating = store().nodeBeat('c', { isLeaving: false })
    // It waits for the row: only then may the other go on.
    for (;;) {
      const [waiting] = await client.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'`,
      )
      if (waiting !== undefined && waiting.count > 0) break
    }
    die()
    await ending
    expect(await beating).toBeUndefined()
  })

  test('nodes are listed with their accounts and PBXs, dead ones for an hour', async () => {
    await client.query(`UPDATE nodes SET dead_us = 1 WHERE id = 'b'`)
    await store().nodeEnd('c')
    await take('a', 'account:1', 'again of a')
    await take('a', 'maintenance', 'm')
    const list = await store().nodeList()
    expect(list.map(({ id, deadUs, leases }) => [id, deadUs !== null, leases])).toEqual([
      ['a', false, ['account:1', 'maintenance']],
      ['c', true, []],
    ])
    await add('d')
    expect(await client.query(`SELECT id FROM nodes ORDER BY id`)).toEqual([{ id: 'a' }, { id: 'c' }, { id: 'd' }])
  })
})
