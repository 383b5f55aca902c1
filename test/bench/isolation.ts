import { resolve } from 'node:path'
import { startReceiverProcess } from './receiver-process.ts'
import { atMost, type Row } from './table.ts'

const TURNS = 4

async function latenciesMs(urls: readonly string[]): Promise<number[]> {
  const script = resolve(import.meta.dir, 'paced.ts')
  const child = Bun.spawn([process.execPath, script, ...urls], { stdout: 'pipe', env: process.env })
  const text = await new Response(child.stdout).text()
  return JSON.parse(text).map((us: number) => us / 1_000)
}

const p99 = (latencies: readonly number[]): number =>
  latencies.toSorted((one, other) => one - other)[Math.floor(latencies.length * 0.99)] ?? 0

/**
 * Measures how 100 hanging receivers affect a healthy one. The cases run in turns, so that they see the same machine;
 * the figures are over all turns.
 */
export async function benchIsolation(): Promise<Row[]> {
  using well = await startReceiverProcess(1)
  using hanging = await startReceiverProcess(100, 'hang')
  const alone: number[] = []
  const beside: number[] = []
  for (let turn = 0; turn < TURNS; turn += 1) {
    alone.push(...(await latenciesMs(well.urls)))
    beside.push(...(await latenciesMs([...well.urls, ...hanging.urls])))
  }
  const detail = `${p99(beside).toFixed(1)} ms, alone ${p99(alone).toFixed(1)} ms`
  return [atMost('p99 of a healthy webhook with 100 dead ÷ without', 1.3, p99(beside) / p99(alone), '', detail)]
}
