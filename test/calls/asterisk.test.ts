import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AmiDecoder } from '../../src/pbx/ami/decoder.ts'
import { createAmiTranslator } from '../../src/pbx/ami/translator/translator.ts'
import { CONTINUES } from '../help/continues.ts'
import { compare } from '../help/expected.ts'
import { player } from '../help/play.ts'
import { FIXTURES, readExpectedFile, readRecording } from '../help/recording.ts'

const START_US = 1_795_213_000_000_000

/** One event or answer as Asterisk printed it, and when it came. */
type Block = { readonly text: string; readonly atMs: number }
type Change = (blocks: readonly Block[]) => readonly Block[]

function blocksOf(name: string): Block[] {
  const chunks = readRecording(`asterisk/${name}`)
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

const asRecorded: Change = (blocks) => blocks

function eventsOf(names: readonly string[], change = asRecorded) {
  const played = player()
  let fromUs = START_US
  names.forEach((name, index) => {
    const decoder = new AmiDecoder()
    const signals = createAmiTranslator({ trunks: [], extensions: [], variables: [] })
    let listing: ReturnType<AmiDecoder['push']> | undefined
    const lastUs = fromUs
    played.play([{ kind: 'connected', first: index === 0, boot: null, atUs: lastUs, arrivedUs: lastUs }])
    let emptyLists = 0
    for (const { text, atMs } of change(blocksOf(name))) {
      const arrivedUs = lastUs + Math.round(atMs * 1000)
      for (const frame of decoder.push(Buffer.from(text, 'latin1'))) {
        if (frame.name === 'CoreShowChannel') listing = [...(listing ?? []), frame]
        else if (frame.name === 'CoreShowChannelsComplete') {
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

const names = readdirSync(join(FIXTURES, 'asterisk'))
  .filter((file) => file.endsWith('.expected'))
  .map((file) => file.replace('.expected', ''))

const header = (text: string, name: string): string => new RegExp(`^${name}: (.*?)\\r?$`, 'm').exec(text)?.[1] ?? ''

/** Events of different threads of Asterisk overtake each other by that at most. */
const RACE_MS = 100

/** Asterisk 13 may report that a phone rings before it reports that it was dialled. */
function ringingFirst(blocks: readonly Block[]): Block[] {
  const changed = [...blocks]
  for (const block of blocks) {
    if (!block.text.startsWith('Event: Newstate') || header(block.text, 'ChannelState') !== '5') continue
    const id = header(block.text, 'Uniqueid')
    const dial = changed.findIndex(
      ({ text }) => text.startsWith('Event: DialBegin') && header(text, 'DestUniqueid') === id,
    )
    const from = changed.indexOf(block)
    const before = changed[dial]
    if (before === undefined || dial > from || block.atMs - before.atMs > RACE_MS) continue
    changed.splice(from, 1)
    const stamp = `Timestamp: ${header(before.text, 'Timestamp')}`
    changed.splice(dial, 0, { text: block.text.replace(/^Timestamp: [\d.]+/m, stamp), atMs: before.atMs })
  }
  return changed
}

/** chan_sip reports a caller as Down at first, and at once as Ring. */
const downFirst: Change = (blocks) =>
  blocks.flatMap((block) => {
    const isCaller = block.text.startsWith('Event: Newchannel') && header(block.text, 'ChannelState') === '4'
    if (!isCaller || header(block.text, 'Channel').startsWith('Local/')) return [block]
    const down = block.text.replace('ChannelState: 4', 'ChannelState: 0').replace('Desc: Ring', 'Desc: Down')
    return [
      { ...block, text: down },
      { ...block, text: block.text.replace('Event: Newchannel', 'Event: Newstate') },
    ]
  })

describe.each([
  ['as recorded', asRecorded],
  ['with phones that ring before their dial', ringingFirst],
  ['with callers that are Down at first', downFirst],
])('%s', (_, change) => {
  test.each(names)('%s gives its events', (name) => {
    const second = CONTINUES[name]
    const events = eventsOf(second === undefined ? [name] : [name, second], change)
    const { got, expected } = compare(
      events.map((event) => event.body),
      readExpectedFile(`asterisk/${name}`),
      { all: true },
    )
    expect(got).toBe(expected)
  })
})
