import { createFirstList, type Placed } from '../recorded/first-list.ts'
import type { ReadRecorded, RecordedEvent } from '../recorded/recorded-events.ts'
import { AmiDecoder, type AmiFrame } from './decoder.ts'
import { isWanted, SHAPES, variablesOf } from './events.ts'
import { createInventoryReader } from './inventory.ts'
import { createdBy } from './snapshot-request.ts'

/** Reads a recorded connection to an Asterisk. */
export const readRecordedAmi: ReadRecorded<AmiFrame> = (translator, options, endpoints) => {
  const decoder = new AmiDecoder({
    skip: (name, peek) => !isWanted(name, peek, variablesOf(options), options.custom !== undefined),
  })
  const lists = new Map<string, AmiFrame[]>()
  const configured = createInventoryReader()
  const tainted: number[] = []
  let frames = 0

  const first = createFirstList({
    translator,
    createdBy,
    isOfCall: (frame) => SHAPES.has(frame.name),
  })

  function* eventsOf(placed: Placed<AmiFrame>): Iterable<RecordedEvent> {
    const { frame } = placed
    const id = frame.get('ActionID')
    if (id === '' && frame.type === 'event') {
      yield* first.event(placed)
      return
    }
    if (id !== '') {
      const rows = lists.get(id) ?? []
      lists.set(id, rows)
      if (frame.name === 'Status' || frame.name === 'CoreShowChannel') rows.push(frame)
      configured.row(frame)
      if (frame.name === 'ExtensionStateListComplete') endpoints.configure(configured.inventory())
      if (frame.name === 'StatusComplete' || frame.name === 'CoreShowChannelsComplete') {
        lists.delete(id)
        yield* first.list(placed, rows)
        return
      }
    }
    const { frame: _, ...place } = placed
    yield { ...place, signals: [] }
  }

  return {
    hasList: (recording) => /^Event: (?:Status|CoreShowChannels)Complete\r?$/m.test(recording.toString('latin1')),
    holdForList: first.hold,
    isHolding: first.isHolding,
    rest: first.rest,
    *read(bytes, arrivedUs) {
      for (const frame of decoder.push(bytes)) {
        frames += 1
        if (frame.tainted) tainted.push(frame.offset)
        const channel = frame.get('Channel') || frame.get('DestChannel')
        yield* eventsOf({ frame, offset: frame.offset, name: frame.name, channel, arrivedUs })
      }
    },
    result: () => ({ frames, passedOver: decoder.skipped, tainted, fault: decoder.fault }),
    bootOf: (recording) =>
      /^CoreStartupDate: .*\r\nCoreStartupTime: .*$/m.exec(recording.toString('latin1'))?.[0] ?? null,
  }
}
