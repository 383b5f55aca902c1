import { bodyOf, deliveredRate, startBenchService } from './delivery.ts'
import { bareRate, startReceiverProcess } from './receiver-process.ts'
import { atLeast, atMost, perSecond, type Row } from './table.ts'

const REQUESTS = 60_000
const split = (urls: readonly string[], size: number) =>
  Array.from({ length: Math.ceil(urls.length / size) }, (_, n) => urls.slice(n * size, (n + 1) * size))

/** In turns, so that both see the same machine. */
async function compare(
  what: string,
  bar: number,
  accounts: readonly (readonly string[])[],
  bytes: number,
): Promise<Row> {
  const body = bodyOf(bytes)
  const urls = [...new Set(accounts.flat())]
  await bareRate(urls, body, REQUESTS / 4)
  const before = await bareRate(urls, body, REQUESTS)
  const rate = await deliveredRate(accounts, body, REQUESTS)
  const after = await bareRate(urls, body, REQUESTS)
  const bare = (before + after) / 2
  return atLeast(what, bar, rate / bare, `${perSecond(rate)} of ${perSecond(bare)}`)
}

export async function benchThroughput(): Promise<Row[]> {
  using one = await startReceiverProcess(1)
  using fifty = await startReceiverProcess(50)
  const [url = ''] = one.urls
  const four = [url, url, url, url]
  const fiveHundred = Array.from({ length: 500 }, (_, n) => fifty.urls[n % 50] ?? '')
  return [
    await compare('delivered ÷ bare fetch, an event to 4 webhooks, 1 KB', 0.75, [four], 1_024),
    await compare('the same, 8 KB', 0.75, [four], 8_192),
    await compare('the same, an event to 1 webhook, 1 KB', 0.75, split(four, 1), 1_024),
    await compare('500 webhooks on 50 receivers ÷ bare fetch, 1 KB', 0.6, split(fiveHundred, 100), 1_024),
  ]
}

const PACED_MS = 5_000
const EVERY_MS = 5

/** The p99 of a webhook that is well, at 200 events a second, from the moment on at which the others begin to hang. */
async function pacedP99(well: string, dead: readonly string[]): Promise<number> {
  const service = await startBenchService(dead.length === 0 ? [[well]] : [[well], dead])
  const body = bodyOf(1_024)
  for (let n = 0; n < 100; n += 1) await service.tell(1, 1, body)
  service.latencies.clear()
  const endMs = performance.now() + PACED_MS
  while (performance.now() < endMs) {
    void service.tell(1, 1, body)
    if (dead.length > 0 && service.db.commits.batches % 20 === 0) void service.tell(2, 1, body)
    await Bun.sleep(EVERY_MS)
  }
  const sorted = (service.latencies.get(1) ?? []).toSorted((x, y) => x - y)
  // What hangs is left to hang: its ten seconds are not waited for.
  return (sorted[Math.floor(sorted.length * 0.99)] ?? 0) / 1_000
}

export async function benchIsolation(): Promise<Row[]> {
  using well = await startReceiverProcess(1)
  using hanging = await startReceiverProcess(100, 'hang')
  const [url = ''] = well.urls
  const alone = await pacedP99(url, [])
  const beside = await pacedP99(url, hanging.urls)
  const detail = `${beside.toFixed(1)} ms, alone ${alone.toFixed(1)} ms`
  return [atMost('p99 of a healthy webhook with 100 dead ÷ without', 1.3, beside / alone, '', detail)]
}
