import { newTracker, reasonFor, type Signal, track } from '../../calls/calls.ts'
import type { CallEvent } from '../../events/bodies.ts'
import { MILLISECOND, SECOND } from '../../lib/time.ts'
import { anyTenants } from '../connection/call-owners.ts'
import { TIMEOUTS } from '../connection/timeouts.ts'
import { createEndpoints, type KnownEndpoint } from '../endpoints/endpoints.ts'
import { KINDS } from '../kinds.ts'
import type { FileRead, RecordedEvent } from '../recorded/recorded-events.ts'
import type { PbxRecording } from '../recorded/recording.ts'
import type { TenantRule } from '../source/pbx-url.ts'

/** A raw event of a recording, and its place. */
type Cause = {
  /** The index of the recording. */
  readonly file: number
  readonly offset: number
  /** The line, counted from 1. */
  readonly line: number
  readonly name: string
  readonly channel: string
  /** The time of its arrival, in milliseconds of the recordings. */
  readonly atMs: number
}

/**
 * A call event, the time at which it was emitted, and the raw event that caused it: the present one, or the last one of
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
  /** With tenants: the number of calls that show no customer, whose events are left out; `null` without. */
  readonly withoutTenant: number | null
  /** The number of calls that are still live at the end of the last recording. */
  readonly open: number
  /** The classification of the endpoints at the end, with reasons. */
  readonly endpoints: readonly KnownEndpoint[]
}

type ExplainOptions = {
  readonly pbx: string
  readonly trunks: readonly string[]
  readonly extensions: readonly string[]
  readonly variables: readonly string[]
  /** The fact that is the tenant value of a call: each value gets an account with its name. */
  readonly tenants?: TenantRule | undefined
}

/** Time for timers after the end of the recording: a recording's file is complete, then `call_saved`. */
const REST_US = 10 * SECOND
/** As in a service, arrivals are of a steady clock, which counts from another moment than the times of the PBX. */
const UPTIME_US = 3_600 * SECOND
/** Guards against a faulty tracker that requests ticks without end. */
const MAX_TICKS = 100_000

/**
 * Plays recordings through decoder, translator and tracker, without a network. Each further recording is the next
 * connection to the same PBX, right after the last one is lost. Times count from the beginning of the first. Pure.
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
    const tracked = track(tracker, { ...signal, arrivedUs: signal.arrivedUs + UPTIME_US })
    if (tracked.faults.length > 0) throw tracked.faults[0]
    wakeAtUs = tracked.tickAtUs === null ? null : tracked.tickAtUs - UPTIME_US
    for (const event of tracked.events) {
      const of = ticking ? (touched.get(event.callId) ?? cause) : cause
      // A signal that the translator delayed has an earlier time: its event belongs to the raw event that released it.
      const atMs = Math.max((tracker.nowUs - UPTIME_US) / MILLISECOND, of.atMs)
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
    feed({
      kind: 'connected',
      first: file === 0,
      boot: reader.bootOf(recording.bytes),
      atUs: lastUs,
      arrivedUs: lastUs,
    })
    if (reader.hasList(recording.bytes)) reader.holdForList()
    /** When a session would ask for the second list, which a recording need not have; and the first one. */
    let confirmAtUs: number | null = null
    let listed = cause
    function feedAll(events: Iterable<RecordedEvent>): void {
      for (const { offset, name, channel, arrivedUs, signals } of events) {
        cause = { file, offset, line: lines.at(offset), name, channel, atMs: arrivedUs / MILLISECOND }
        for (const signal of signals) {
          tickUntil(signal.arrivedUs)
          feed(signal)
          if (signal.kind !== 'snapshot' || confirmAtUs !== null) continue
          confirmAtUs = arrivedUs + TIMEOUTS.snapshotAgainMs * MILLISECOND
          listed = cause
        }
      }
    }
    /** Ends what the first list lacks, and nothing was heard of since. */
    function confirmUntil(untilUs: number): void {
      if (confirmAtUs === null || confirmAtUs > untilUs) return
      tickUntil(confirmAtUs)
      const up = [...tracker.channels.values()].filter(({ missingUs }) => missingUs === null).map(({ id }) => id)
      const at = { atUs: confirmAtUs, arrivedUs: confirmAtUs }
      cause = listed
      feed({ kind: 'snapshot', ...at, channels: [], uncertain: up })
      lastUs = Math.max(lastUs, confirmAtUs)
      confirmAtUs = Number.POSITIVE_INFINITY
    }
    for (const piece of piecesOf(recording)) {
      const atUs = Math.max(lastUs, beganUs + Math.round(piece.atMs * MILLISECOND))
      confirmUntil(atUs)
      lastUs = atUs
      if (!reader.isHolding()) tickUntil(lastUs)
      feedAll(reader.read(piece.bytes, lastUs))
    }
    feedAll(reader.rest())
    confirmUntil(lastUs + TIMEOUTS.snapshotAgainMs * MILLISECOND)
    feed({ kind: 'disconnected', atUs: lastUs, arrivedUs: lastUs })
    return reader.result()
  }

  const files = recordings.map(connection)
  tickUntil(lastUs + REST_US)
  const withoutTenant = options.tenants === undefined ? null : tracker.withoutAccount.length
  return { explained, files, withoutTenant, open: tracker.calls.size, endpoints: endpoints.list() }
}

/** Returns a tracker with an account for every tenant value. */
function trackerOf({ pbx, tenants }: ExplainOptions, newId: () => string) {
  if (tenants === undefined) return newTracker(pbx, 'default', newId)
  return { ...newTracker(pbx, null, newId), tenants: anyTenants(tenants) }
}

function piecesOf({ bytes, pieces }: PbxRecording): { bytes: Buffer; atMs: number }[] {
  if (pieces.length === 0) return [{ bytes, atMs: 0 }]
  return pieces.map(({ offset, atMs }, index) => ({ bytes: bytes.subarray(offset, pieces[index + 1]?.offset), atMs }))
}

/** Counts the lines up to offsets, which ascend but for some steps back. */
function newLineCount(bytes: Buffer): { at(offset: number): number } {
  let line = 1
  let from = 0
  return {
    at(offset) {
      if (offset < from) {
        line = 1
        from = 0
      }
      for (let end = bytes.indexOf(0x0a, from); end >= 0 && end < offset; end = bytes.indexOf(0x0a, from)) {
        line += 1
        from = end + 1
      }
      return line
    },
  }
}
