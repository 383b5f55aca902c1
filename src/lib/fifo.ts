/** A first-in, first-out queue. */
type Fifo<T> = {
  readonly size: number
  push(value: T): void
  peek(): T | undefined
  shift(): T | undefined
  /** Puts a value before all others. */
  unshift(value: T): void
  /** Returns the values, the first one first. */
  values(): T[]
}

/** The least and the greatest number of slots that are kept while the queue is empty. */
const MIN_SLOTS = 16
const MAX_IDLE_SLOTS = 4_096

/**
 * Creates an empty queue: a ring, which doubles when it is full. It drops the reference to a removed item at
 * once: an item that survives a few collections of garbage costs far more than one that dies young.
 */
export function newFifo<T>(): Fifo<T> {
  let slots = new Array<T | undefined>(MIN_SLOTS).fill(undefined)
  let head = 0
  let size = 0

  function grow(): void {
    slots = [...slots.slice(head), ...slots.slice(0, head), ...new Array<undefined>(slots.length).fill(undefined)]
    head = 0
  }

  return {
    get size() {
      return size
    },
    push(value) {
      if (size === slots.length) grow()
      // The number of slots is a power of two.
      slots[(head + size) & (slots.length - 1)] = value
      size += 1
    },
    peek: () => slots[head],
    unshift(value) {
      if (size === slots.length) grow()
      head = (head - 1) & (slots.length - 1)
      slots[head] = value
      size += 1
    },
    values() {
      const all: T[] = []
      // Each of these slots holds a value, which may be `undefined` itself.
      for (let at = 0; at < size; at += 1) all.push(slots[(head + at) & (slots.length - 1)] as T)
      return all
    },
    shift() {
      if (size === 0) return undefined
      const value = slots[head]
      slots[head] = undefined
      head = (head + 1) & (slots.length - 1)
      size -= 1
      if (size === 0 && slots.length > MAX_IDLE_SLOTS) {
        slots = new Array<T | undefined>(MIN_SLOTS).fill(undefined)
        head = 0
      }
      return value
    },
  }
}
