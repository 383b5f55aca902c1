/** A first-in, first-out queue whose `shift` does not move the remaining items. */
type Fifo<T> = { readonly size: number; push(value: T): void; peek(): T | undefined; shift(): T | undefined }

/** Removed slots are kept up to this number before the array is copied without them. */
const SLACK = 1_024

/** Creates an empty queue. */
export function newFifo<T>(): Fifo<T> {
  let items: T[] = []
  let head = 0
  return {
    get size() {
      return items.length - head
    },
    push: (value) => void items.push(value),
    peek: () => items[head],
    shift() {
      if (head === items.length) return undefined
      const value = items[head]
      head += 1
      if (head === items.length) {
        items = []
        head = 0
      } else if (head > SLACK && head * 2 > items.length) {
        items = items.slice(head)
        head = 0
      }
      return value
    },
  }
}
