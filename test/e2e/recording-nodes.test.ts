import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { tone } from '../help/audio.ts'
import { ask, logIn, PASSWORD, webhook } from '../help/client.ts'
import { startFileServer } from '../help/file-server.ts'
import { fixture } from '../help/pbx.ts'
import { emptyDatabase, POSTGRES_MISSING } from '../help/postgres.ts'
import { startReceiver, until } from '../help/receiver.ts'

// Two nodes of the executable on one database, with one folder for copies. The owner of the PBX is killed while it
// copies a recording: the other node copies it, and each node serves it.

const SOUND = tone(5)
const FILE = '2026-11-20_4d981605-d8a0-4bf1-aa79-1ab157d3b70e.wav'

type Data = { name: string; sequence: number; call: { id: string }; recording: { id: string; url: string } }

describe.skipIf(POSTGRES_MISSING !== undefined)('a recording where two nodes share a database', () => {
  const folder = emptyFolder()
  const stops: (() => unknown)[] = []
  let nodes: RunningApp[] = []
  let token = ''
  let saved: () => Data[] = () => []
  let cli: (args: string[], stdin?: string) => ReturnType<typeof run>

  beforeAll(async () => {
    mkdirSync(join(folder.path, 'recordings'))
    writeFileSync(join(folder.path, 'recordings', FILE), SOUND)
    const database = await emptyDatabase()
    stops.unshift(() => database[Symbol.asyncDispose]())
    const receiver = startReceiver()
    stops.unshift(() => receiver.stop())
    saved = () =>
      [...new Map(receiver.received.map(({ id, body }) => [id, JSON.parse(body).data])).values()].filter(
        ({ name }) => name === 'recording_saved',
      )
    // The first request for the whole file gets only its beginning.
    let isStalled = false
    const server = startFileServer({
      folder: folder.path,
      answer(request) {
        if (isStalled || request.method !== 'GET' || request.headers.has('range')) return undefined
        isStalled = true
        const stream = new ReadableStream({
          start: (controller) => controller.enqueue(SOUND.subarray(0, 10_000)),
        })
        return new Response(stream, { headers: { 'content-type': 'audio/wav' } })
      },
    })
    stops.unshift(server.stop)
    const { promise: isReady, resolve: goOn } = Promise.withResolvers<void>()
    const replay = startReplay({ files: [fixture('recorded.esl')], after: isReady, speed: 4 })
    stops.unshift(() => replay.stop())
    const env = { HOOKSWITCH_DATABASE_URL: database.url }
    const pbx = `esl://:any@127.0.0.1:${replay.port}?name=office&recordings=${server.url}recordings/`
    const settings = ['--allow-net', 'loopback', '--log-level', 'warn', '--public-url', 'https://calls.example']
    const copies = ['--recordings-copy', join(folder.path, 'copies')]
    const startNode = () => startServe({ cwd: folder.path, env, args: [...settings, ...copies, '--pbx', pbx] })
    nodes = [await startNode(), await startNode()]
    stops.unshift(() => Promise.all(nodes.map((node) => node.stop())))
    cli = (args, stdin = '') => run(args, { cwd: folder.path, env, stdin })
    await cli(['user', 'add', '--email', 'a@example.com', '--name', 'A'], `${PASSWORD}\n`)
    const [node = nodes[1]] = nodes
    if (node === undefined) throw new Error('no node was started')
    token = await logIn(node, 'a@example.com')
    const url = `${receiver.url}/calls`
    await ask(node, 'PUT', '/integration/webhook', { token, body: [webhook(url)] })
    await ask(node, 'PUT', '/integration/webhook/options', { token, body: { url, events: ['recording_saved'] } })
    goOn()
    await until('the owner copies', () => isStalled)
    const list: { address: string; pbxs: string[] }[] = JSON.parse((await cli(['nodes', '--json'])).stdout)
    const owner = nodes.find((one) => list.some(({ address, pbxs }) => address === one.url && pbxs.includes('office')))
    await owner?.stop('SIGKILL')
    nodes = nodes.filter((one) => one !== owner)
    expect(nodes).toHaveLength(1)
    await until('the other one has copied it', () => saved().length > 0)
    nodes.push(await startNode())
  })
  afterAll(async () => {
    for (const stop of stops) await stop()
    folder[Symbol.dispose]()
  })

  const first = (): Data | undefined => saved()[0]
  const everyNode = async (path: string, headers: Record<string, string> = {}) =>
    Promise.all(
      nodes.map(async ({ url }) => {
        const response = await fetch(url + path, { headers })
        const bytes = Buffer.from(await response.arrayBuffer())
        return { status: response.status, isWhole: bytes.equals(SOUND), etag: response.headers.get('etag') }
      }),
    )

  test('is one event and one copy, which is whole', () => {
    expect(saved()).toHaveLength(1)
    const place = join(folder.path, 'copies')
    const files = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.wav'))
    expect(files).toHaveLength(1)
    expect(readFileSync(join(place, files[0] ?? '')).equals(SOUND)).toBe(true)
  })

  test('is served by each node, to a token and to a link, also after the PBX deleted it', async () => {
    rmSync(join(folder.path, 'recordings', FILE))
    const { call, recording } = first() ?? { call: { id: '' }, recording: { id: '', url: '' } }
    const { pathname, search } = new URL(recording.url)
    const hash = new Bun.CryptoHasher('sha256').update(SOUND).digest('hex')
    const whole = { status: 200, isWhole: true, etag: `"${hash}"` }
    expect(await everyNode(pathname + search)).toEqual([whole, whole])
    const path = `/call/${call.id}/recording/${recording.id}`
    expect(await everyNode(path, { authorization: `Bearer ${token}` })).toEqual([whole, whole])
  })

  test('is opened by no old link at any node once one key was replaced', async () => {
    const { pathname, search } = new URL(first()?.recording.url ?? '')
    expect((await cli(['recordings', 'rotate-key'])).stdout).toContain('The key was replaced')
    expect((await everyNode(pathname + search)).map(({ status }) => status)).toEqual([403, 403])
  })
})
