import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEventReader } from '../../src/calls/api/event-reader.ts'
import { eventRoutes } from '../../src/calls/api/event-routes.ts'
import { forSwitches, isOnlyOnRequest, STATE_SEQUENCE } from '../../src/events/kinds.ts'
import { ALL_EXAMPLES } from '../../src/events/samples.ts'
import { DEFAULT_OPTIONS } from '../../src/store/webhook-options.ts'
import { startApi } from '../help/api.ts'
import { emptyFolder } from '../help/app.ts'
import { GUIDE_TEXT } from '../help/guides.ts'
import { until } from '../help/receiver.ts'
import { type OpenStore, openStore, storeEvents } from '../help/store.ts'

/** An event without a call. */
const PHONE = 'phone_changed'
/** The kinds that are stored for every account, and that one. */
const EXAMPLES = ALL_EXAMPLES.filter(({ data: { name } }) => name === PHONE || !isOnlyOnRequest(name))

/**
 * The guide's programs for a receiver that was away: each reads all events, continues from its cursor, and gets new
 * ones.
 */

const PROGRAMS = [
  { file: 'catch-up.ts', command: ['bun', 'run'] },
  { file: 'catch-up.py', command: ['python3'] },
  { file: 'catch-up.php', command: ['php'] },
]
const OF_NO_CALL = { callId: 'phone 101@office', sequence: STATE_SEQUENCE.kept }
const FOLDER = join(import.meta.dir, '../../src/examples')
const folder = emptyFolder()
let store: OpenStore
let reader: ReturnType<typeof createEventReader>
let api: Awaited<ReturnType<typeof startApi>>
let token: string
let made = 0

beforeAll(async () => {
  store = openStore(join(folder.path, 'hookswitch.db'))
  // Without a webhook that asks for them, events of phones are not stored.
  const [url, nowUs] = ['https://wall.example.com/', 1]
  const list = [{ url, ...forSwitches(() => false) }]
  await store.webhooks.listReplace({ accountId: 1, list, ifMatch: null, nowUs, secrets: ['whsec_x'] })
  const options = { ...DEFAULT_OPTIONS, events: [PHONE] }
  await store.webhooks.optionsReplace({ accountId: 1, url, options, nowUs })
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
    const ofCall =
      'call' in data && data.call !== null ? { callId: data.call.id, sequence: data.sequence ?? 0 } : OF_NO_CALL
    return { ...ofCall, uuid: `event ${made}`, name: data.name, atUs: made, body: JSON.stringify({ ...rest, data }) }
  })
  await storeEvents(store, events)
  reader.wake()
}

describe.each(PROGRAMS)('$file', ({ file, command }) => {
  test('is in the guide unchanged', () => {
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
    const [started] = EXAMPLES
    expect(first.lines[0]).toBe(`call_started event 1 ${started && 'call' in started.data && started.data.call?.id}`)
    expect(first.lines).toContainEqual(expect.stringMatching(/^phone_changed event \d+ (null|None)?$/))
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
