import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { newUuid } from '../../src/lib/id.ts'
import { nowUs } from '../../src/lib/time.ts'
import { emptyFolder, startServe } from '../help/app.ts'
import { addUser, PASSWORD } from '../help/client.ts'
import { openStore, storeEvents } from '../help/store.ts'

const ROOT = resolve(import.meta.dir, '../..')
const EMAIL = 'generated@example.com'

/** A program as a developer writes it with the generated types: it is checked by the compiler, and then run. */
const PROGRAM = `import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

const [baseUrl = '', email = '', password = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl })
const login = await client.POST('/auth/login', { body: { email, password } })
if (login.data === undefined) throw new Error(login.error.message)
const headers = { authorization: \`Bearer \${login.data.result.access_token}\` }
const webhook: components['schemas']['Webhook'] = {
  url: 'https://crm.example.com/calls',
  call_started: true, call_ended: true, dial_started: false, dial_answered: false, dial_ended: false,
  call_transferred: true, call_saved: true,
}
await client.PUT('/integration/webhook', { headers, body: [webhook] })
const list = await client.GET('/integration/webhook', { headers })
const events = await client.GET('/event', { headers, params: { query: { limit: 10, event: ['call_started'] } } })
// @ts-expect-error: there is no such kind of event
await client.GET('/event', { headers, params: { query: { event: ['call_exploded'] } } })
const body: components['schemas']['WebhookBody'] = { template: '{{ data.name }}', content_type: 'text/plain' }
const preset: components['schemas']['WebhookBody'] = { preset: 'telegram', parameters: { chat_id: '1' } }
await client.PUT('/integration/webhook/options', { headers, body: { url: webhook.url, body } })
await client.PUT('/integration/webhook/options', { headers, body: { url: webhook.url, body: preset } })
// @ts-expect-error: it has to be a preset or a template
await client.PUT('/integration/webhook/options', { headers, body: { url: webhook.url, body: { content_type: 'a/b' } } })
const first: components['schemas']['Event'] | undefined = events.data?.result.items[0]
const data = first?.body.data
// Events of phones, trunks, agents and queues are of no call.
const direction: 'inbound' | 'outbound' | 'internal' | undefined =
  data !== undefined && 'call' in data ? data.call?.direction : undefined
console.log(JSON.stringify({ urls: list.data?.result.map(({ url }) => url), event: first?.event, direction }))
`

/** Runs a tool to its end; returns its output. @throws Error when it fails. */
async function ran(...command: string[]): Promise<string> {
  const child = Bun.spawn(command, { cwd: ROOT, stdout: 'pipe', stderr: 'pipe' })
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${output}${errors}`)
  return output
}

test('a client that openapi-typescript generates logs in, lists and reads events', async () => {
  using folder = emptyFolder()
  const app = await startServe({ cwd: folder.path })
  // Beside the packages, so that the program finds them.
  mkdirSync(join(ROOT, 'node_modules'), { recursive: true })
  const place = mkdtempSync(join(ROOT, 'node_modules/.generated-client-'))
  try {
    await addUser(folder.path, EMAIL)
    const store = openStore(`${folder.path}/data/hookswitch.db`)
    const body = JSON.stringify({ time: '2026-11-20T21:51:36Z', data: { call: { direction: 'inbound' } } })
    const event = { uuid: newUuid(nowUs()), callId: newUuid(nowUs()), name: 'call_started', sequence: 1 } as const
    await storeEvents(store, [{ ...event, atUs: nowUs(), body }])
    await store.stop()
    await Bun.write(join(place, 'openapi.json'), await (await fetch(`${app.url}/openapi.json`)).text())
    const generator = join(ROOT, 'node_modules/openapi-typescript/bin/cli.js')
    const preload = join(ROOT, 'test/help/typescript-5.ts')
    await ran('bun', '--preload', preload, generator, join(place, 'openapi.json'), '-o', join(place, 'api.ts'))
    await Bun.write(join(place, 'program.ts'), PROGRAM)
    const { compilerOptions } = await import('../../tsconfig.json')
    const options = { compilerOptions, include: ['program.ts'] }
    await Bun.write(join(place, 'tsconfig.json'), JSON.stringify(options))
    await ran('bunx', 'tsc', '-p', place)
    const output = JSON.parse(await ran('bun', join(place, 'program.ts'), app.url, EMAIL, PASSWORD))
    expect(output).toEqual({
      urls: ['https://crm.example.com/calls'],
      event: 'call_started',
      direction: 'inbound',
    })
  } finally {
    rmSync(place, { recursive: true, force: true })
    await app.stop()
  }
})
