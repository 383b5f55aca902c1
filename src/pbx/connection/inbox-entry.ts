import type { AboutSnapshot, Signal, Translator } from '../../calls/calls.ts'

/** A snapshot at its place in the stream; its rows are set once all of them have arrived. */
export type SnapshotEntry<Frame> = {
  rows: readonly Frame[] | undefined
  readonly arrivedUs: number
  about?: AboutSnapshot<Frame>
}

/** An entry of the inbox: an event, or a snapshot. */
export type InboxEntry<Frame> = { readonly frame: Frame; readonly arrivedUs: number } | SnapshotEntry<Frame>

/**
 * Returns the signals of entries, in order. An entry at which the translator fails is skipped and passed to `failed`.
 */
export function translate<Frame>(
  entries: readonly InboxEntry<Frame>[],
  translator: Translator<Frame>,
  failed: (error: unknown, entry: InboxEntry<Frame>) => void,
): Signal[] {
  return entries.flatMap((entry) => {
    try {
      if ('frame' in entry) return translator.event(entry.frame, entry.arrivedUs)
      if (entry.rows === undefined) return []
      return translator.snapshot(entry.rows, entry.arrivedUs, entry.about)
    } catch (error) {
      failed(error, entry)
      return []
    }
  })
}

/** Returns the frames of waiting events, in order. */
export const framesIn = <Frame>(entries: readonly InboxEntry<Frame>[]): Frame[] =>
  entries.flatMap((entry) => ('frame' in entry ? [entry.frame] : []))

/**
 * Returns the channels whose first event is among the entries; `createdBy` returns the channel that a frame creates.
 */
export function createdIn<Frame>(
  entries: readonly InboxEntry<Frame>[],
  createdBy: (frame: Frame) => string | undefined,
): Set<string> {
  return new Set(entries.flatMap((entry) => ('frame' in entry ? (createdBy(entry.frame) ?? []) : [])))
}
