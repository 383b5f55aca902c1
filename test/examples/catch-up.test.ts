import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEventReader } from '../../src/calls/api/event-reader.ts'
import { eventRoutes } from '../../src/calls/api/event-routes.ts'
import { isOnlyOnRequest } from '../../src/lib/event-kinds.ts'
import { EXAMPLES as ALL } from '../../src/openapi/examples.ts'
import { startApi } from '../help/api.ts'
import { emptyFolder } from '../help/app.ts'
import { GUIDE_TEXT } from '../help/guides.ts'
import { until } from '../help/receiver.ts'
import { type OpenStore, openStore, storeEvents } from '../help/store.ts'

/** Nobody asks for the others: they are not stored. */
const EXAMPLES = ALL.filter(({ data }) => !isOnlyOnRequest(data.name))

/** The programs that the guide shows for a receiver that was away: each reads all, goes on from its cursor, and gets what comes. */

const PROGRAMS = [
  { file: 'catch-up.ts', command: ['bun', 'run'] },
  { file: 'catch-up.py', command: ['python3'] },
  { file: 'catch-up.php', command: ['php'] },
]
const FOLDER = join(import.meta.dir, '../../src/examples')
const folder = emptyFolder()
let store: OpenStore
let reader: ReturnType<typeof createEventReader>
let api: Awaited<ReturnType<typeof startApi>>
let token: string
let made = 0

beforeAll(async () => {
  store = openStore(join(folder.path, 'hookswitch.db'))
  reader = createEventReader(store)
  api = await startApi(store, (auth) => eventRoutes(auth, reader))
  token = await api.logIn('default')
})
afterAll(async () => {
  await reader.stop()
  await api.stop()
  await store.stop()
  folder[Symbol.dispose]()
})

async function put(): Promise<void> {
  const events = EXAMPLES.map(({ data, ...rest }) => {
    made += 1
    const [uuid, callId] = [`event ${made}`, data.call.id]
    return {
      uuid,
      callId,
      name: data.name,
      sequence: data.sequence,
      atUs: made,
      body: JSON.stringify({ ...rest, data }),
    }
  })
  await storeEvents(store, events)
  reader.wake()
}

describe.each(PROGRAMS)('$file', ({ file, command }) => {
  test('is in the guide as it is', () => {
    const text = readFileSync(join(FOLDER, file), 'utf8')
    expect(GUIDE_TEXT).toContain(`\n${text}\`\`\`\n`)
  })

  test.skipIf(Bun.which(command[0] ?? '') === null)('reads what was missed, goes on, and waits', async () => {
    using own = emptyFolder()
    await put()
    const start = () => {
      const child = Bun.spawn([...command, join(FOLDER, file)], {
        cwd: own.path,
        env: { ...process.env, HOOKSWITCH_BASE_URL: api.url, HOOKSWITCH_TOKEN: token },
        stdout: 'pipe',
        stderr: 'inherit',
      })
      const lines: string[] = []
      const reading = (async () => {
        let text = ''
        for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
          text += chunk
          lines.splice(0, lines.length, ...text.split('\n').slice(0, -1))
        }
      })()
      return {
        lines,
        async stop() {
          child.kill()
          await child.exited
          await reading
        },
      }
    }
    const first = start()
    await until('all were read', () => first.lines.length === made)
    expect(first.lines[0]).toBe(`call_started event 1 ${EXAMPLES[0]?.data.call.id}`)
    await until('it waits for more', () => reader.waiting() === 1)
    await put()
    await until('what came was read', () => first.lines.length === made)
    await until('it waits again', () => reader.waiting() === 1)
    await first.stop()
    await put()
    const second = start()
    await until('what was missed was read', () => second.lines.length === EXAMPLES.length)
    expect(second.lines[0]).toStartWith(`call_started event ${made - EXAMPLES.length + 1} `)
    await second.stop()
    await until('nobody waits', () => reader.waiting() === 0)
  })
})
