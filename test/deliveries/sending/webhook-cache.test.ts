import { expect, test } from 'bun:test'
import { createWebhookCache } from '../../../src/deliveries/sending/webhook-cache.ts'
import type { WebhookRecord } from '../../../src/store/operations/webhooks.ts'
import type { Store } from '../../../src/store/store.ts'
import { TEMPLATES } from '../../help/templates.ts'

const record = (id: number, more: Partial<WebhookRecord> = {}): WebhookRecord => ({
  id,
  accountId: Math.floor(id / 100),
  url: `https://receiver.example/${id}`,
  listed: true,
  cancelledTo: 0,
  secret: null,
  previous: null,
  previousUntilUs: null,
  options: null,
  ...more,
})

/** Returns a cache of the webhooks of accounts 1, 2 and 3, whose versions a test sets; `read` lists its reads. */
function newCache() {
  const versions = new Map([1, 2, 3].map((accountId) => [accountId, 1]))
  const records = new Map([101, 102, 201, 301].map((id) => [id, record(id)]))
  const read: unknown[] = []
  let versionReads = 0
  const webhooks: Pick<
    Store['webhooks'],
    'webhookGetMany' | 'webhookListVersions' | 'webhookGetVersionsMark' | 'webhookListOfAccounts'
  > = {
    webhookGetVersionsMark: async () => [...versions.values()].join(),
    async webhookListVersions(only) {
      versionReads += 1
      return Array.from(versions, ([accountId, version]) => ({ accountId, version })).filter(
        ({ accountId }) => only === undefined || only === accountId,
      )
    },
    async webhookListOfAccounts(accountIds) {
      read.push({ accounts: accountIds })
      return [...records.values()].filter(({ accountId, listed }) => listed && accountIds.includes(accountId))
    },
    async webhookGetMany(ids) {
      read.push({ ids })
      return ids.flatMap((id) => records.get(id) ?? [])
    },
  }
  const owned = new Set([1, 2])
  const cache = createWebhookCache({
    // The cache reads with these alone.
    webhooks: webhooks as Store['webhooks'],
    templates: TEMPLATES,
    nowUs: () => 0,
    onLoaded: () => undefined,
  })
  return {
    cache,
    versions,
    records,
    read,
    owned,
    versionReads: () => versionReads,
    refresh: (only?: number) => cache.refresh((accountId) => owned.has(accountId), only),
  }
}

test('only the accounts of this node are read, each once while nothing changes', async () => {
  const { cache, read, refresh } = newCache()
  expect(await refresh()).toBe(false)
  expect(cache.activeIds()).toEqual([101, 102, 201])
  expect(await refresh()).toBe(false)
  expect(read).toEqual([{ accounts: [1, 2] }])
})

test('the versions of all accounts are read again only after a change, or when an account is gained', async () => {
  const { versions, read, owned, refresh, versionReads } = newCache()
  await refresh()
  await refresh()
  expect(versionReads()).toBe(1)
  owned.add(3)
  expect(await refresh()).toBe(false)
  expect(versionReads()).toBe(2)
  owned.delete(3)
  await refresh()
  expect(versionReads()).toBe(2)
  owned.add(3)
  await refresh()
  expect(read).toEqual([{ accounts: [1, 2] }, { accounts: [3] }, { accounts: [3] }])
  versions.set(2, 2)
  // The change of one account is read without the others; theirs are still noticed.
  versions.set(1, 2)
  expect(await refresh(1)).toBe(true)
  expect(await refresh()).toBe(true)
  expect(read.slice(3)).toEqual([{ accounts: [1] }, { accounts: [2] }])
})

test('after a change only its account is read, and a removed webhook counts as removed', async () => {
  const { cache, versions, records, read, refresh } = newCache()
  await refresh()
  versions.set(1, 2)
  records.set(102, record(102, { listed: false }))
  records.delete(101)
  expect(await refresh()).toBe(true)
  expect(read.slice(1)).toEqual([{ accounts: [1] }, { ids: [101, 102] }])
  expect(cache.get(101)).toBeUndefined()
  expect(cache.get(102)?.listed).toBe(false)
  expect(cache.activeIds()).toEqual([201])
})

test('the webhooks of a gained account are read, and read again if the account was lost meanwhile', async () => {
  const { cache, read, owned, refresh } = newCache()
  await refresh()
  owned.add(3)
  expect(await refresh()).toBe(false)
  expect(read.slice(1)).toEqual([{ accounts: [3] }])
  owned.delete(3)
  cache.remove(301)
  owned.add(3)
  await refresh()
  expect(read.slice(2)).toEqual([{ accounts: [3] }])
  expect(cache.get(301)?.accountId).toBe(3)
})

test('webhooks that changed during the read are read again', async () => {
  const { cache, versions, records, refresh } = newCache()
  const first = refresh()
  versions.set(2, 2)
  records.set(201, record(201, { url: 'https://receiver.example/new' }))
  await Promise.all([first, refresh()])
  expect(cache.get(201)?.url).toBe('https://receiver.example/new')
})
