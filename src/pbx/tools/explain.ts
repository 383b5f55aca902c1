import type { CallEvent } from '../../calls/event.ts'
import type { Signal } from '../../calls/signal.ts'
import { reasonFor } from '../../calls/tracker/emit/reasons.ts'
import { newTracker, track } from '../../calls/tracker/tracker.ts'
import type { TenantRule } from '../../lib/pbx-url.ts'
import { MILLISECOND, SECOND } from '../../lib/time.ts'
import { anyTenants } from '../connection/call-owners.ts'
import { createEndpoints, type KnownEndpoint } from '../endpoints/endpoints.ts'
import { KINDS } from '../kinds.ts'
import type { FileRead } from '../recorded/recorded-events.ts'
import type { PbxRecording } from '../recorded/recording.ts'

/** A raw event of a recording: where it is, and which. */
type Cause = {
  /** The index of the recording. */
  readonly file: number
  readonly offset: number
  /** Counted from 1. */
  readonly line: number
  readonly name: string
  readonly channel: string
  /** When it came, in milliseconds of the recordings. */
  readonly atMs: number
}

/**
 * A call event, the time at which it was emitted, and the raw event that caused it: the current one, or the last of
 * its call if it was delayed.
 */
export type Explained = {
  readonly event: CallEvent
  readonly atMs: number
  readonly cause: Cause
  /** Why the call got its direction, the stage its result or the call its owner. */
  readonly reason: string | undefined
}

export type Explanation = {
  readonly explained: readonly Explained[]
  readonly files: readonly FileRead[]
  /** With tenants: how many calls began that show no customer, whose events are left out; `null` without. */
  readonly withoutTenant: number | null
  /** Calls that are up where the last recording ends. */
  readonly open: number
  /** How the endpoints were classified in the end, and why. */
  readonly endpoints: readonly KnownEndpoint[]
}

type ExplainOptions = {
  readonly pbx: string
  readonly trunks: readonly string[]
  readonly extensions: readonly string[]
  readonly variables: readonly string[]
  /** The fact that names the customer of a call: each gets an account of that name. */
  readonly tenants?: TenantRule | undefined
}

/** Time for timers to end when the recording is over: a recording's file is complete, then `call_saved`. */
const REST_US = 10 * SECOND
/** A tracker that asks for tick after tick without end is a fault of its own. */
const MAX_TICKS = 100_000

/**
 * Plays recordings through decoder, translator and tracker, without a network: each further one is the next
 * connection to the same PBX, which comes as soon as the one before is lost. Times count from the beginning of the
 * first. Pure.
 */
export function explain(recordings: readonly PbxRecording[], options: ExplainOptions): Explanation {
  let ids = 0
  const endpoints = createEndpoints(options)
  const tracker = trackerOf(options, () => `id-${++ids}`)
  const explained: Explained[] = []
  const touched = new Map<string, Cause>()
  let cause: Cause = { file: 0, offset: 0, line: 1, name: 'connected', channel: '', atMs: 0 }
  let wakeAtUs: number | null = null
  let lastUs = 0

  function feed(signal: Signal, ticking = false): void {
    const tracked = track(tracker, signal)
    if (tracked.faults.length > 0) throw tracked.faults[0]
    wakeAtUs = tracked.tickAtUs
    for (const event of tracked.events) {
      const of = ticking ? (touched.get(event.callId) ?? cause) : cause
      // A signal that the translator kept back has its own, earlier time: its event comes with what released it.
      const atMs = Math.max(tracker.nowUs / MILLISECOND, of.atMs)
      explained.push({ event, atMs, cause: of, reason: reasonFor(tracker, event) })
    }
    if (!ticking) for (const id of tracker.changed) touched.set(id, cause)
    tracker.changed.clear()
    tracker.removed.clear()
  }
  function tickUntil(atUs: number): void {
    for (let ticks = 0; wakeAtUs !== null && wakeAtUs <= atUs && ticks < MAX_TICKS; ticks++)
      feed({ kind: 'tick', atUs: wakeAtUs, arrivedUs: wakeAtUs }, true)
  }
  function connection(recording: PbxRecording, file: number): FileRead {
    const reader = KINDS[recording.kind].readRecorded(options, endpoints)
    const lines = newLineCount(recording.bytes)
    const beganUs = lastUs
    cause = { file, offset: 0, line: 1, name: 'connected', channel: '', atMs: lastUs / MILLISECOND }
    // As if for the first time: what the list lacks is closed at once, since a recording need not hold the second list.
    feed({ kind: 'connected', first: true, boot: reader.bootOf(recording.bytes), atUs: lastUs, arrivedUs: lastUs })
    for (const piece of piecesOf(recording)) {
      lastUs = Math.max(lastUs, beganUs + Math.round(piece.atMs * MILLISECOND))
      tickUntil(lastUs)
      for (const { offset, name, channel, signals } of reader.read(piece.bytes, lastUs)) {
        cause = { file, offset, line: lines.at(offset), name, channel, atMs: lastUs / MILLISECOND }
        for (const signal of signals) feed(signal)
      }
    }
    feed({ kind: 'disconnected', atUs: lastUs, arrivedUs: lastUs })
    return reader.result()
  }

  const files = recordings.map(connection)
  tickUntil(lastUs + REST_US)
  const withoutTenant = options.tenants === undefined ? null : tracker.withoutAccount.length
  return { explained, files, withoutTenant, open: tracker.calls.size, endpoints: endpoints.list() }
}

/** Returns a tracker for which there is an account of every name that a channel shows. */
function trackerOf({ pbx, tenants }: ExplainOptions, newId: () => string) {
  if (tenants === undefined) return newTracker(pbx, 'default', newId)
  return { ...newTracker(pbx, null, newId), tenants: anyTenants(tenants) }
}

function piecesOf({ bytes, pieces }: PbxRecording): { bytes: Buffer; atMs: number }[] {
  if (pieces.length === 0) return [{ bytes, atMs: 0 }]
  return pieces.map(({ offset, atMs }, index) => ({ bytes: bytes.subarray(offset, pieces[index + 1]?.offset), atMs }))
}

/** Counts lines up to offsets that only grow. */
function newLineCount(bytes: Buffer): { at(offset: number): number } {
  let line = 1
  let from = 0
  return {
    at(offset) {
      for (let end = bytes.indexOf(0x0a, from); end >= 0 && end < offset; end = bytes.indexOf(0x0a, from)) {
        line += 1
        from = end + 1
      }
      return line
    },
  }
}
