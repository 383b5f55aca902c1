import { resolve } from 'node:path'

/** Starts receivers in their own process, so that their processor time is not counted as the service's. */
export async function startReceiverProcess(ports: number, kind: 'ok' | 'hang' | 'count' = 'ok') {
  const script = resolve(import.meta.dir, 'receiver.ts')
  const child = Bun.spawn([process.execPath, script, String(ports), kind], { stdout: 'pipe' })
  const { value } = await child.stdout.getReader().read()
  const listening: number[] = JSON.parse(new TextDecoder().decode(value))
  return {
    urls: listening.map((port) => `http://127.0.0.1:${port}/hook`),
    [Symbol.dispose]: () => void child.kill(),
  }
}

/** A bare `fetch` loop, 64 requests at a time: the limit of the machine and Bun. */
export async function bareRate(urls: readonly string[], body: string, requests: number): Promise<number> {
  const startedMs = performance.now()
  let sent = 0
  const one = async () => {
    while (sent < requests) {
      const url = urls[sent++ % urls.length] ?? ''
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(url, { method: 'POST', body, headers })
      await response.text()
    }
  }
  await Promise.all(Array.from({ length: 64 }, one))
  return (requests / (performance.now() - startedMs)) * 1_000
}
