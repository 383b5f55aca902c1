import { newFifo } from '../lib/fifo.ts'
import type { AbortGroup } from './abort-group.ts'

/** A time limit, shared by the few requests that began together. Each calls `end` once, when it is over. */
type Deadline = { readonly signal: AbortSignal; end(): void }

type Entry = Deadline & {
  readonly controller: AbortController
  readonly group: AbortGroup | undefined
  beganMs: number
  users: number
  open: number
}

/** How late a deadline may be. */
const STEP_MS = 20
/** Requests that begin within this time share a signal: one for each would be a twentieth of the main thread's load. */
const TOGETHER_MS = 1
/** A signal iterates over all its past listeners whenever one is removed. */
const MAX_USERS = 16

/**
 * Creates deadlines of equal length, which pass in the order of their beginnings: so one timer checks the first.
 * `AbortSignal.timeout` keeps each signal and its references for the whole time, most of the garbage collector's work
 * at 20,000 requests a second.
 */
export function createDeadlines(timeoutMs: number) {
  const entries = newFifo<Entry>()
  /** The newest deadline of each group: two groups cannot share a signal. */
  const newest = new Map<AbortGroup | undefined, Entry>()
  let timer: Timer | undefined

  const check = () => {
    const nowMs = performance.now()
    for (let first = entries.peek(); first !== undefined; first = entries.peek()) {
      if (first.open > 0 && nowMs < first.beganMs + TOGETHER_MS + timeoutMs) return
      entries.shift()
      first.group?.remove(first.controller)
      if (first === newest.get(first.group)) newest.delete(first.group)
      if (first.open > 0) first.controller.abort(new DOMException('too late', 'TimeoutError'))
    }
    clearInterval(timer)
    timer = undefined
  }

  const add = (beganMs: number, group: AbortGroup | undefined): Entry => {
    const controller = new AbortController()
    group?.add(controller)
    const entry: Entry = {
      controller,
      group,
      signal: controller.signal,
      beganMs,
      users: 0,
      open: 0,
      end() {
        entry.open -= 1
      },
    }
    entries.push(entry)
    timer ??= setInterval(check, STEP_MS)
    return entry
  }

  const mayShare = ({ users, beganMs }: Entry, nowMs: number) => users < MAX_USERS && nowMs - beganMs <= TOGETHER_MS
  return {
    /** Begins a deadline. @param nowMs by `performance.now()` */
    begin(nowMs: number, group?: AbortGroup): Deadline {
      const last = newest.get(group)
      const entry = last !== undefined && mayShare(last, nowMs) ? last : add(nowMs, group)
      if (entry !== last) newest.set(group, entry)
      entry.users += 1
      entry.open += 1
      return entry
    },
  }
}
