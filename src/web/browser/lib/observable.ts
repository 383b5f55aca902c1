import { useEffect, useState } from 'preact/hooks'

/** A value that views can subscribe to. The state shared by the whole page is a handful of these. */
type Observable<T> = {
  get(): T
  set(next: T): void
  update(change: (before: T) => T): void
  /** Calls the listener after every change; returns a function that unsubscribes it. */
  subscribe(listener: () => void): () => void
}

/** Makes an observable that starts with this value. */
export function observable<T>(initial: T): Observable<T> {
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
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Returns the observable's value and redraws the component whenever it changes. */
export function useObservable<T>(source: Observable<T>): T {
  const [, redraw] = useState({})
  const drawn = source.get()
  useEffect(() => {
    // It may have changed between the drawing and the subscription.
    if (!Object.is(source.get(), drawn)) redraw({})
    return source.subscribe(() => redraw({}))
  }, [source])
  return drawn
}
