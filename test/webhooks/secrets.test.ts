import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { startPruner } from '../../src/deliveries/log/pruner.ts'
import { SECOND } from '../../src/lib/time.ts'
import { createWebhookService, type WebhookService } from '../../src/webhooks/service.ts'
import { ACCOUNT, LOG, listed } from '../deliveries/run/rig.ts'
import { emptyFolder } from '../help/app.ts'
import { until } from '../help/receiver.ts'
import { NO_FLOW_RECORDS, type OpenStore, openStore } from '../help/store.ts'

/** How long the secrets of URLs that left the list are kept. */

const DAY_US = 86_400 * SECOND
const folder = emptyFolder()
let store: OpenStore
let webhooks: WebhookService
let nowUs = 1_795_213_000 * SECOND

beforeAll(() => {
  store = openStore(join(folder.path, 'hookswitch.db'))
  webhooks = createWebhookService({ webhooks: store.webhooks, now: () => nowUs })
})
afterAll(async () => {
  await store.stop()
  folder[Symbol.dispose]()
})
beforeEach(async () => {
  await put()
  nowUs += 1_000 * DAY_US
})

const put = (...urls: string[]) => webhooks.replace(ACCOUNT, urls.map(listed), null)
/** Returns the secret of each URL, which have to be put into the list to be read. */
async function secretsOf(...urls: string[]): Promise<string[]> {
  await put(...urls)
  return (await webhooks.secrets(ACCOUNT)).map(({ secret }) => secret)
}
async function prune(): Promise<void> {
  let rounds = 0
  const { maintenance } = store
  const secretPrune: typeof maintenance.secretPrune = (step) => {
    rounds += 1
    return maintenance.secretPrune(step)
  }
  const counted = { ...maintenance, secretPrune }
  const kept = { keepDeliveredMs: 1e12, keepFailedMs: 1e12 }
  const pruner = startPruner({ maintenance: counted, flows: NO_FLOW_RECORDS, log: LOG, ...kept, nowUs: () => nowUs })
  await until('old secrets were searched for', () => rounds > 0)
  await pruner.stop()
}

test('a URL that comes back within a year has its secret; after that it gets a new one', async () => {
  const [stays, leaves] = ['https://stays.example/', 'https://leaves.example/']
  const before = await secretsOf(stays, leaves)
  await put(stays)
  nowUs += 364 * DAY_US
  await prune()
  expect(await secretsOf(stays, leaves)).toEqual(before)
  await put(stays)
  nowUs += 366 * DAY_US
  await prune()
  const after = await secretsOf(stays, leaves)
  expect(after[0]).toBe(before[0])
  expect(after[1]).not.toBe(before[1])
})

test('the newest 1,000 removed URLs of an account keep their secrets', async () => {
  const urls = Array.from({ length: 1_100 }, (_, n) => `https://example.com/${String(n).padStart(4, '0')}`)
  const before = new Map<string, string>()
  for (let n = 0; n < urls.length; n += 100) {
    const some = urls.slice(n, n + 100)
    for (const [index, secret] of (await secretsOf(...some)).entries()) before.set(some[index] ?? '', secret)
    nowUs += SECOND
  }
  await put()
  const kept = async (some: string[]) =>
    (await secretsOf(...some)).map((secret, n) => secret === before.get(some[n] ?? ''))
  expect(await kept(urls.slice(100, 200))).toEqual(Array(100).fill(true))
  expect(await kept(urls.slice(1_000, 1_100))).toEqual(Array(100).fill(true))
  expect(await kept(urls.slice(0, 100))).toEqual(Array(100).fill(false))
})
