// Asks the service every 10 ms for an answer that no store is needed for, and as often for `/health`, which waits for a
// commit once a second; whether or not the answers before have come. A process of its own, so that reading large answers
// in the bench delays no request.

import { readFileSync } from 'node:fs'

const EVERY_MS = 10
/** After an action: what it left behind may still stop the service. */
const AFTER_MS = 300

if (import.meta.main) {
  const [url = '', pid = ''] = process.argv.slice(2)
  const busyMs = () => Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  const asked = [askAgainAndAgain(`${url}/no-such-path`, 404, busyMs), askAgainAndAgain(`${url}/health`, 200, busyMs)]
  for await (const line of console) {
    if (line === 'begin') {
      for (const { begin } of asked) begin()
      continue
    }
    const [loop, health] = asked.map((one) => one.result())
    const isFailing = asked.some((one) => one.isFailing())
    const { longestMs, busyMs } = loop ?? {}
    console.log(JSON.stringify({ longestMs, busyMs, commitMs: health?.longestMs, isFailing }))
  }
  // The bench has ended.
  process.exit(0)
}

function askAgainAndAgain(url: string, expected: number, busyMs: () => number) {
  let longest = { longestMs: 0, busyMs: 0 }
  let isFailing = false
  const open = new Map<number, number>()
  const beginMs = performance.now()
  const ask = async (dueMs: number) => {
    const busyBeforeMs = busyMs()
    open.set(dueMs, busyBeforeMs)
    try {
      const response = await fetch(url)
      await response.arrayBuffer()
      isFailing ||= response.status !== expected
    } catch {
      isFailing = true
    }
    open.delete(dueMs)
    note(dueMs, busyBeforeMs)
  }
  function note(dueMs: number, busyBeforeMs: number): void {
    longest = {
      longestMs: Math.max(longest.longestMs, performance.now() - dueMs),
      busyMs: Math.max(longest.busyMs, busyMs() - busyBeforeMs),
    }
  }
  let asked = 0
  setInterval(() => {
    for (; beginMs + asked * EVERY_MS <= performance.now(); asked += 1) void ask(beginMs + asked * EVERY_MS)
  }, EVERY_MS / 2)
  return {
    begin() {
      longest = { longestMs: 0, busyMs: 0 }
      isFailing = false
    },
    /** Returns the longest time until an answer since the beginning; a request that waits counts so far. */
    result() {
      const [oldest] = open
      if (oldest !== undefined) note(...oldest)
      return longest
    },
    isFailing: () => isFailing,
  }
}

export type Stall = {
  /** The longest time in which the event loop answered nobody. */
  readonly longestMs: number
  /**
   * The longest time that the thread of the event loop ran while one of them waited. What is missing to `longestMs` it
   * waited for a processor or the disk.
   */
  readonly busyMs: number
  /** The longest time that `/health` took: with a commit once a second. */
  readonly commitMs: number
  readonly tookMs: number
  readonly isFailing: boolean
}

/** Starts the probe beside a service. */
export function startProbe({ url, pid }: { readonly url: string; readonly pid: number }) {
  const child = Bun.spawn([process.execPath, import.meta.path, url, String(pid)], { stdin: 'pipe', stdout: 'pipe' })
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  async function nextLine(): Promise<string> {
    while (!rest.includes('\n')) rest += (await lines.read()).value ?? '\n'
    const end = rest.indexOf('\n')
    const line = rest.slice(0, end)
    rest = rest.slice(end + 1)
    return line
  }
  return {
    /** Returns the longest times that answers took during an action. */
    async during(action: () => Promise<unknown>): Promise<Stall> {
      child.stdin.write('begin\n')
      child.stdin.flush()
      const startedMs = performance.now()
      await action()
      const tookMs = performance.now() - startedMs
      await Bun.sleep(AFTER_MS)
      child.stdin.write('end\n')
      child.stdin.flush()
      return { ...JSON.parse(await nextLine()), tookMs }
    },
    [Symbol.dispose]: () => void child.kill(),
  }
}
