import { createAttempts } from '../../src/deliveries/mqtt/attempts.ts'
import { parseAllowList } from '../../src/outbound/address-guard.ts'
import type { Attempted } from '../../src/outbound/outcome.ts'
import { targetOf } from '../../src/outbound/target.ts'

/**
 * Makes attempts in its own process, since trusted certificate authorities are read only when a process starts. Every
 * name resolves to 127.0.0.1. Argument: the timeout in milliseconds. Standard input: rounds of URLs as JSON; the URLs
 * of a round are called at the same time. Standard output: the outcomes, in the same shape.
 */
async function main(): Promise<void> {
  const rounds: string[][] = JSON.parse(await Bun.stdin.text())
  const parsed = parseAllowList(['loopback'])
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  const { attempt, stop } = createAttempts({
    allow: parsed.allow,
    timeoutMs: Number(process.argv[2]),
    resolve: async () => ['127.0.0.1'],
  })
  const came: Attempted[][] = []
  for (const urls of rounds)
    came.push(
      await Promise.all(
        urls.map((url, webhookId) =>
          attempt({
            target: targetOf(url),
            id: 'x',
            timestampS: 1,
            signature: 'v1,x',
            traceparent: '',
            body: '{}',
            publication: { webhookId, topic: 'x', retain: false },
          }),
        ),
      ),
    )
  await stop()
  process.stdout.write(JSON.stringify(came))
}

/** Makes attempts in a process that trusts these authorities besides the usual ones. */
export async function attemptTrusting(
  caFile: string,
  rounds: readonly (readonly string[])[],
  timeoutMs = 3_600_000,
): Promise<Attempted[][]> {
  const child = Bun.spawn([process.execPath, import.meta.path, `${timeoutMs}`], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: caFile },
    stdin: new Blob([JSON.stringify(rounds)]),
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const came = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error('the process that makes attempts has failed')
  return JSON.parse(came)
}

if (import.meta.main) await main()
