import { bodyOf, deliveredRate } from './delivery.ts'
import { floorRate } from './floor.ts'
import { bareRate, startReceiverProcess } from './receiver-process.ts'
import { atLeast, perSecond, type Row } from './table.ts'

const REQUESTS = 100_000
const split = (urls: readonly string[], size: number) =>
  Array.from({ length: Math.ceil(urls.length / size) }, (_, n) => urls.slice(n * size, (n + 1) * size))

/**
 * In turns, so that all see the same machine. What the least would reach that stores, signs, sends and logs shows how much of what is
 * missing to the bare loop is the storing itself.
 */
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
  const least = await floorRate(accounts[0] ?? [], body, REQUESTS)
  const after = await bareRate(urls, body, REQUESTS)
  const bare = (before + after) / 2
  const detail = `${perSecond(rate)} of ${perSecond(bare)}; the least that could: ${(least / bare).toFixed(2)}`
  return atLeast(what, bar, rate / bare, detail)
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
