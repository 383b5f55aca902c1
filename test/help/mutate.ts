import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Signal, Translator } from '../../src/calls/signal.ts'
import { AmiDecoder, type AmiFrame } from '../../src/pbx/ami/decoder.ts'
import { createAmiTranslator } from '../../src/pbx/ami/translator/translator.ts'
import { EslDecoder, type EslFrame } from '../../src/pbx/esl/decoder.ts'
import { createEslTranslator } from '../../src/pbx/esl/translator/translator.ts'
import type { Random } from './random.ts'
import { FIXTURES, readRecording } from './recording.ts'

/** Recordings of real PBXs with frames dropped, doubled, swapped and cut short, as signals. */

type Timed<Frame> = { readonly frame: Frame; readonly atUs: number }
type Source = { readonly name: string; signals(random: Random, startUs: number): Signal[] }

const OPTIONS = { trunks: [], extensions: [], variables: [] }

/** All recordings of a folder that are not too long to be played thousands of times. */
export function mutatedRecordings(maxFrames: number): Source[] {
  return [
    ...sources('asterisk', '.ami', readAmi, () => createAmiTranslator(OPTIONS), cutAmi, maxFrames),
    ...sources('freeswitch', '.esl', readEsl, () => createEslTranslator(OPTIONS), cutEsl, maxFrames),
  ]
}

function sources<Frame>(
  folder: string,
  extension: string,
  read: (name: string) => Timed<Frame>[],
  translator: () => Translator<Frame>,
  cut: (frame: Frame, random: Random) => Frame | undefined,
  maxFrames: number,
): Source[] {
  return readdirSync(join(FIXTURES, folder))
    .filter((file) => file.endsWith(extension))
    .map((file) => ({ name: file, frames: read(`${folder}/${file.slice(0, -extension.length)}`) }))
    .filter(({ frames }) => frames.length > 0 && frames.length <= maxFrames)
    .map(({ name, frames }) => ({
      name,
      signals(random, startUs) {
        const mutated = mutate(frames, random, cut)
        const signals = translator()
        return withoutDialsOfGone(mutated.flatMap(({ frame, atUs }) => signals.event(frame, startUs + atUs)))
      },
    }))
}

/** Leaves out dials for callers that are gone, which no PBX makes: a group that has ended would get another member. */
function withoutDialsOfGone(signals: readonly Signal[]): Signal[] {
  const gone = new Set<string | null>()
  return signals.filter((signal) => {
    if (signal.kind === 'hangup') gone.add(signal.id)
    return signal.kind !== 'dial_begin' || !gone.has(signal.source)
  })
}

function mutate<Frame>(
  frames: readonly Timed<Frame>[],
  random: Random,
  cut: (frame: Frame, random: Random) => Frame | undefined,
): Timed<Frame>[] {
  const rate = random.pick([0.002, 0.01, 0.05, 0.2])
  const from = random.chance(0.2) ? random.int(frames.length) : 0
  const to = random.chance(0.3) ? from + random.int(frames.length - from) : frames.length
  const out = frames.slice(from, to).flatMap((one): Timed<Frame>[] => {
    if (!random.chance(rate)) return [one]
    switch (random.int(3)) {
      case 0:
        return []
      case 1:
        return [one, one]
      default: {
        const frame = cut(one.frame, random)
        return frame === undefined ? [] : [{ ...one, frame }]
      }
    }
  })
  for (let index = 0; index < out.length; index++) {
    const other = Math.min(out.length - 1, index + 1 + random.int(4))
    const [a, b] = [out[index], out[other]]
    if (a === undefined || b === undefined || !random.chance(rate)) continue
    // The contents of the frames change places; their times stay.
    out[index] = { ...a, frame: b.frame }
    out[other] = { ...b, frame: a.frame }
  }
  return out
}

function readAmi(name: string): Timed<AmiFrame>[] {
  const decoder = new AmiDecoder()
  return readRecording(name).flatMap(({ bytes, atMs }) =>
    decoder.push(bytes).map((frame) => ({ frame, atUs: Math.round(atMs * 1_000) })),
  )
}

function readEsl(name: string): Timed<EslFrame>[] {
  const decoder = new EslDecoder()
  return readRecording(name).flatMap(({ bytes, atMs }) =>
    decoder.push(bytes).map((frame) => ({ frame, atUs: Math.round(atMs * 1_000) })),
  )
}

/** A frame that lost some of its headers. */
function cutAmi(frame: AmiFrame, random: Random): AmiFrame {
  const lost = random.int(1_000)
  const isLost = (key: string): boolean => (key.length * 31 + lost) % 3 === 0
  return {
    offset: frame.offset,
    tainted: frame.tainted,
    type: frame.type,
    name: frame.name,
    get: (key) => (isLost(key) ? '' : frame.get(key)),
    has: (key) => !isLost(key) && frame.has(key),
    all: (key) => (isLost(key) ? [] : frame.all(key)),
    isNext: (key, after) => frame.isNext(key, after),
    headers: () => frame.headers().filter(([key]) => !isLost(key)),
  }
}

function cutEsl(frame: EslFrame, random: Random): EslFrame | undefined {
  const { event } = frame
  if (event === undefined) return undefined
  const lost = random.int(1_000)
  const isLost = (key: string): boolean => (key.length * 31 + lost) % 3 === 0
  return {
    ...frame,
    event: {
      ...event,
      get: (key) => (isLost(key) ? '' : event.get(key)),
      has: (key) => !isLost(key) && event.has(key),
      all: (key) => (isLost(key) ? [] : event.all(key)),
    },
  }
}
