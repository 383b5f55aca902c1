import { resolve } from 'node:path'

/**
 * Measures the sources of a build in a separate process, by the build's own `test/bench/delivery.ts`. Prints the rate,
 * and the processor time of the whole process for 1,000 deliveries.
 */
if (import.meta.main) {
  const [root = '', accounts = '[]', bytes = '1024', deliveries = '0'] = process.argv.slice(2)
  const { bodyOf, deliveredRate } = await import(resolve(root, 'test/bench/delivery.ts'))
  const perSecond: number = await deliveredRate(JSON.parse(accounts), bodyOf(Number(bytes)), Number(deliveries))
  const { user, system } = process.cpuUsage()
  const warmUp = Math.min(20_000, Number(deliveries) / 2)
  console.log(JSON.stringify({ perSecond, processorMs: (user + system) / (Number(deliveries) + warmUp) }))
  process.exit(0)
}

type Measured = { readonly perSecond: number; readonly processorMs: number }
type Load = { readonly accounts: readonly (readonly string[])[]; readonly bytes: number; readonly deliveries: number }

/** Runs it for the sources in a folder. */
export async function rateOf(root: string, { accounts, bytes, deliveries }: Load): Promise<Measured> {
  const args = [root, JSON.stringify(accounts), String(bytes), String(deliveries)]
  const child = Bun.spawn([process.execPath, import.meta.path, ...args], { cwd: root, stdout: 'pipe' })
  return JSON.parse(await new Response(child.stdout).text())
}
