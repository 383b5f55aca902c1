import type { CallEvent } from '../../src/events/bodies.ts'
import { AmiDecoder } from '../../src/pbx/ami/decoder.ts'
import { isWanted } from '../../src/pbx/ami/events.ts'
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
    let listing: ReturnType<AmiDecoder['push']> | undefined
    const lastUs = fromUs
    played.play([{ kind: 'connected', first: index === 0, boot: null, atUs: lastUs, arrivedUs: lastUs }])
    let emptyLists = 0
    for (const { text, atMs } of change(blocksOf(name, folder))) {
      const arrivedUs = lastUs + Math.round(atMs * 1000)
      for (const frame of decoder.push(Buffer.from(text, 'latin1'))) {
        if (frame.name === 'CoreShowChannel' || (frame.name === 'Status' && frame.has('ActionID')))
          listing = [...(listing ?? []), frame]
        else if (frame.name === 'CoreShowChannelsComplete' || frame.name === 'StatusComplete') {
          played.play(signals.snapshot(listing ?? [], arrivedUs))
          if ((listing ?? []).length === 0) emptyLists += 1
          listing = undefined
        } else if (!frame.has('ActionID')) played.play(signals.event(frame, arrivedUs))
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
