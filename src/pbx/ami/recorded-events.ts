import type { Signal } from '../../calls/calls.ts'
import type { ReadRecorded } from '../recorded/recorded-events.ts'
import { AmiDecoder, type AmiFrame } from './decoder.ts'
import { isWanted, variablesOf } from './events.ts'
import { createInventoryReader } from './inventory.ts'

/** Reads a recorded connection to an Asterisk. */
export const readRecordedAmi: ReadRecorded<AmiFrame> = (translator, options, endpoints) => {
  const decoder = new AmiDecoder({
    skip: (name, peek) => !isWanted(name, peek, variablesOf(options), options.custom !== undefined),
  })
  const lists = new Map<string, AmiFrame[]>()
  const configured = createInventoryReader()
  const tainted: number[] = []
  let frames = 0

  function signalsOf(frame: AmiFrame, arrivedUs: number): Signal[] {
    const id = frame.get('ActionID')
    if (id === '') return frame.type === 'event' ? translator.event(frame, arrivedUs) : []
    const rows = lists.get(id) ?? []
    lists.set(id, rows)
    if (frame.name === 'Status' || frame.name === 'CoreShowChannel') rows.push(frame)
    configured.row(frame)
    if (frame.name === 'ExtensionStateListComplete') endpoints.configure(configured.inventory())
    if (frame.name !== 'StatusComplete' && frame.name !== 'CoreShowChannelsComplete') return []
    lists.delete(id)
    return translator.snapshot(rows, arrivedUs)
  }

  return {
    *read(bytes, arrivedUs) {
      for (const frame of decoder.push(bytes)) {
        frames += 1
        if (frame.tainted) tainted.push(frame.offset)
        const channel = frame.get('Channel') || frame.get('DestChannel')
        yield { offset: frame.offset, name: frame.name, channel, signals: signalsOf(frame, arrivedUs) }
      }
    },
    result: () => ({ frames, passedOver: decoder.skipped, tainted, fault: decoder.fault }),
    bootOf: (recording) =>
      /^CoreStartupDate: .*\r\nCoreStartupTime: .*$/m.exec(recording.toString('latin1'))?.[0] ?? null,
  }
}
