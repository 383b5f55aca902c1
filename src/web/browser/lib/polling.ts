import { useEffect } from 'preact/hooks'

/** Calls `load` at once and then at an interval while the page is visible; it begins again when `inputs` change. */
export function usePolling(load: () => void, everyMs: number, inputs: readonly unknown[]): void {
  useEffect(() => {
    load()
    const timer = setInterval(() => {
      if (!document.hidden) load()
    }, everyMs)
    return () => clearInterval(timer)
  }, inputs)
}
