import type { CallEvent } from '../../src/events/bodies.ts'
import { AmiDecoder, type AmiFrame } from '../../src/pbx/ami/decoder.ts'
import { isWanted, SHAPES } from '../../src/pbx/ami/events.ts'
import { createAmiTranslator } from '../../src/pbx/ami/translator/translator.ts'
import { type PlayerOptions, player } from './play.ts'
import { FIXTURES, readRecording } from './recording.ts'

/** Plays AMI recordings of test/fixtures/asterisk through the translator and the tracker. */

const START_US = 1_795_213_000_000_000

/** One event or answer as Asterisk printed it, and when it came. */
export type Block = { readonly text: string; readonly atMs: number }
export type Change = (blocks: readonly Block[]) => readonly Block[]

function blocksOf(name: string, folder: string): Block[] {
  const chunks = readRecording(`asterisk/${name}`, folder)
  const text = Buffer.concat(chunks.map(({ bytes }) => bytes)).toString('latin1')
  const ending = text.includes('\r\n\r\n') ? '\r\n\r\n' : '\n\n'
  const blocks: Block[] = []
  let [chunk, endOfChunk, start] = [0, chunks[0]?.bytes.length ?? 0, 0]
  while (start < text.length) {
    const found = text.indexOf(ending, start)
    const end = found < 0 ? text.length : found + ending.length
    while (endOfChunk < end && chunk + 1 < chunks.length) endOfChunk += chunks[++chunk]?.bytes.length ?? 0
    blocks.push({ text: text.slice(start, end), atMs: chunks[chunk]?.atMs ?? 0 })
    start = end
  }
  return blocks
}

export const asRecorded: Change = (blocks) => blocks

type Frames = ReturnType<AmiDecoder['push']>

const isEndOfList = ({ text }: Block): boolean => /^Event: (CoreShowChannels|Status)Complete/.test(text)

const createdBy = (frame: AmiFrame): string[] => (frame.name === 'Newchannel' ? [frame.get('Uniqueid')] : [])

/** What a player of recordings takes: those of `folder` in place of the project's own. */
export type PlayedOptions = PlayerOptions & { readonly folder?: string }

/** Returns the events of a recording, or of several that continue each other; `change` may alter what Asterisk sent. */
export function asteriskEvents(
  names: readonly string[],
  change = asRecorded,
  { folder = FIXTURES, ...options }: PlayedOptions = {},
): readonly CallEvent[] {
  const played = player(options)
  let fromUs = START_US
  names.forEach((name, index) => {
    // A session also ignores events that it does not want.
    const decoder = new AmiDecoder({ skip: (name, peek) => !isWanted(name, peek, []) })
    const signals = createAmiTranslator({ trunks: [], extensions: [], variables: [] })
    let listing: Frames | undefined
    const lastUs = fromUs
    played.play([{ kind: 'connected', first: index === 0, boot: null, atUs: lastUs, arrivedUs: lastUs }])
    let emptyLists = 0
    const blocks = change(blocksOf(name, folder))
    // A session reads the events that come before its first list after that list.
    let earlier: { readonly frame: AmiFrame; readonly arrivedUs: number }[] | undefined = blocks.some(isEndOfList)
      ? []
      : undefined
    const list = (rows: Frames, arrivedUs: number): void => {
      const before = (earlier ?? []).filter(({ frame }) => SHAPES.has(frame.name))
      const frames = before.map(({ frame }) => frame)
      const created = new Set(frames.flatMap(createdBy))
      played.play(signals.snapshot(rows, arrivedUs, { created, earlier: frames, earlierUs: before[0]?.arrivedUs }))
      for (const one of before) played.play(signals.event(one.frame, one.arrivedUs))
      earlier = undefined
    }
    for (const { text, atMs } of blocks) {
      const arrivedUs = lastUs + Math.round(atMs * 1000)
      for (const frame of decoder.push(Buffer.from(text, 'latin1'))) {
        if (frame.name === 'CoreShowChannel' || (frame.name === 'Status' && frame.has('ActionID')))
          listing = [...(listing ?? []), frame]
        else if (frame.name === 'CoreShowChannelsComplete' || frame.name === 'StatusComplete') {
          list(listing ?? [], arrivedUs)
          if ((listing ?? []).length === 0) emptyLists += 1
          listing = undefined
        } else if (frame.has('ActionID')) continue
        else if (earlier === undefined) played.play(signals.event(frame, arrivedUs))
        else earlier.push({ frame, arrivedUs })
      }
      fromUs = arrivedUs
    }
    if (index > 0 && emptyLists > 0) {
      const again = fromUs + 2_000_000
      played.play(signals.snapshot([], again))
    }
  })
  played.rest(10_000_000)
  return played.events
}
