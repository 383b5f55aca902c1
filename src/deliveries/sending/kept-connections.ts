const MAX_ORIGINS = 4_096

/**
 * Counts the connections that `fetch` may have kept to each origin. It does not say which connection a request went out on; but
 * it takes a kept one where there is one, so that a request began on a new connection for certain when this count is 0.
 */
export function createKeptConnections() {
  const kept = new Map<string, number>()
  return {
    /** A request begins: returns whether it may go out on a kept connection. */
    take(origin: string): boolean {
      const count = kept.get(origin)
      if (count === undefined) return false
      if (count === 1) kept.delete(origin)
      else kept.set(origin, count - 1)
      return true
    },
    /** An answer was read to its end, so that its connection may be kept. */
    give(origin: string): void {
      kept.set(origin, (kept.get(origin) ?? 0) + 1)
      if (kept.size <= MAX_ORIGINS) return
      const [oldest = ''] = kept.keys()
      kept.delete(oldest)
    },
  }
}
