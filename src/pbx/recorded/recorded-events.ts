import type { Signal, Translator } from '../../calls/signal.ts'
import type { TenantRule } from '../../lib/pbx-url.ts'
import type { Endpoints } from '../endpoints/endpoints.ts'

/** The result of reading one recording. */
export type FileRead = {
  /** Events and answers that were read; the ones of no use to a call are passed over unread. */
  readonly frames: number
  readonly passedOver: number
  /** The places of frames that were ignored, since a caller may have written into them. */
  readonly tainted: readonly number[]
  /** Why the recording cannot be read to its end. */
  readonly fault: string | undefined
}

/** A raw event of a recording, and the signals that it means. */
type RecordedEvent = {
  readonly offset: number
  readonly name: string
  readonly channel: string
  readonly signals: readonly Signal[]
}

/** The settings of the PBX URL with which a recording is read. */
export type ReadOptions = {
  readonly trunks: readonly string[]
  readonly extensions: readonly string[]
  readonly variables: readonly string[]
  readonly tenants?: TenantRule | undefined
}

/** Reads the bytes of one recorded connection, the lists in it too, in pieces as they arrived. */
export type RecordedEvents = {
  read(bytes: Uint8Array, arrivedUs: number): Iterable<RecordedEvent>
  result(): FileRead
  /** Names the run of the PBX, if the recording shows it. */
  bootOf(recording: Buffer): string | null
}

export type ReadRecorded<Frame> = (
  translator: Translator<Frame>,
  options: ReadOptions,
  endpoints: Endpoints,
) => RecordedEvents
