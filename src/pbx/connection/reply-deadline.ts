/** The pause between two checks whether all bytes are decoded. */
const AGAIN_MS = 250
/** The longest flood behind which a reply is awaited. */
const MAX_BEHIND_MS = 60_000

/**
 * Calls back after `ms`, unless it is cancelled: there was no reply. While bytes wait to be decoded it waits on, since
 * the reply may be among them.
 */
export function startReplyDeadline(
  ms: number,
  expired: () => void,
  isBehind = (): boolean => false,
): { cancel(): void } {
  const untilMs = performance.now() + ms + MAX_BEHIND_MS
  const ring = (): void => {
    if (isBehind() && performance.now() < untilMs) timer = setTimeout(ring, AGAIN_MS)
    else expired()
  }
  let timer = setTimeout(ring, ms)
  return { cancel: () => clearTimeout(timer) }
}
