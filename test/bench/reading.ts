import { readFileSync } from 'node:fs'
import { newUuid } from '../../src/lib/id.ts'
import { nowUs } from '../../src/lib/time.ts'
import { emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { ask, newToken } from '../help/client.ts'
import { openStore, storeEvents } from '../help/store.ts'
import { bodyOf } from './delivery.ts'
import { atLeast, atMost, perSecond, type Row } from './table.ts'

/** `GET /event`: how fast a receiver catches up after an absence, and the cost of readers that wait. */

const EVENTS = 200_000
const READERS = 1_000

/** Returns how many MB of a process are in memory. */
const memoryOf = ({ pid }: RunningApp): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024

type Page = { readonly items: readonly { readonly id: string }[]; readonly next_cursor: string }

async function readAll(app: RunningApp, token: string): Promise<number> {
  const startedMs = performance.now()
  let read = 0
  for (let cursor = ''; read < EVENTS; ) {
    const path = `/event?limit=1000${cursor === '' ? '' : `&after=${cursor}`}`
    const result = (await ask(app, 'GET', path, { token })).body.result as Page
    read += result.items.length
    cursor = result.next_cursor
  }
  return (read / (performance.now() - startedMs)) * 1_000
}

/** Returns how many MB more memory the service takes while READERS requests wait for events. */
async function memoryOfWaiting(app: RunningApp, token: string): Promise<number> {
  await ask(app, 'GET', '/event?after=now', { token })
  Bun.gc(true)
  const before = memoryOf(app)
  const gone = new AbortController()
  let open = 0
  const headers = { authorization: `Bearer ${token}` }
  const readers = Array.from({ length: READERS }, () => {
    open += 1
    return fetch(`${app.url}/event?after=now&wait=30`, { headers, signal: gone.signal })
      .catch(() => undefined)
      .finally(() => {
        open -= 1
      })
  })
  await Bun.sleep(5_000)
  if (open < READERS) throw new Error(`${READERS - open} readers were answered early`)
  const after = memoryOf(app)
  gone.abort()
  await Promise.all(readers)
  return after - before
}

/** Stores events of calls without deliveries. */
async function fill(path: string): Promise<void> {
  const store = openStore(path)
  for (let done = 0; done < EVENTS; done += 5_000)
    await storeEvents(
      store,
      Array.from({ length: 5_000 }, (_, n) => ({
        uuid: newUuid(nowUs()),
        callId: `call ${done + n}`,
        name: 'call_started' as const,
        sequence: 1,
        atUs: nowUs(),
        body: bodyOf(1_024),
      })),
    )
  await store.stop()
}

export async function benchReading(): Promise<Row[]> {
  using folder = emptyFolder()
  const start = () => startServe({ cwd: folder.path, args: ['--log-level', 'error'] })
  const first = await start()
  const token = await newToken(first, 'bench@example.com')
  await first.stop()
  await fill(`${folder.path}/data/hookswitch.db`)
  const app = await start()
  try {
    const waiting = await memoryOfWaiting(app, token)
    const rates = [await readAll(app, token), await readAll(app, token)]
    const rate = Math.max(...rates)
    return [
      atMost(`${READERS.toLocaleString('en')} readers that wait for events`, 50, waiting, ' MB'),
      atLeast('events of 1 KB read back, ÷ 50,000/s', 1, rate / 50_000, perSecond(rate)),
    ]
  } finally {
    await app.stop()
  }
}
