import { resolve } from 'node:path'
import { createFreeswitch } from '../../src/pbx/esl/replay/freeswitch.ts'
import { type RecordedStep, readRecording } from '../../src/pbx/recorded/recording.ts'
import { type PbxClient, startPbx } from './pbx-server.ts'

/** An inbound call that extension 1001 answers after 2 s, with all bytes that a FreeSWITCH sends for it. */
const RECORDING = resolve(import.meta.dir, '../fixtures/freeswitch/inbound-answered-json.esl')
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
/** A time in microseconds: of the recording's year. */
const TIME = /\b1795\d{12}\b/g

/** An event of the recorded call, with the places of what differs from call to call. */
type Piece = {
  readonly bytes: Buffer
  /** The time in the call. */
  readonly afterMs: number
  readonly ids: readonly number[]
  readonly times: readonly { readonly at: number; readonly us: number }[]
}

/** Starts a FreeSWITCH that makes copies of a recorded call, at a steady rate, for the client that subscribed last. */
export function startFreeswitchLoad({ callsPerSecond, talkMs }: { callsPerSecond: number; talkMs: number }) {
  const persona = createFreeswitch()
  const { steps } = persona.load(readRecording(RECORDING))
  const ofCall = steps.filter(({ name }) => /^(CHANNEL|CALL)_/.test(name))
  const { promise: ready, resolve: isReady } = Promise.withResolvers<void>()
  let client: PbxClient | undefined
  let pieces: readonly Piece[] = []
  const { port, stop } = startPbx((one) => {
    const begin = () => {
      client = one
      isReady()
    }
    const { data, wants } = persona.connect({ write: one.write, close: one.close, begin, nowMs: () => 0 })
    return {
      data(chunk) {
        data(chunk)
        pieces = piecesOf(ofCall.filter(wants), talkMs)
      },
    }
  })

  /** Writes what one call sends at this moment. */
  function send(call: number, piece: Piece, startUs: number): void {
    const { bytes, ids, times } = piece
    const beganUs = pieces[0]?.times[0]?.us ?? 0
    const number = call.toString(16).padStart(8, '0')
    for (const at of ids) bytes.write(number, at, 'latin1')
    for (const { at, us } of times) bytes.write(String(startUs + us - beganUs), at, 'latin1')
    client?.write(bytes)
  }

  return {
    port,
    ready,
    stop,
    /** Makes calls for a time; resolves when the last one has ended. Returns how many there were. */
    async run(seconds: number): Promise<number> {
      await ready
      const beginMs = performance.now()
      const atUs = Date.now() * 1_000
      const total = callsPerSecond * seconds
      /** The next piece of each open call. */
      const open = new Map<number, number>()
      for (let next = 0; next < total || open.size > 0; ) {
        const nowMs = performance.now() - beginMs
        for (; next < total && (next * 1_000) / callsPerSecond <= nowMs; next += 1) open.set(next, 0)
        for (const [call, from] of open) {
          const beganMs = (call * 1_000) / callsPerSecond
          let at = from
          for (let piece = pieces[at]; piece !== undefined && beganMs + piece.afterMs <= nowMs; piece = pieces[at]) {
            send(call, piece, Math.round(atUs + beganMs * 1_000))
            at += 1
          }
          if (at === pieces.length) open.delete(call)
          else open.set(call, at)
        }
        await Bun.sleep(5)
      }
      return total
    },
  }
}

/** What follows this is the end of the call. */
const ANSWERED_MS = 3_000

/** Returns the events of the recorded call; those of its end are later, so that the call lasts for some time. */
function piecesOf(steps: readonly RecordedStep[], talkMs: number): Piece[] {
  const firstMs = steps[0]?.atMs ?? 0
  return steps.map(({ bytes, atMs }) => {
    const afterMs = atMs - firstMs
    const text = bytes.toString('latin1')
    const core = /"Core-UUID":"([^"]+)"/.exec(text)?.[1]
    return {
      bytes: Buffer.from(bytes),
      afterMs: afterMs > ANSWERED_MS ? afterMs + talkMs : afterMs,
      ids: [...text.matchAll(UUID)].flatMap(({ index, 0: id }) => (id === core ? [] : index)),
      times: [...text.matchAll(TIME)].map(({ index, 0: us }) => ({ at: index, us: Number(us) })),
    }
  })
}
