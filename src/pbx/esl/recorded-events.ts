import type { Signal } from '../../calls/calls.ts'
import type { ReadRecorded } from '../recorded/recorded-events.ts'
import { EslDecoder, type EslFrame } from './decoder.ts'

/** Reads a recorded connection to a FreeSWITCH. */
export const readRecordedEsl: ReadRecorded<EslFrame> = (translator) => {
  const decoder = new EslDecoder()
  /** Channels and calls: the two lists together are a snapshot. */
  let listed: EslFrame[] = []
  let frames = 0

  function signalsOf(frame: EslFrame, arrivedUs: number): Signal[] {
    if (frame.contentType !== 'api/response') return translator.event(frame, arrivedUs)
    if (!frame.body.includes('"row_count"')) return []
    listed.push(frame)
    if (listed.length < 2) return []
    const rows = listed
    listed = []
    return translator.snapshot(rows, arrivedUs)
  }

  return {
    *read(bytes, arrivedUs) {
      for (const frame of decoder.push(bytes)) {
        frames += 1
        const { event, offset } = frame
        const name = event === undefined ? frame.contentType : event.subclass || event.name
        const channel = event?.get('Channel-Name') ?? ''
        yield { offset, name, channel, signals: signalsOf(frame, arrivedUs) }
      }
    },
    result: () => ({ frames, passedOver: 0, tainted: [], fault: decoder.fault }),
    bootOf: (recording) => /Core-UUID"?: ?"?([0-9a-f-]{36})/.exec(recording.toString('latin1'))?.[1] ?? null,
  }
}
