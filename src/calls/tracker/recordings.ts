import { callOf, markChanged } from './registry.ts'
import type { Call, Channel, TrackerState } from './state.ts'

/** Recordings of a call. A recording is on the channel that runs it and ends with it. */

/** More than anybody makes of one call, and so many fit into a body. */
const MAX_RECORDINGS = 100
/** No system opens a longer path. */
const MAX_PATH_BYTES = 4_096
/** All paths of a call, as JSON: a body has them beside the links and stages. A hundred usual ones take 12 KB. */
const MAX_PATHS_BYTES = 64 * 1024

const bytesOf = (path: string | null): number => (path === null ? 0 : Buffer.byteLength(JSON.stringify(path)))

/** Returns a path that a PBX reported, `null` if it has none or is too long for its call: then it is not known. */
function pathWithin(call: Call, path: string | null): string | null {
  if (path === null || Buffer.byteLength(path) > MAX_PATH_BYTES) return null
  if (call.recordings.some((one) => one.path === path)) return path
  const bytes = call.recordings.reduce((sum, one) => sum + bytesOf(one.path), bytesOf(path))
  return bytes > MAX_PATHS_BYTES ? null : path
}

/** Adds a recording to a channel's call, unless it is known already. */
export function startRecording(state: TrackerState, channel: Channel, atUs: number, reported: string | null): void {
  const call = callOf(state, channel)
  if (call === undefined) return
  const path = pathWithin(call, reported)
  const again = call.recordings.find(
    (one) => one.channel === channel.id && one.endedUs === null && (path === null || one.path === path),
  )
  if (again !== undefined || call.recordings.length >= MAX_RECORDINGS) return
  call.recorded = true
  const recording = {
    id: state.newId(atUs),
    channel: channel.id,
    path,
    startedUs: atUs,
    endedUs: null,
    durationMs: null,
    kept: true,
  }
  call.recordings = [...call.recordings, recording]
}

/** Ends the last recording of a channel that it fits; `kept` is false where the PBX discarded it. */
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

/** Gives a path that was reported apart from its recording to the last recording that lacks one. */
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
