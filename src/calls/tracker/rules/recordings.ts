import { callOf, markChanged } from '../state/registry.ts'
import type { Call, Channel, RecordingState, TrackerState } from '../state/state.ts'

/** Recordings of a call. A recording belongs to the channel that runs it, and ends with it. */

/** More than any call has, and few enough for a body. */
const MAX_RECORDINGS = 100
/** No operating system opens a longer path. */
const MAX_PATH_BYTES = 4_096
/** All paths of a call, as JSON: a body has them beside links and stages. A hundred usual paths take 12 KB. */
const MAX_PATHS_BYTES = 64 * 1024

const bytesOf = (path: string | null): number => (path === null ? 0 : Buffer.byteLength(JSON.stringify(path)))

/** Returns a path that a PBX reported; `null` (unknown) if it reported none, or one that is too long for the call. */
function pathWithin(call: Call, path: string | null): string | null {
  if (path === null || Buffer.byteLength(path) > MAX_PATH_BYTES) return null
  if (call.recordings.some((one) => one.path === path)) return path
  const bytes = call.recordings.reduce((sum, one) => sum + bytesOf(one.path), bytesOf(path))
  return bytes > MAX_PATHS_BYTES ? null : path
}

/** A recording that starts. `whileBridged`: it pauses while its channel is in no bridge. */
type Start = {
  readonly atUs: number
  readonly path: string | null
  readonly whileBridged?: boolean
  readonly appends?: boolean
}

/**
 * Adds a recording to a channel's call, unless it is known already. A second start with the same path is the same
 * recording.
 */
export function startRecording(state: TrackerState, channel: Channel, start: Start): void {
  const call = callOf(state, channel)
  if (call === undefined) return
  const { atUs, whileBridged = false } = start
  const path = pathWithin(call, start.path)
  const running = call.recordings.find(
    (one) => one.channel === channel.id && one.endedUs === null && (path === null || one.path === path),
  )
  if (running !== undefined) return
  const same = path === null ? undefined : call.recordings.find((one) => one.path === path)
  if (same === undefined && call.recordings.length >= MAX_RECORDINGS) return
  const recording = same ?? newRecording(state, path, atUs)
  // A recording that does not append replaces the earlier content.
  if (start.appends !== true) Object.assign(recording, { startedUs: null, recordedUs: 0, sinceUs: null })
  else if (recording.sinceUs !== null) pause(recording, recording.endedUs ?? atUs)
  Object.assign(recording, { channel: channel.id, endedUs: null, durationMs: null, kept: true, whileBridged })
  if (same === undefined) call.recordings = [...call.recordings, recording]
  if (!whileBridged || channel.bridge !== null) record(call, recording, atUs)
}

const newRecording = (state: TrackerState, path: string | null, atUs: number): RecordingState => ({
  id: state.newId(atUs),
  channel: '',
  path,
  startedUs: null,
  endedUs: null,
  durationMs: null,
  kept: true,
  whileBridged: false,
  recordedUs: 0,
  sinceUs: null,
})

function record(call: Call, recording: RecordingState, atUs: number): void {
  call.recorded = true
  if (recording.recordedUs !== null) recording.startedUs ??= atUs
  recording.sinceUs ??= atUs
}

function pause(recording: RecordingState, atUs: number): void {
  if (recording.sinceUs === null) return
  if (recording.recordedUs !== null) recording.recordedUs += Math.max(0, atUs - recording.sinceUs)
  recording.sinceUs = null
}

const runningOf = (call: Call | undefined, channel: Channel): readonly RecordingState[] =>
  call?.recordings.filter((one) => one.channel === channel.id && one.endedUs === null) ?? []

/** Resumes the recordings of a channel that has entered a bridge. */
export function resumeRecordings(state: TrackerState, channel: Channel, atUs: number): void {
  const call = callOf(state, channel)
  if (call === undefined) return
  for (const recording of runningOf(call, channel)) if (recording.whileBridged) record(call, recording, atUs)
}

/** Pauses the recordings of a channel that has left its bridge. */
export function pauseRecordings(state: TrackerState, channel: Channel, atUs: number): void {
  for (const recording of runningOf(callOf(state, channel), channel)) if (recording.whileBridged) pause(recording, atUs)
}

/**
 * Resumes or pauses the recordings of a channel that a snapshot shows in another bridge than before, or in none: when
 * it moved is unknown, and so is the recorded length.
 */
export function resyncRecordings(state: TrackerState, channel: Channel, isBridged: boolean): void {
  const call = callOf(state, channel)
  if (call === undefined) return
  for (const recording of runningOf(call, channel)) {
    if (!recording.whileBridged || (!isBridged && recording.sinceUs === null)) continue
    call.recorded = true
    recording.recordedUs = null
    recording.sinceUs = isBridged ? (recording.sinceUs ?? state.atUs) : null
  }
}

/** Ends the recordings of a channel that has ended. */
export function endRecordings(state: TrackerState, channel: Channel, atUs: number): void {
  for (const recording of runningOf(callOf(state, channel), channel)) recording.endedUs = atUs
}

/** Ends the channel's last recording that matches; `kept` is false if the PBX discarded it. */
export function stopRecording(
  state: TrackerState,
  channel: Channel,
  stop: { atUs: number; path: string | null; durationMs: number | null; kept: boolean },
): void {
  const call = callOf(state, channel)
  if (call === undefined) return
  const path = pathWithin(call, stop.path)
  const recording = call.recordings.findLast(
    (one) => one.channel === channel.id && (path === null || one.path === null || one.path === path),
  )
  if (recording === undefined) return
  recording.endedUs = stop.atUs
  recording.path ??= path
  recording.durationMs = stop.durationMs
  recording.kept = stop.kept
  markChanged(state, call)
}

/** Gives a separately reported path to the last recording without one. */
export function setRecordingPath(state: TrackerState, channel: Channel, reported: string): void {
  const call = callOf(state, channel)
  if (call === undefined) return
  const path = pathWithin(call, reported)
  if (path === null || call.recordings.some((one) => one.path === path)) return
  const recording =
    call.recordings.findLast((one) => one.path === null && one.channel === channel.id) ??
    call.recordings.findLast((one) => one.path === null)
  if (recording !== undefined) recording.path = path
}
