import { type Build, buildsOf, median } from './build.ts'
import { bodyOf } from './delivery.ts'
import { fanOut } from './fan-out.ts'
import { floorRate } from './floor.ts'
import { rateOf } from './rate-process.ts'
import { bareRate, startReceiverProcess } from './receiver-process.ts'
import { atLeast, atMost, figure, perSecond, type Row } from './table.ts'

const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 100_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const split = (urls: readonly string[], size: number) =>
  Array.from({ length: Math.ceil(urls.length / size) }, (_, n) => urls.slice(n * size, (n + 1) * size))

/** A run of one build: its rate, the rate of a bare `fetch` loop just before and after, and its processor time. */
type Run = { readonly perSecond: number; readonly bare: number; readonly processorMs: number; readonly peakMb?: number }
type Runs = { readonly build: Build; readonly runs: readonly Run[] }

const ratioOf = (runs: readonly Run[]): number => median(runs.map((run) => run.perSecond / run.bare))
const rateOfRuns = (runs: readonly Run[]): string =>
  `${perSecond(median(runs.map((run) => run.perSecond)))} of ${perSecond(median(runs.map(({ bare }) => bare)))}`
const processorOf = (runs: readonly Run[]): number => median(runs.map(({ processorMs }) => processorMs))
const peakOf = (runs: readonly Run[]): number => median(runs.map(({ peakMb = 0 }) => peakMb))

/** Measures all builds in turns, so that each sees the same machine. */
async function inTurns(builds: readonly Build[], run: (build: Build) => Promise<Run>): Promise<[Runs, ...Runs[]]> {
  const all = builds.map((build) => ({ build, runs: [] as Run[] }))
  for (let round = 0; round < ROUNDS; round += 1) for (const { build, runs } of all) runs.push(await run(build))
  const [now, ...others] = all
  if (now === undefined) throw new Error('there is no build')
  return [now, ...others]
}

const besides = (others: readonly Runs[], text: (runs: readonly Run[]) => string): string =>
  others.map(({ build, runs }) => `; ${build.name}: ${text(runs)}`).join('')

async function compare(what: string, bar: number, load: Load, builds: readonly Build[]): Promise<Row[]> {
  const { accounts, bytes } = load
  const body = bodyOf(bytes)
  const urls = [...new Set(accounts.flat())]
  await bareRate(urls, body, REQUESTS / 4)
  const [{ runs }, ...others] = await inTurns(builds, async ({ root }) => {
    const before = await bareRate(urls, body, REQUESTS / 2)
    const measured = await rateOf(root, { accounts, bytes, deliveries: REQUESTS })
    const after = await bareRate(urls, body, REQUESTS / 2)
    return { ...measured, bare: (before + after) / 2 }
  })
  const least = (await floorRate(accounts[0] ?? [], body, REQUESTS)) / median(runs.map(({ bare }) => bare))
  const then = besides(others, (old) => `${ratioOf(old).toFixed(3)}, ${rateOfRuns(old)}`)
  const detail = `${rateOfRuns(runs)}; the least that could: ${least.toFixed(2)}${then}`
  const thenMs = besides(others, (old) => `${processorOf(old).toFixed(1)} ms`)
  return [
    atLeast(what, bar, ratioOf(runs), detail),
    figure('its processor time for 1,000 deliveries', processorOf(runs), ' ms', `the service alone${thenMs}`),
  ]
}

type Load = { readonly accounts: readonly (readonly string[])[]; readonly bytes: number }

/** The rate from a PBX's bytes to 50 webhooks, with the executable. */
async function compareFanOut(builds: readonly Build[]): Promise<Row[]> {
  const deliveries = REQUESTS * 1.8
  const [{ runs }, ...others] = await inTurns(builds, async ({ executable }) => {
    const { barePerSecond, ...run } = await fanOut({ executable, webhooks: 50, deliveries })
    return { ...run, bare: barePerSecond }
  })
  const then = besides(others, (old) => `${ratioOf(old).toFixed(3)}, ${rateOfRuns(old)}`)
  const thenMs = besides(others, (old) => `${processorOf(old).toFixed(1)} ms`)
  const thenMb = besides(others, (old) => `${Math.round(peakOf(old))} MB`)
  return [
    atLeast('AMI to 50 webhooks ÷ bare fetch', 0.45, ratioOf(runs), `${rateOfRuns(runs)}${then}`),
    atMost('its processor time for 1,000 deliveries', 150, processorOf(runs), ' ms', `the whole process${thenMs}`),
    atMost('its highest memory', 250, peakOf(runs), ' MB', `the whole process${thenMb}`),
  ]
}

/** Measures this build, and beside it the builds of some commits. */
export async function benchThroughput(against: readonly string[] = []): Promise<Row[]> {
  const builds = await buildsOf(against)
  using one = await startReceiverProcess(1)
  using fifty = await startReceiverProcess(50)
  const [url = ''] = one.urls
  const four = [url, url, url, url]
  const fiveHundred = Array.from({ length: 500 }, (_, n) => fifty.urls[n % 50] ?? '')
  const [small, large] = [1_024, 8_192]
  return [
    ...(await compareFanOut(builds)),
    ...(await compare(
      'delivered ÷ bare fetch, an event to 4 webhooks, 1 KB',
      0.6,
      { accounts: [four], bytes: small },
      builds,
    )),
    ...(await compare('the same, 8 KB', 0.5, { accounts: [four], bytes: large }, builds)),
    ...(await compare(
      'the same, an event to 1 webhook, 1 KB',
      0.55,
      { accounts: split(four, 1), bytes: small },
      builds,
    )),
    ...(await compare(
      '500 webhooks on 50 receivers ÷ bare fetch, 1 KB',
      0.6,
      { accounts: split(fiveHundred, 100), bytes: small },
      builds,
    )),
  ]
}
