import type { CallEvent } from '../../src/events/bodies.ts'
import { EslDecoder, type EslFrame } from '../../src/pbx/esl/decoder.ts'
import { createEslTranslator } from '../../src/pbx/esl/translator/translator.ts'
import { player } from './play.ts'
import type { Random } from './random.ts'
import { FIXTURES, readRecording } from './recording.ts'
import { reorder, type TimedFrame } from './reorder.ts'

// FreeSWITCH sends the events of each leg from its own thread: on a busy machine they overtake other legs' events.

const START_US = 1_795_213_000_000_000
const MILLISECOND = 1_000
const SECOND = 1_000_000
/** The longest time by which events of different legs overtake each other. */
const MAX_DELAY_US = 100 * MILLISECOND

/** Returns the frames of a recording. */
export function framesOf(name: string, folder = FIXTURES): TimedFrame[] {
  const decoder = new EslDecoder()
  return readRecording(`freeswitch/${name}`, folder).flatMap(({ bytes, atMs }) =>
    decoder.push(bytes).map((frame) => ({ frame, atUs: START_US + Math.round(atMs * MILLISECOND) })),
  )
}

/** Plays frames through the translator and the tracker. */
export function eventsOf(frames: readonly TimedFrame[]): CallEvent[] {
  const played = player()
  const signals = createEslTranslator({ trunks: [], extensions: [], variables: [] })
  played.play([{ kind: 'connected', first: true, boot: null, atUs: START_US, arrivedUs: START_US }])
  let lists: EslFrame[] = []
  for (const { frame, atUs } of frames) {
    if (frame.contentType !== 'api/response') {
      played.play(signals.event(frame, atUs))
      continue
    }
    lists.push(frame)
    if (lists.length < 2) continue
    played.play(signals.snapshot(lists, atUs))
    lists = []
  }
  const endUs = (frames.at(-1)?.atUs ?? START_US) + 5 * SECOND
  const late = signals.release?.(endUs) ?? []
  played.play(late.map((signal) => ({ ...signal, arrivedUs: Math.max(signal.arrivedUs, played.nowUs) })))
  played.rest(20 * SECOND)
  return played.events
}

/** Returns the frames in another order that could have happened. */
export const reorderedFrames = (frames: readonly TimedFrame[], random: Random): TimedFrame[] =>
  reorder(frames, random, MAX_DELAY_US)
