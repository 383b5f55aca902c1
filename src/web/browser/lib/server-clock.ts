import { useEffect, useState } from 'preact/hooks'
import { observable } from './observable.ts'

/** How far the server's clock is ahead of the browser's. Durations of live calls count on the server's clock. */
export const serverOffsetMs = observable(0)

/** Returns the server's time now, in milliseconds since 1970. */
export function serverNowMs(): number {
  return Date.now() + serverOffsetMs.get()
}

/** Redraws the component every second and returns the server's time. */
export function useServerNow(): number {
  const [, redraw] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => redraw((count) => count + 1), 1_000)
    return () => clearInterval(timer)
  }, [])
  return serverNowMs()
}
