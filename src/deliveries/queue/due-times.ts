type Entry<Item> = { readonly item: Item; readonly dueUs: number }

export type DueTimes<Item> = ReturnType<typeof createDueTimes<Item>>

/**
 * Creates the due times of items, of each the earliest that was planned since it was taken. Finding those that are due
 * costs nothing for the others: the times are in a binary heap.
 */
export function createDueTimes<Item>() {
  const heap: Entry<Item>[] = []
  /** The valid entry of each item; the heap may also have later ones, which are skipped. */
  const planned = new Map<Item, Entry<Item>>()

  const dueAt = (at: number): number => heap[at]?.dueUs ?? Number.POSITIVE_INFINITY
  const swap = (one: number, other: number): void => {
    const [first, second] = [heap[one], heap[other]]
    if (first === undefined || second === undefined) return
    heap[one] = second
    heap[other] = first
  }
  const parentOf = (at: number): number => (at - 1) >> 1

  function push(entry: Entry<Item>): void {
    heap.push(entry)
    for (let at = heap.length - 1; at > 0 && dueAt(at) < dueAt(parentOf(at)); at = parentOf(at)) swap(at, parentOf(at))
  }
  function pop(): Entry<Item> | undefined {
    swap(0, heap.length - 1)
    const first = heap.pop()
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      const child = dueAt(right) < dueAt(left) ? right : left
      if (dueAt(child) >= dueAt(at)) return first
      swap(at, child)
      at = child
    }
  }

  return {
    /** Plans an item for a time, unless it is planned for an earlier one. */
    plan(item: Item, dueUs: number): void {
      const known = planned.get(item)
      if (known !== undefined && known.dueUs <= dueUs) return
      const entry = { item, dueUs }
      planned.set(item, entry)
      push(entry)
    },
    /** Forgets the time of an item. */
    remove: (item: Item): void => void planned.delete(item),
    /** Takes the items that are due, the earliest first. */
    take(nowUs: number): Item[] {
      const due: Item[] = []
      while (dueAt(0) <= nowUs) {
        const entry = pop()
        if (entry === undefined || planned.get(entry.item) !== entry) continue
        planned.delete(entry.item)
        due.push(entry.item)
      }
      return due
    },
  }
}
