import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AmiDecoder } from '../../src/pbx/ami/decoder.ts'
import { createAmiTranslator } from '../../src/pbx/ami/translator/translator.ts'
import { CONTINUES } from '../help/continues.ts'
import { compare } from '../help/expected.ts'
import { player } from '../help/play.ts'
import { FIXTURES, readExpectedFile, readRecording } from '../help/recording.ts'

const START_US = 1_795_213_000_000_000

function eventsOf(names: readonly string[]) {
  const played = player()
  let fromUs = START_US
  names.forEach((name, index) => {
    const decoder = new AmiDecoder()
    const signals = createAmiTranslator({ trunks: [], extensions: [], variables: [] })
    let listing: ReturnType<AmiDecoder['push']> | undefined
    const lastUs = fromUs
    played.play([{ kind: 'connected', first: index === 0, boot: null, atUs: lastUs, arrivedUs: lastUs }])
    let emptyLists = 0
    for (const { bytes, atMs } of readRecording(`asterisk/${name}`)) {
      const arrivedUs = lastUs + Math.round(atMs * 1000)
      for (const frame of decoder.push(bytes)) {
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

test.each(names)('%s gives its events', (name) => {
  const second = CONTINUES[name]
  const events = eventsOf(second === undefined ? [name] : [name, second])
  const { got, expected } = compare(
    events.map((event) => event.body),
    readExpectedFile(`asterisk/${name}`),
    { all: true },
  )
  expect(got).toBe(expected)
})
