/**
 * Creates a reader that keeps each result for a time, so that many requests at once cost one read. A failed read is not
 * kept.
 */
export function createFreshReader<Key, Value>(
  freshMs: number,
  read: (key: Key) => Promise<Value>,
  elapsedMs = () => performance.now(),
): (key: Key) => Promise<Value> {
  const known = new Map<Key, { readonly atMs: number; readonly value: Promise<Value> }>()
  return (key) => {
    const nowMs = elapsedMs()
    for (const [other, { atMs }] of known) {
      // The map is in the order in which the values were read.
      if (nowMs - atMs < freshMs) break
      known.delete(other)
    }
    const found = known.get(key)
    if (found !== undefined) return found.value
    const value = read(key)
    const entry = { atMs: nowMs, value }
    known.set(key, entry)
    value.catch(() => {
      if (known.get(key) === entry) known.delete(key)
    })
    return value
  }
}
