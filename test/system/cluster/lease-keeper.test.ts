import { describe, expect, test } from 'bun:test'
import { createLeaseKeeper, type LeaseKeeper } from '../../../src/cluster/lease-keeper.ts'
import { createLog } from '../../../src/lib/log.ts'
import { steadyUs } from '../../../src/lib/time.ts'
import { type ClusterStore, LeaseLost } from '../../../src/store/operations/cluster.ts'
import { clusterDatabase, cuttableStore } from '../../help/cluster-stores.ts'
import { POSTGRES_MISSING } from '../../help/postgres.ts'
import { until } from '../../help/receiver.ts'

const log = createLog('silent')
const ACCOUNTS = [1, 2, 3, 4]

function join(cluster: ClusterStore): LeaseKeeper {
  const pbxs = ['office', 'shop']
  const canWatch = (pbx: string) => pbxs.includes(pbx)
  const keeper = createLeaseKeeper({ cluster, version: '1', pbxs, canWatch, log, elapsedUs: steadyUs })
  void keeper.join('http://here')
  return keeper
}
const termOf = (keeper: LeaseKeeper, lease: string): string | undefined => {
  try {
    return keeper.fenceOf(lease)?.terms[0]
  } catch (error) {
    if (error instanceof LeaseLost) return undefined
    throw error
  }
}
const owned = (keeper: LeaseKeeper) => ACCOUNTS.filter((id) => keeper.ownsAccount(id))
const ownedPbxs = (keeper: LeaseKeeper) => ['office', 'shop'].filter((name) => keeper.pbxOwnership(name) === 'owned')
const sharedOut = (keepers: readonly LeaseKeeper[]) =>
  keepers.map((keeper) => owned(keeper).length).every((count) => count === ACCOUNTS.length / keepers.length)

/** Fails if two of them own one thing at one moment, at every turn that a test takes. */
function checkOwners(keepers: readonly LeaseKeeper[]): void {
  const all = keepers.flatMap(owned)
  expect(all.length).toBe(new Set(all).size)
}

describe.skipIf(POSTGRES_MISSING !== undefined)('nodes on one database', () => {
  test('share accounts and PBXs, take over from one that is cut off once its trust is over, and from one that stops at once', async () => {
    await using database = await clusterDatabase()
    const { client } = database
    await client.query(`INSERT INTO accounts (name) VALUES ('two'), ('three'), ('four')`)
    const stores = [cuttableStore(client), cuttableStore(client)] as const
    const [one, two] = [join(stores[0]), join(stores[1])]
    const both = [one, two]
    let changes = 0
    one.onChange(() => {
      changes += 1
      return undefined
    })
    const checkedUntil = (what: string, isSo: () => boolean) =>
      until(what, () => {
        checkOwners(both)
        return isSo()
      })
    expect([owned(one), one.ownsMaintenance()]).toEqual([[], false])
    await checkedUntil(
      'both have half',
      () => sharedOut(both) && both.every((keeper) => ownedPbxs(keeper).length === 1),
    )
    expect(both.filter((keeper) => keeper.ownsMaintenance())).toHaveLength(1)
    expect(changes).toBeGreaterThan(0)
    const terms = ACCOUNTS.map((id) => termOf(one, `account:${id}`) ?? termOf(two, `account:${id}`))
    expect(new Set(terms).size).toBe(ACCOUNTS.length)

    stores[0].cut(true)
    const before = one.nodeId()
    await checkedUntil('the other has all', () => owned(two).length === ACCOUNTS.length)
    // The node trusts none of its leases now, but keeps its PBXs for some seconds.
    expect([owned(one), one.ownsMaintenance(), two.ownsMaintenance()]).toEqual([[], false, true])
    stores[0].cut(false)
    await checkedUntil('it is back under another id, with its half', () => sharedOut(both) && one.nodeId() !== before)

    await two.leave()
    expect([owned(two), ownedPbxs(two)]).toEqual([[], []])
    await checkedUntil('the first has all', () => owned(one).length === ACCOUNTS.length && ownedPbxs(one).length === 2)
    await two.stop()
    await one.stop()
    expect([owned(one), ownedPbxs(one)]).toEqual([[], []])
  })

  test('a node that stops gives all to one that has just joined, which could not take it yet', async () => {
    await using database = await clusterDatabase()
    const one = join(cuttableStore(database.client))
    await until('it has all', () => ownedPbxs(one).length === 2 && one.ownsMaintenance() && one.ownsAccount(1))
    // Its clock stands still, so it never becomes old enough to take a lease by itself.
    const cluster = cuttableStore(database.client)
    const nowUs = steadyUs()
    const two = createLeaseKeeper({
      cluster,
      version: '1',
      pbxs: [],
      canWatch: () => true,
      log,
      elapsedUs: () => nowUs,
    })
    await two.join('http://there')
    await one.leave()
    await until('the other has all', () => ownedPbxs(two).length === 2 && two.ownsMaintenance() && two.ownsAccount(1))
    await Promise.all([one.stop(), two.stop()])
  })

  test('a lease is handed over when its work has ended', async () => {
    await using database = await clusterDatabase()
    const { client } = database
    const one = join(cuttableStore(client))
    await until('it has both', () => ownedPbxs(one).length === 2)
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
    let lost = false
    one.onChange(() => {
      if (ownedPbxs(one).length < 2) lost = true
      return lost ? new Map(['pbx:office', 'pbx:shop'].map((lease) => [lease, isOver])) : undefined
    })
    const two = join(cuttableStore(client))
    await until('one begins to hand over', () => lost)
    // Signals that were read before are stored under the term that it still owns. On a slow machine trust may lapse for
    // a moment.
    const terms = () => [termOf(one, 'pbx:office'), termOf(one, 'pbx:shop')]
    await until('it has both terms', () => terms().every((term) => term !== undefined))
    expect(ownedPbxs(two)).toEqual([])
    end()
    await until('the other has it', () => ownedPbxs(two).length === 1)
    expect(ownedPbxs(one)).toHaveLength(1)
    await Promise.all([one.stop(), two.stop()])
  })

  test('work begins again where trust ended while a heartbeat was on its way', async () => {
    await using database = await clusterDatabase()
    const store = cuttableStore(database.client)
    let aheadUs = 0
    let delays: number[] = []
    const cluster: ClusterStore = {
      ...store,
      async nodeBeat(...beat) {
        const view = await store.nodeBeat(...beat)
        aheadUs += delays.shift() ?? 0
        return view
      },
    }
    const elapsedUs = () => steadyUs() + aheadUs
    const keeper = createLeaseKeeper({ cluster, version: '1', pbxs: [], canWatch: () => true, log, elapsedUs })
    await keeper.join('http://here')
    await until('it owns the account', () => keeper.ownsAccount(1))
    const owned: boolean[] = []
    keeper.onChange(() => {
      owned.push(keeper.ownsAccount(1))
      return undefined
    })
    // The second is sent before trust ends, and answered after that.
    delays = [2_200_000, 600_000]
    await until('it owns the account again', () => delays.length === 0 && owned.at(-1) === true)
    // Who acts on the account has seen that it was lost.
    expect(owned[0]).toBe(false)
    await keeper.stop()
  })
})
