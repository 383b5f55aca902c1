import { emptyFolder } from '../help/app.ts'
import { startFreeswitchLoad } from '../help/freeswitch-load.ts'
import { startWatched } from '../help/watched.ts'
import { peakResidentMb } from './floods.ts'
import { residentMb } from './pbx-to-receiver.ts'
import { atMost, type Row } from './table.ts'

const CALLS_PER_SECOND = 400
const SECONDS = 25
/** Some 4,000 calls are open at a time: 2 s until the answer, 4 s as recorded, and this. */
const TALK_MS = 4_000
const BAR_MB = 350
const STORED_WITHIN_MS = 60_000
const ENDED = '"name":"call_ended"'

/** The memory of the executable beside a FreeSWITCH that makes calls at a steady rate. */
export async function benchFreeswitchCalls(): Promise<Row[]> {
  using folder = emptyFolder()
  const load = startFreeswitchLoad({ callsPerSecond: CALLS_PER_SECOND, talkMs: TALK_MS })
  const watched = await startWatched(folder.path, [`esl://:any@127.0.0.1:${load.port}?name=bench`])
  const calls = await load.run(SECONDS)
  const untilMs = performance.now() + STORED_WITHIN_MS
  const ended = () => watched.receiver.received.filter(({ body }) => body.includes(ENDED)).length
  while (ended() < calls && performance.now() < untilMs) await Bun.sleep(500)
  const [peakMb, afterMb] = [peakResidentMb(watched.pid()), residentMb(watched.pid())]
  const detail = `${ended()} of ${calls} calls ended, ${watched.receiver.received.length} events; ${afterMb.toFixed(0)} MB after`
  await watched.stop()
  load.stop()
  return [atMost(`peak of the memory at ${CALLS_PER_SECOND} calls/s of a FreeSWITCH`, BAR_MB, peakMb, ' MB', detail)]
}
