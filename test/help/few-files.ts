import { closeSync, openSync } from 'node:fs'
import { newAttempt } from '../../src/deliveries/sending/attempt.ts'
import { parseAllowList } from '../../src/outbound/address-guard.ts'
import type { Attempted } from '../../src/outbound/outcome.ts'
import { targetOf } from '../../src/outbound/target.ts'

const LIMIT = 256

/** A process that makes an attempt at each URL while it has no file descriptor left, and again when it has. */
async function main(): Promise<void> {
  const parsed = parseAllowList(['loopback'])
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  const attempt = newAttempt({ allow: parsed.allow, timeoutMs: 60_000 })
  const post = (url: string) =>
    attempt({ target: targetOf(url), id: 'x', timestampS: 1, signature: 'v1,x', traceparent: '', body: '{}' })
  const urls = process.argv.slice(2)
  // The first attempt starts threads, which take descriptors of their own.
  await Promise.all(['http://127.0.0.1:1/', 'http://nobody.invalid/'].map(post))
  const files: number[] = []
  try {
    for (;;) files.push(openSync('/dev/null', 'r'))
  } catch {
    // All descriptors are taken.
  }
  const without = await Promise.all(urls.map(post))
  for (const file of files) closeSync(file)
  process.stdout.write(JSON.stringify([without, await Promise.all(urls.map(post))]))
}

/** Returns the outcomes of attempts without any free file descriptor, then with some. */
export async function attemptWithoutFiles(urls: readonly string[]): Promise<[Attempted[], Attempted[]]> {
  const command = `ulimit -n ${LIMIT} && exec "$@"`
  const child = Bun.spawn(['sh', '-c', command, 'sh', process.execPath, import.meta.path, ...urls], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const came = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error('the process without file descriptors has failed')
  return JSON.parse(came)
}

if (import.meta.main) await main()
