import { faultOfSigned } from '../../src/outbound/signature.ts'

/** A request as a receiver got it. */
type Received = {
  readonly path: string
  readonly id: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly atMs: number
}

export type Answer = (request: Received) => Response | Promise<Response>

/** Starts a real receiver on a free port. `answer` may be changed while it runs. */
export function startReceiver(answer: Answer = () => new Response('ok'), port = 0) {
  const received: Received[] = []
  const state = { answer }
  const server = Bun.serve({
    port,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const headers = Object.fromEntries(request.headers)
      const one: Received = {
        path: new URL(request.url).pathname,
        id: headers['webhook-id'] ?? '',
        headers,
        body: await request.text(),
        atMs: performance.now(),
      }
      received.push(one)
      return state.answer(one)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    port: server.port ?? 0,
    received,
    answerWith(next: Answer): void {
      state.answer = next
    },
    /** Returns the faults of all signatures, judged at the time when each request arrived. */
    faults: (secret: string): string[] =>
      received.flatMap(({ headers, body, atMs }) => {
        const atS = (performance.timeOrigin + atMs) / 1_000
        return faultOfSigned(secret, headers, body, atS) ?? []
      }),
    stop: () => server.stop(true),
  }
}

export type Receiver = ReturnType<typeof startReceiver>

/**
 * Starts a receiver that notes the ids that it accepted, apart from all requests; it accepts all until it gets another
 * answer.
 */
export function startTaking() {
  const taken: string[] = []
  const take: Answer = ({ id }) => {
    taken.push(id)
    return new Response('ok')
  }
  return { ...startReceiver(take), taken, take }
}

export type Taking = ReturnType<typeof startTaking>

/** Far longer than a loaded machine takes: it names what never comes true, and measures nothing. */
const PATIENCE_MS = 300_000

/** An expensive check (a command, a request) runs less often, so that it does not slow down its own condition. */
const PAUSE_MS = { least: 5, most: 100 }

/** Waits for a condition. @throws with `what` when it does not come true. */
export async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  details: () => string = () => '',
): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS
  for (;;) {
    const startedMs = performance.now()
    if (await isTrue()) return
    const nowMs = performance.now()
    if (nowMs > deadlineMs) throw new Error([`it did not come true: ${what}`, details()].join('\n').trim())
    await Bun.sleep(Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, 2 * (nowMs - startedMs))))
  }
}

/**
 * Runs a check with a short timeout, and with longer ones if it fails: how much time its other parts need differs from
 * machine to machine.
 */
export async function withEnoughTime(check: (timeoutMs: number) => Promise<void>): Promise<void> {
  for (const timeoutMs of [400, 4_000])
    try {
      return await check(timeoutMs)
    } catch {
      // The next one decides.
    }
  await check(40_000)
}
