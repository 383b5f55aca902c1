import { useEffect, useState } from 'preact/hooks'

/** A value that views can watch. The whole page's shared state is a handful of these. */
export type Cell<T> = {
  get(): T
  set(next: T): void
  update(change: (before: T) => T): void
  watch(listener: () => void): () => void
}

export function cell<T>(initial: T): Cell<T> {
  let value = initial
  const listeners = new Set<() => void>()
  const set = (next: T) => {
    if (Object.is(next, value)) return
    value = next
    for (const listener of [...listeners]) listener()
  }
  return {
    get: () => value,
    set,
    update: (change) => set(change(value)),
    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Draws the component again whenever the cell changes. */
export function useCell<T>(source: Cell<T>): T {
  const [, redraw] = useState({})
  useEffect(() => source.watch(() => redraw({})), [source])
  return source.get()
}
