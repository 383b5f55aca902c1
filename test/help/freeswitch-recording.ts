import type { CallEvent } from '../../src/events/bodies.ts'
import { EslDecoder, type EslFrame } from '../../src/pbx/esl/decoder.ts'
import { createEslTranslator } from '../../src/pbx/esl/translator/translator.ts'
import type { PlayedOptions } from './asterisk-recording.ts'
import { player } from './play.ts'
import { FIXTURES, readRecording } from './recording.ts'

/** Plays ESL recordings of test/fixtures/freeswitch through the translator and the tracker. */

const START_US = 1_795_213_000_000_000

const createdBy = ({ event }: EslFrame): string[] => (event?.name === 'CHANNEL_CREATE' ? [event.get('Unique-ID')] : [])

/** Returns the events of a recording, or of several that continue each other. */
export function freeswitchEvents(
  names: readonly string[],
  { folder = FIXTURES, ...options }: PlayedOptions = {},
): readonly CallEvent[] {
  const played = player(options)
  let fromUs = START_US
  names.forEach((name, index) => {
    const decoder = new EslDecoder()
    const signals = createEslTranslator({ trunks: [], extensions: [], variables: [] })
    const lastUs = fromUs
    const chunks = readRecording(`freeswitch/${name}`, folder)
    const text = Buffer.concat(chunks.map(({ bytes }) => bytes)).toString('latin1')
    const boot = /Core-UUID"?: ?"?([0-9a-f-]{36})/.exec(text)?.[1] ?? null
    played.play([{ kind: 'connected', first: index === 0, boot, atUs: lastUs, arrivedUs: lastUs }])
    // The replies of the first list, and of a second one where it was recorded; the PBX's clock may come with each.
    const lists: EslFrame[] = []
    const clock: EslFrame[] = []
    const isListedAgain = text.split('{"row_count"').length > 4
    let listedUs = 0
    // A session reads the events that come before its first list after that list.
    let earlier: { readonly frame: EslFrame; readonly arrivedUs: number }[] | undefined = text.includes('{"row_count"')
      ? []
      : undefined
    const snapshotWith = (arrivedUs: number): void => {
      const [first] = earlier ?? []
      const frames = (earlier ?? []).map(({ frame }) => frame)
      const created = new Set(frames.flatMap(createdBy))
      const about = earlier === undefined ? {} : { created, earlier: frames }
      played.play(signals.snapshot([...lists.slice(-2), ...clock], first?.arrivedUs ?? arrivedUs, about))
      for (const one of earlier ?? []) played.play(signals.event(one.frame, one.arrivedUs))
      earlier = undefined
    }
    for (const { bytes, atMs } of chunks) {
      const arrivedUs = lastUs + Math.round(atMs * 1000)
      // Two lists 2 s apart close what both lack.
      if (listedUs > 0 && arrivedUs - listedUs > 2_000_000) {
        played.play(signals.snapshot(lists, listedUs + 2_000_000))
        listedUs = 0
      }
      for (const frame of decoder.push(bytes)) {
        if (frame.contentType !== 'api/response') {
          if (earlier === undefined) played.play(signals.event(frame, arrivedUs))
          else if (frame.event?.has('Unique-ID')) earlier.push({ frame, arrivedUs })
        } else if (frame.body.startsWith('{')) lists.push(frame)
        else clock.splice(0, 1, frame)
        if (frame.contentType !== 'api/response' || !frame.body.startsWith('{') || lists.length % 2 > 0) continue
        snapshotWith(arrivedUs)
        if (lists.length === 2 && !isListedAgain) listedUs = arrivedUs
      }
      fromUs = arrivedUs
    }
  })
  played.rest(10_000_000)
  return played.events
}
