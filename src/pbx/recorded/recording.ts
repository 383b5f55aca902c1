import { existsSync, readFileSync } from 'node:fs'
import { PBX_FACTS, PBX_KINDS, type PbxKind } from '../source/pbx-facts.ts'

/** The bytes of one connection to a PBX, and the times of their arrival. */
export type PbxRecording = {
  readonly kind: PbxKind
  readonly bytes: Buffer
  /** Returns the arrival time of the byte before this offset, in milliseconds of the recording. */
  readonly cameMs: (endOffset: number) => number
  /** The offset of each piece, and its time. */
  readonly pieces: readonly Piece[]
}

type Piece = { readonly offset: number; readonly atMs: number }

/** Reads `FILE`, and `FILE`'s `.timing` (a line per chunk: byte offset first, milliseconds last) if it exists. */
export function readRecording(path: string): PbxRecording {
  const bytes = readFileSync(path)
  const kind = kindOfRecording(bytes.subarray(0, 64), path)
  const timing = timingPath(path)
  return recordingOf(kind, bytes, timing === undefined ? '' : readFileSync(timing, 'utf8'))
}

/** Returns the kind of PBX that a recording is of, by its first bytes, then by its name. */
function kindOfRecording(head: Buffer, path: string): PbxKind {
  const shown = PBX_KINDS.find((kind) => head.includes(PBX_FACTS[kind].recording.mark))
  return shown ?? PBX_KINDS.find((kind) => path.endsWith(PBX_FACTS[kind].recording.suffix)) ?? 'asterisk'
}

/** Returns a recording from its bytes and the text of its `.timing`; if that is empty, all bytes arrived at once. */
export function recordingOf(kind: PbxRecording['kind'], bytes: Buffer, timing: string): PbxRecording {
  const pieces = readTiming(timing)
  return {
    kind,
    bytes,
    pieces,
    cameMs(endOffset) {
      let low = 0
      let high = pieces.length
      while (low < high) {
        const middle = (low + high) >> 1
        if ((pieces[middle]?.offset ?? 0) < endOffset) low = middle + 1
        else high = middle
      }
      return pieces[low - 1]?.atMs ?? 0
    },
  }
}

function timingPath(path: string): string | undefined {
  return [`${path}.timing`, path.replace(/\.[^./]+$/, '.timing')].find(
    (candidate) => candidate !== path && existsSync(candidate),
  )
}

function readTiming(text: string): Piece[] {
  return text
    .split('\n')
    .filter((line) => /^\d/.test(line))
    .map((line) => {
      const numbers = line.trim().split(/\s+/).map(Number)
      return { offset: numbers[0] ?? 0, atMs: numbers.at(-1) ?? 0 }
    })
}

/** One event of a recording, byte for byte; `name` is the event's. */
export type RecordedStep = { readonly bytes: Buffer; readonly atMs: number; readonly name: string }
