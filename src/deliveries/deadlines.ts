import { newFifo } from '../lib/fifo.ts'

/** One limit in time. `over` when it is needed no more. */
export type Deadline = { readonly signal: AbortSignal; over: boolean }

type Entry = Deadline & { readonly controller: AbortController; readonly atMs: number }

/** How late a deadline may be. */
const STEP_MS = 20

/**
 * Deadlines that are all equally far away, so that they pass in the order in which they began: one timer looks at the first.
 * `AbortSignal.timeout` keeps each signal, and all that hangs on it, for the whole time: at 20,000 requests a second that is most of
 * what the garbage collector walks through.
 */
export function createDeadlines(timeoutMs: number) {
  const entries = newFifo<Entry>()
  let timer: Timer | undefined

  const look = () => {
    const nowMs = performance.now()
    for (let first = entries.peek(); first !== undefined; first = entries.peek()) {
      if (!first.over && first.atMs > nowMs) return
      entries.shift()
      if (!first.over) first.controller.abort(new DOMException('too late', 'TimeoutError'))
    }
    clearInterval(timer)
    timer = undefined
  }

  return {
    begin(): Deadline {
      const controller = new AbortController()
      const entry = { controller, signal: controller.signal, atMs: performance.now() + timeoutMs, over: false }
      entries.push(entry)
      timer ??= setInterval(look, STEP_MS)
      return entry
    },
  }
}
