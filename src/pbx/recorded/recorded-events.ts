import type { Signal, Translator } from '../../calls/calls.ts'
import type { Endpoints } from '../endpoints/endpoints.ts'
import type { TenantRule } from '../source/pbx-url.ts'

/** The result of reading one recording. */
export type FileRead = {
  /** The number of events and answers that were read; events without a meaning for calls are skipped. */
  readonly frames: number
  readonly passedOver: number
  /** The offsets of frames that were ignored because a caller may have written into them. */
  readonly tainted: readonly number[]
  /** The reason why the recording cannot be read to its end. */
  readonly fault: string | undefined
}

/** A raw event of a recording, and the signals that it means. */
export type RecordedEvent = {
  readonly offset: number
  readonly name: string
  readonly channel: string
  readonly arrivedUs: number
  readonly signals: readonly Signal[]
}

/** The settings of the PBX URL with which a recording is read. */
export type ReadOptions = {
  readonly trunks: readonly string[]
  readonly extensions: readonly string[]
  readonly variables: readonly string[]
  readonly tenants?: TenantRule | undefined
  /** The names of the dialplan's events that are passed on. */
  readonly custom?: readonly string[] | undefined
}

/** Reads the bytes of one recorded connection, the lists in it too, in pieces as they arrived. */
export type RecordedEvents = {
  /** Returns whether a recording has a list. */
  hasList(recording: Buffer): boolean
  /** Reads the events that come before the first list after it, as a session does. */
  holdForList(): void
  /** Returns whether events are kept for that list. */
  isHolding(): boolean
  read(bytes: Uint8Array, arrivedUs: number): Iterable<RecordedEvent>
  /** Reads what was kept for a list that never came. */
  rest(): Iterable<RecordedEvent>
  result(): FileRead
  /** Returns the id of the PBX's run, if the recording shows it. */
  bootOf(recording: Buffer): string | null
}

export type ReadRecorded<Frame> = (
  translator: Translator<Frame>,
  options: ReadOptions,
  endpoints: Endpoints,
) => RecordedEvents
