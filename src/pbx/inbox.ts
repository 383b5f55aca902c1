/**
 * What came from a PBX and waits for the tracker. The socket's callback only puts things in; they are handled in slices between
 * which the sockets are read, since a PBX drops a client that does not read.
 *
 * Bounded: when it is full, what matters least is shed first, then what is new. Either way something is missing, and `overrun` says so
 * (once, until the inbox has been empty again).
 */
export type Inbox<Item> = {
  push(item: Item): void
  /** Puts something before all that waits. */
  unshift(item: Item): void
  /** While it is held, nothing is handled. */
  hold(held: boolean): void
  waiting(): readonly Item[]
  /** Handles all that waits, at once. */
  flush(): void
}

type Options<Item> = {
  readonly handle: (items: readonly Item[]) => void
  /** May this be shed? */
  readonly matters: (item: Item) => boolean
  readonly overrun: (shed: number) => void
  readonly capacity?: number
  readonly defer?: (run: () => void) => void
}

/** A frame is some 400 bytes, so that this is some 20 MB; at 1,000 calls a second it is 2 s of the tracker standing still. */
const CAPACITY = 50_000
/** Some 2 ms of tracking. */
const SLICE = 256

export function createInbox<Item>(options: Options<Item>): Inbox<Item> {
  const { handle, matters, overrun, capacity = CAPACITY, defer = setImmediate } = options
  let items: Item[] = []
  let next = 0
  let held = false
  let scheduled = false
  let overran = false

  const run = (): void => {
    scheduled = false
    if (held || next === items.length) return
    const slice = items.slice(next, next + SLICE)
    next += slice.length
    if (next === items.length) {
      items = []
      next = 0
      overran = false
    }
    handle(slice)
    schedule()
  }
  const schedule = (): void => {
    if (scheduled || held || next === items.length) return
    scheduled = true
    defer(run)
  }
  /** Only once in an overrun: going through all of it for each new item would cost more than handling it. */
  const shed = (): void => {
    const waiting = items.slice(next)
    items = waiting.filter(matters)
    next = 0
    overran = true
    overrun(waiting.length - items.length)
  }

  return {
    push(item) {
      if (items.length - next >= capacity) {
        if (!overran) shed()
        if (items.length - next >= capacity) return
      }
      items.push(item)
      schedule()
    },
    unshift(item) {
      items = [item, ...items.slice(next)]
      next = 0
      schedule()
    },
    hold(now) {
      held = now
      schedule()
    },
    waiting: () => items.slice(next),
    flush() {
      held = false
      const rest = items.slice(next)
      items = []
      next = 0
      overran = false
      if (rest.length > 0) handle(rest)
    },
  }
}
