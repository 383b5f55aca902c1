import { useEffect, useState } from 'preact/hooks'
import { cell } from './state.ts'

/** How far the server's clock is ahead of the reader's: live durations count on the server's. */
export const serverAheadMs = cell(0)

export function serverNowMs(): number {
  return Date.now() + serverAheadMs.get()
}

/** Draws again every second while it is shown. */
export function useSeconds(): number {
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1_000)
    return () => clearInterval(timer)
  }, [])
  return serverNowMs()
}
