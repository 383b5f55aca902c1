import { emptyFolder } from '../help/app.ts'
import { startAsterisk } from '../help/asterisk-load.ts'
import { startWatched } from '../help/watched.ts'
import { startCalls } from './pbx-to-receiver.ts'
import { processorUs } from './postgres.ts'
import { atMost, type Row } from './table.ts'

const CALLS_PER_SECOND = 80
const SECONDS = 6
/** Calls with and without the page take turns, so that both meet the same machine. */
const TURNS = 3

/** What a page that is open costs: the service's processor time for an event with it, ÷ without. */
export async function benchOpenPage(): Promise<Row[]> {
  using folder = emptyFolder()
  const pbx = startAsterisk()
  const watched = await startWatched(folder.path, [`ami://any:any@127.0.0.1:${pbx.port}?name=bench&trunks=trunk`])
  await pbx.ready
  const authorization = `Bearer ${watched.token}`
  const costUs = async (isOpen: boolean): Promise<number> => {
    const left = new AbortController()
    const reading = isOpen
      ? fetch(`${watched.url()}/stream`, { headers: { authorization }, signal: left.signal })
          .then(async ({ body }) => {
            for await (const _ of body ?? []);
          })
          .catch(() => undefined)
      : undefined
    const before = { us: processorUs(watched.pid()), events: watched.receiver.received.length }
    await startCalls([pbx], watched, { callsPerSecond: CALLS_PER_SECOND, seconds: SECONDS }).ended
    const events = watched.receiver.received.length - before.events
    const us = processorUs(watched.pid()) - before.us
    left.abort()
    await reading
    return us / events
  }
  // Code is compiled in the first turn.
  await costUs(true)
  let [withPage, without] = [0, 0]
  for (let turn = 0; turn < TURNS; turn += 1) {
    withPage += (await costUs(true)) / TURNS
    without += (await costUs(false)) / TURNS
  }
  await watched.stop()
  pbx.stop()
  const detail = `${withPage.toFixed(0)} of ${without.toFixed(0)} µs for an event, at ${CALLS_PER_SECOND} calls/s`
  return [atMost('processor time of an event with an open page ÷ without', 1.1, withPage / without, '', detail)]
}
