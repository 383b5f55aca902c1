import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { readLiveCall } from '../../../src/calls/tracker/resync/takeover.ts'
import { SECOND } from '../../../src/lib/time.ts'
import { type Tape, tapeOf } from '../../help/dropped.ts'
import { player } from '../../help/play.ts'
import { FIXTURES } from '../../help/recording.ts'

// Live calls that version 0.2.0 stored at random moments of 80 recordings: this version takes them over, gets the PBX's
// list, and finishes them. Each file of a recording is one whole connection, after which the PBX has no channel left.

type Cut = { readonly recording: string; readonly step: number; readonly calls: readonly string[] }

const CUTS: readonly Cut[] = JSON.parse(
  gunzipSync(readFileSync(join(FIXTURES, 'live-calls-0.2.0.json.gz'))).toString('utf8'),
)
const START_US = 1_795_213_000_000_000
const LISTED_AGAIN_US = 3 * SECOND

/** The events that are numbered: others have the number of the one before. */
const IS_NUMBERED = /^(call_(started|blind|attended|ended|saved)|dial_)/

/** Takes over the stored calls, plays what is left of the recording, and lists no channel in the end. */
function finish(tape: Tape, { step: first, calls }: Cut) {
  // Arrivals of the stored calls are by the same clock as the recordings' times.
  const played = player({ clockFromUs: 0 })
  played.restart(new Map(calls.map((text, at) => [String(at), text])))
  const atUs = START_US + tape.atUs(first - 1)
  const connection = tape.connect()
  played.play([{ kind: 'connected', first: true, boot: 'one', atUs, arrivedUs: atUs }])
  played.play(connection.snapshot(first, atUs))
  for (let step = first; step < tape.steps; step += 1) played.play(connection.signals(step, START_US + tape.atUs(step)))
  const endUs = START_US + tape.atUs(tape.steps - 1)
  for (const times of [1, 2, 3])
    for (const signal of tape.connect().snapshot(0, endUs + times * LISTED_AGAIN_US))
      played.play([signal.kind === 'snapshot' ? { ...signal, channels: [] } : signal])
  played.rest(60 * SECOND)
  return played
}

test.each(CUTS.map((cut) => [cut.recording, cut.step, cut] as const))(
  '%s, after %i of its events',
  (recording, _, cut) => {
    const { events, state } = finish(tapeOf(join(FIXTURES, recording)), cut)
    expect([...state.calls.keys()]).toEqual([])
    for (const { call } of cut.calls.map(readLiveCall)) {
      const own = events.filter(({ body: { data } }) => data.call.id === call.id)
      const numbers = own.filter(({ name }) => IS_NUMBERED.test(name)).map(({ sequence }) => sequence)
      expect(numbers).toEqual(numbers.map((_, at) => call.sequence + 1 + at))
      const count = (name: string) => own.filter((event) => event.name === name).length
      // A call that became part of another one may have its end in that one.
      const isJoined = events.some(({ body: { data } }) => data.call.merged_from.includes(call.id))
      if (call.ended || !isJoined) expect([call.id, count('call_ended')]).toEqual([call.id, call.ended ? 0 : 1])
      expect(count('call_ended')).toBeLessThanOrEqual(1)
      expect(count('call_started')).toBe(call.emitted ? 0 : 1)
      // What was emitted stays: the direction, and every stage.
      for (const {
        body: { data },
      } of own) {
        if (data.name !== 'call_saved' || !call.emitted) continue
        expect<unknown>(data.call.direction).toBe(call.direction)
        const emitted = call.stages.filter((stage) => stage.emitted.started).map(({ id }) => id)
        expect(data.stages.map(({ id }) => id)).toEqual(expect.arrayContaining(emitted))
      }
    }
  },
)
