import { createFirstList, type Placed } from '../recorded/first-list.ts'
import type { ReadRecorded, RecordedEvent } from '../recorded/recorded-events.ts'
import { EslDecoder, type EslFrame } from './decoder.ts'
import { createdBy } from './snapshot-request.ts'

/** Reads a recorded connection to a FreeSWITCH. */
export const readRecordedEsl: ReadRecorded<EslFrame> = (translator) => {
  const decoder = new EslDecoder()
  /** Channels and calls: the two lists together are a snapshot. */
  let listed: EslFrame[] = []
  /** The latest reply with the PBX's clock, which is asked for with each snapshot. */
  let clock: EslFrame | undefined
  let frames = 0

  const first = createFirstList({ translator, createdBy, isOfCall: ({ event }) => event !== undefined })

  function* eventsOf(placed: Placed<EslFrame>): Iterable<RecordedEvent> {
    const { frame, ...place } = placed
    if (frame.contentType !== 'api/response') {
      yield* first.event(placed)
      return
    }
    if (frame.body.includes('"row_count"')) listed.push(frame)
    else if (/^\s*\d{16}\s*$/.test(frame.body)) clock = frame
    if (listed.length < 2) {
      yield { ...place, signals: [] }
      return
    }
    const rows = clock === undefined ? listed : [...listed, clock]
    listed = []
    clock = undefined
    yield* first.list(placed, rows)
  }

  return {
    hasList: (recording) => recording.toString('latin1').split('"row_count"').length > 2,
    holdForList: first.hold,
    isHolding: first.isHolding,
    rest: first.rest,
    *read(bytes, arrivedUs) {
      for (const frame of decoder.push(bytes)) {
        frames += 1
        const { event, offset } = frame
        const name = event === undefined ? frame.contentType : event.subclass || event.name
        const channel = event?.get('Channel-Name') ?? ''
        yield* eventsOf({ frame, offset, name, channel, arrivedUs })
      }
    },
    result: () => ({ frames, passedOver: 0, tainted: [], fault: decoder.fault }),
    bootOf: (recording) => /Core-UUID"?: ?"?([0-9a-f-]{36})/.exec(recording.toString('latin1'))?.[1] ?? null,
  }
}
