import type { Signal, Translator } from '../../calls/signal.ts'

/** A list at the place in the stream that it is of; `rows` are filled in once they are all there. */
export type Listing<Frame> = {
  rows: readonly Frame[] | undefined
  readonly arrivedUs: number
  /** Channels of rows that were left out, since a caller may have written into them. */
  unsure?: readonly string[]
  /** Channels whose first event waits behind the list: they are no news of it, and nothing of them was missed. */
  born?: ReadonlySet<string>
}

/** What waits for the tracker: an event, or a list. */
export type Item<Frame> = { readonly frame: Frame; readonly arrivedUs: number } | Listing<Frame>

/** Returns the signals of what waits, in order. What makes the translator fail costs itself alone: `failed` gets the error. */
export function translate<Frame>(
  items: readonly Item<Frame>[],
  translator: Translator<Frame>,
  failed: (error: unknown, item: Item<Frame>) => void,
): Signal[] {
  return items.flatMap((item) => {
    try {
      if ('frame' in item) return translator.event(item.frame, item.arrivedUs)
      if (item.rows === undefined) return []
      return translator.listed(item.rows, item.arrivedUs, item.born, item.unsure)
    } catch (error) {
      failed(error, item)
      return []
    }
  })
}

/** The channels whose first event waits. */
export function bornIn<Frame>(
  items: readonly Item<Frame>[],
  birthOf: (frame: Frame) => string | undefined,
): Set<string> {
  return new Set(items.flatMap((item) => ('frame' in item ? (birthOf(item.frame) ?? []) : [])))
}
