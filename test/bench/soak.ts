import { readFileSync } from 'node:fs'
import { emptyFolder, startServe } from '../help/app.ts'
import { acts, startAsterisk } from '../help/asterisk-load.ts'
import { ask, newToken, webhook } from '../help/client.ts'
import { startReceiverProcess } from './receiver-process.ts'
import { atMost, type Row } from './table.ts'

/** Compares the memory of a service after many short calls with its memory after fewer. */

const CALLS = 100_000
const STEP = 20_000
/** The most calls at a time: the soak measures memory, not pace. */
const CALLS_AT_ONCE = 40
const EVENTS_PER_CALL = new Set(acts(0).flatMap(({ emits }) => (emits === '' ? [] : [emits]))).size + 2
/** A pause before memory is measured: the garbage collector has run, and buffers are returned. */
const REST_MS = 10_000

const megabytesOf = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024

export async function benchSoak(): Promise<Row[]> {
  using folder = emptyFolder()
  using receivers = await startReceiverProcess(1, 'count')
  const [url = ''] = receivers.urls
  const pbx = startAsterisk()
  const app = await startServe({
    cwd: folder.path,
    args: ['--allow-net', 'loopback', '--log-level', 'error', '--pbx', `ami://any:any@127.0.0.1:${pbx.port}?name=soak`],
  })
  const token = await newToken(app, 'soak@example.com')
  await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(url)] })
  await pbx.ready
  const received = async (): Promise<number> => (await (await fetch(new URL('/count', url))).json()).distinct
  const memory: number[] = []
  for (let call = 0, done = 0; call < CALLS; ) {
    for (const stop = call + 8; call < stop; call += 1)
      pbx.send(
        acts(call)
          .map(({ bytes }) => bytes)
          .join(''),
      )
    while (call - done > CALLS_AT_ONCE) {
      await Bun.sleep(2)
      done = (await received()) / EVENTS_PER_CALL
    }
    if (call % STEP > 0) continue
    while ((await received()) < call * EVENTS_PER_CALL) await Bun.sleep(50)
    await Bun.sleep(REST_MS)
    memory.push(megabytesOf(app.pid))
  }
  await app.stop()
  pbx.stop()
  const [first = 0, last = 0] = [memory.at(0), memory.at(-1)]
  const detail = `MB after each ${STEP.toLocaleString('en')}: ${memory.map(Math.round).join(', ')}`
  return [atMost('memory after 100,000 calls ÷ after 20,000', 1.1, last / first, '', detail)]
}
