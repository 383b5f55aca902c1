import type { Signal, Translator } from '../../calls/calls.ts'
import type { RecordedEvent } from './recorded-events.ts'

/** A frame of a recording, and its place. */
export type Placed<Frame> = Omit<RecordedEvent, 'signals'> & { readonly frame: Frame }

type Options<Frame> = {
  readonly translator: Translator<Frame>
  /** Returns the channel that a frame creates. */
  readonly createdBy: (frame: Frame) => string | undefined
  /** Returns whether a frame is about a call. */
  readonly isOfCall: (frame: Frame) => boolean
}

/**
 * Reads the events of a recording in the order of a session: those that come before the first list are read after it.
 * Until `hold` is called, each is read when it comes.
 */
type FirstList<Frame> = {
  hold(): void
  isHolding(): boolean
  /** Reads an event, or keeps it until the list. */
  event(placed: Placed<Frame>): Iterable<RecordedEvent>
  /** Reads a list, and then the events that were kept. */
  list(placed: Placed<Frame>, rows: readonly Frame[]): Iterable<RecordedEvent>
  /** Reads the events that were kept for a list which never came. */
  rest(): Iterable<RecordedEvent>
}

export function createFirstList<Frame>({ translator, createdBy, isOfCall }: Options<Frame>): FirstList<Frame> {
  let kept: Placed<Frame>[] | undefined
  const read = ({ frame, ...place }: Placed<Frame>, signals: readonly Signal[]): RecordedEvent => ({
    ...place,
    signals,
  })
  function* rest(): Generator<RecordedEvent> {
    const events = kept ?? []
    kept = undefined
    for (const one of events) yield read(one, translator.event(one.frame, one.arrivedUs))
  }
  return {
    hold() {
      kept = []
    },
    isHolding: () => kept !== undefined,
    *event(placed) {
      if (kept === undefined) yield read(placed, translator.event(placed.frame, placed.arrivedUs))
      else kept.push(placed)
    },
    *list(placed, rows) {
      const earlier = (kept ?? []).map(({ frame }) => frame)
      const created = new Set(earlier.flatMap((frame) => createdBy(frame) ?? []))
      const earlierUs = kept?.find(({ frame }) => isOfCall(frame))?.arrivedUs
      const signals = translator.snapshot(rows, placed.arrivedUs, { created, earlier, earlierUs })
      yield read(placed, signals)
      yield* rest()
    },
    rest,
  }
}
