// Asks the service every 10 ms for an answer that no store is needed for, and as often for `/health`, which waits for a
// commit once a second; whether or not the answers before have come. A process of its own, so that reading large answers
// in the bench delays no request.

const EVERY_MS = 10
/** After an action: what it left behind may still stop the service. */
const AFTER_MS = 300

if (import.meta.main) {
  const [url = ''] = process.argv.slice(2)
  const asked = [askAgainAndAgain(`${url}/no-such-path`, 404), askAgainAndAgain(`${url}/health`, 200)]
  for await (const line of console) {
    if (line === 'begin') {
      for (const { begin } of asked) begin()
      continue
    }
    const [loop, health] = asked.map(({ longestMs }) => longestMs())
    console.log(JSON.stringify({ longestMs: loop, commitMs: health, isFailing: asked.some((one) => one.isFailing()) }))
  }
  // The bench has ended.
  process.exit(0)
}

function askAgainAndAgain(url: string, expected: number) {
  let longestMs = 0
  let isFailing = false
  const open = new Set<number>()
  const beginMs = performance.now()
  const ask = async (dueMs: number) => {
    open.add(dueMs)
    try {
      const response = await fetch(url)
      await response.arrayBuffer()
      isFailing ||= response.status !== expected
    } catch {
      isFailing = true
    }
    open.delete(dueMs)
    longestMs = Math.max(longestMs, performance.now() - dueMs)
  }
  let asked = 0
  setInterval(() => {
    for (; beginMs + asked * EVERY_MS <= performance.now(); asked += 1) void ask(beginMs + asked * EVERY_MS)
  }, EVERY_MS / 2)
  return {
    begin() {
      longestMs = 0
      isFailing = false
    },
    /** Returns the longest time until an answer since the beginning; a request that waits counts so far. */
    longestMs(): number {
      const [oldestMs] = open
      return oldestMs === undefined ? longestMs : Math.max(longestMs, performance.now() - oldestMs)
    },
    isFailing: () => isFailing,
  }
}

export type Stall = {
  /** The longest time in which the event loop answered nobody. */
  readonly longestMs: number
  /** The longest time that `/health` took: with a commit once a second. */
  readonly commitMs: number
  readonly tookMs: number
  readonly isFailing: boolean
}

/** Starts the probe beside a service. */
export function startProbe(url: string) {
  const child = Bun.spawn([process.execPath, import.meta.path, url], { stdin: 'pipe', stdout: 'pipe' })
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
