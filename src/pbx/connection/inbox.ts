/**
 * What came from a PBX and waits for the tracker. The socket's callback only puts things in; they are handled in slices between
 * which the sockets are read, since a PBX drops a client that does not read.
 *
 * Bounded: when it is full, what matters least is shed first, then what is new. Either way something is missing, and `overrun` says so
 * (once, until the inbox has been empty again).
 */
export type Inbox<Item> = {
  /** Puts something last; `bytes` is what it takes of the bound. */
  push(item: Item, bytes?: number): void
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
  /** Returns false for what may be shed first. */
  readonly matters: (item: Item) => boolean
  readonly overrun: (shed: number) => void
  readonly maxBytes?: number
  /** Called when more or fewer items wait. */
  readonly changed?: (by: number) => void
  readonly defer?: (run: () => void) => void
}

/** Some 600,000 frames of Asterisk: half a minute of 20,000 events a second while nothing at all is handled. */
const MAX_BYTES = 256 * 1024 * 1024
/** Some 2 ms of tracking. */
const SLICE = 256

export function createInbox<Item>(options: Options<Item>): Inbox<Item> {
  const { handle, matters, overrun, maxBytes = MAX_BYTES, changed = () => {}, defer = setImmediate } = options
  let items: Item[] = []
  /** Of each of `items`. */
  let sizes: number[] = []
  let bytes = 0
  let next = 0
  let held = false
  let scheduled = false
  let overran = false

  const empty = (): void => {
    items = []
    sizes = []
    bytes = 0
    next = 0
    overran = false
  }
  const run = (): void => {
    scheduled = false
    if (held || next === items.length) return
    const slice = items.slice(next, next + SLICE)
    for (let at = next; at < next + slice.length; at += 1) bytes -= sizes[at] ?? 0
    next += slice.length
    if (next === items.length) empty()
    changed(-slice.length)
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
    const before = items.length - next
    const [kept, keptSizes]: [Item[], number[]] = [[], []]
    for (const [at, item] of items.entries()) {
      if (at < next || !matters(item)) continue
      kept.push(item)
      keptSizes.push(sizes[at] ?? 0)
    }
    items = kept
    sizes = keptSizes
    bytes = sizes.reduce((sum, one) => sum + one, 0)
    next = 0
    overran = true
    changed(items.length - before)
    overrun(before - items.length)
  }

  return {
    push(item, size = 1) {
      if (bytes + size > maxBytes) {
        if (!overran) shed()
        if (bytes + size > maxBytes) return
      }
      items.push(item)
      sizes.push(size)
      bytes += size
      changed(1)
      schedule()
    },
    unshift(item) {
      items = [item, ...items.slice(next)]
      sizes = [0, ...sizes.slice(next)]
      next = 0
      changed(1)
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
      empty()
      changed(-rest.length)
      if (rest.length > 0) handle(rest)
    },
  }
}
