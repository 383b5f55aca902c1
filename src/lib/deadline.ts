/** After a deadline, the time in which an answer that has arrived is still taken. */
const GRACE_MS = 100

/**
 * Calls back after `ms`, unless it is cancelled. When the event loop was held, timers ring before the answers that have
 * arrived meanwhile are read. These still count: the callback comes some turns of the loop after the deadline.
 */
export function startDeadline(ms: number, expired: () => void): { cancel(): void } {
  let timer = setTimeout(() => {
    timer = setTimeout(expired, GRACE_MS)
  }, ms)
  return { cancel: () => clearTimeout(timer) }
}
