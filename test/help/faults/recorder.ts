import type { Arrival } from './delivery-order.ts'

/** How a receiver behaves. */
type Manner = 'answers' | 'hangs' | 'refuses'

/** Starts a receiver for long runs: it records requests and answers, without the bodies. */
export function startRecorder() {
  let arrivals: Arrival[] = []
  let manner: Manner = 'answers'
  let wake = Promise.withResolvers<void>()

  async function answer(): Promise<Response> {
    if (manner === 'hangs') await wake.promise
    return manner === 'refuses' ? new Response('no', { status: 500 }) : new Response('ok')
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const atMs = Date.now()
      const body = await request.text().catch(() => undefined)
      // Who sent it ended in the middle of it.
      if (body === undefined) return new Response(null, { status: 400 })
      const arrival: { -readonly [name in keyof Arrival]: Arrival[name] } = {
        id: request.headers.get('webhook-id') ?? '',
        atMs,
        status: undefined,
        bodyHash: Bun.hash(body),
      }
      arrivals.push(arrival)
      const response = await answer()
      if (!request.signal.aborted) arrival.status = response.status
      return response
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    /** Returns the record so far, and begins another. */
    takeArrivals(): readonly Arrival[] {
      const taken = arrivals
      arrivals = []
      return taken
    },
    /** Changes how it answers, also for requests that hang already. */
    become(next: Manner): void {
      manner = next
      wake.resolve()
      wake = Promise.withResolvers<void>()
    },
    stop: () => server.stop(true),
  }
}

export type Recorder = ReturnType<typeof startRecorder>
