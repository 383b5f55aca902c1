import { callOf, markChanged } from './registry.ts'
import type { Channel, TrackerState } from './state.ts'

/** Recordings of a call. A recording is on the channel that runs it and ends with it. */

/** More than anybody makes of one call, and so many fit into a body. */
const MAX_RECORDINGS = 100

/** Adds a recording to a channel's call, unless it is known already. */
export function startRecording(state: TrackerState, channel: Channel, atUs: number, path: string | null): void {
  const call = callOf(state, channel)
  if (call === undefined) return
  const again = call.recordings.find(
    (one) => one.channel === channel.id && one.endedUs === null && (path === null || one.path === path),
  )
  if (again !== undefined || call.recordings.length >= MAX_RECORDINGS) return
  call.recorded = true
  call.recordings.push({
    id: state.newId(atUs),
    channel: channel.id,
    path,
    startedUs: atUs,
    endedUs: null,
    durationMs: null,
    kept: true,
  })
}

/** Ends the last recording of a channel that it fits; `kept` is false where the PBX discarded it. */
export function stopRecording(
  state: TrackerState,
  channel: Channel,
  stop: { atUs: number; path: string | null; durationMs: number | null; kept: boolean },
): void {
  const call = callOf(state, channel)
  const recording = call?.recordings.findLast(
    (one) => one.channel === channel.id && (stop.path === null || one.path === null || one.path === stop.path),
  )
  if (recording === undefined) return
  recording.endedUs = stop.atUs
  recording.path ??= stop.path
  recording.durationMs = stop.durationMs
  recording.kept = stop.kept
  markChanged(state, call)
}

/** Gives a path that was reported apart from its recording to the last recording that lacks one. */
export function setRecordingPath(state: TrackerState, channel: Channel, path: string): void {
  const call = callOf(state, channel)
  if (call === undefined || call.recordings.some((one) => one.path === path)) return
  const recording =
    call.recordings.findLast((one) => one.path === null && one.channel === channel.id) ??
    call.recordings.findLast((one) => one.path === null)
  if (recording !== undefined) recording.path = path
}
