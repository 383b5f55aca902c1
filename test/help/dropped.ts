import type { Signal } from '../../src/calls/signal.ts'
import { AmiDecoder, type AmiFrame } from '../../src/pbx/ami/decoder.ts'
import { amiSteps, createLiveAmiChannels } from '../../src/pbx/ami/replay/snapshot.ts'
import { createAmiTranslator } from '../../src/pbx/ami/translator/translator.ts'
import { EslDecoder, type EslFrame } from '../../src/pbx/esl/decoder.ts'
import { createLiveEslChannels, eslSteps } from '../../src/pbx/esl/replay/snapshot.ts'
import { createEslTranslator } from '../../src/pbx/esl/translator/translator.ts'
import { readRecording } from '../../src/pbx/recorded/recording.ts'
import { fixture } from './pbx.ts'

/** A recording as a tape: the signals of each event, and the PBX's list after each event. */
export type Tape = {
  readonly steps: number
  /** The PBX reports the end of a channel more than once. */
  readonly endsTwice: boolean
  atUs(step: number): number
  /** A new connection: its translator knows nothing yet. */
  connect(): {
    signals(step: number, arrivedUs: number): Signal[]
    /** The PBX's channels after `step` steps; `answered`: after as many, of which the last are read later. */
    snapshot(step: number, arrivedUs: number, answered?: number): Signal[]
  }
}

const OPTIONS = { trunks: [], extensions: [], variables: [] }

/** A path is taken as it is; a name is a recording of the project. */
const pathOf = (name: string): string => (name.startsWith('/') ? name : fixture(name))

export const tapeOf = (name: string): Tape => (name.endsWith('.ami') ? amiTape(name) : eslTape(name))

function amiTape(name: string): Tape {
  const { steps } = amiSteps(readRecording(pathOf(name)))
  const live = createLiveAmiChannels()
  const list = (atMs: number): AmiFrame[] =>
    new AmiDecoder().push(Buffer.from(live.status('1', atMs))).filter((frame) => frame.name === 'Status')
  const rows = [list(0)]
  for (const { frame, atMs } of steps) {
    live.apply(frame, atMs)
    rows.push(list(atMs))
  }
  return {
    steps: steps.length,
    endsTwice: false,
    atUs: (step) => Math.round((steps[step]?.atMs ?? 0) * 1_000),
    connect() {
      const translator = createAmiTranslator(OPTIONS)
      return {
        signals: (step, arrivedUs) =>
          steps.slice(step, step + 1).flatMap(({ frame }) => translator.event(frame, arrivedUs)),
        snapshot(step, arrivedUs, answered = step) {
          const earlier = steps.slice(step, answered).map(({ frame }) => frame)
          const created = new Set(
            earlier.flatMap((frame) => (frame.name === 'Newchannel' ? [frame.get('Uniqueid')] : [])),
          )
          return translator.snapshot(rows[answered] ?? [], arrivedUs, { created, earlier })
        },
      }
    },
  }
}

function eslTape(name: string): Tape {
  const recording = readRecording(pathOf(name))
  const { steps } = eslSteps(recording)
  const frames = steps.flatMap(({ bytes }) => new EslDecoder().push(bytes).slice(0, 1))
  const live = createLiveEslChannels()
  const list = (clock: string): EslFrame[] => {
    const answers = [live.channels(), live.calls(), clock].map(
      (body) => `Content-Type: api/response\nContent-Length: ${Buffer.byteLength(body)}\n\n${body}`,
    )
    return new EslDecoder().push(Buffer.from(answers.join('')))
  }
  const rows = [list('')]
  for (const { event } of steps) {
    live.apply(event)
    rows.push(list(event.get('Event-Date-Timestamp')))
  }
  return {
    steps: steps.length,
    endsTwice: true,
    atUs: (step) => Math.round((steps[step]?.atMs ?? 0) * 1_000),
    connect() {
      const translator = createEslTranslator(OPTIONS)
      return {
        signals: (step, arrivedUs) =>
          frames.slice(step, step + 1).flatMap((frame) => translator.event(frame, arrivedUs)),
        snapshot(step, arrivedUs, answered = step) {
          const earlier = frames.slice(step, answered)
          const created = new Set(
            earlier.flatMap(({ event }) => (event?.name === 'CHANNEL_CREATE' ? [event.get('Unique-ID')] : [])),
          )
          return translator.snapshot(rows[answered] ?? [], arrivedUs, { created, earlier })
        },
      }
    },
  }
}
