import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { authRoutes } from '../src/auth/routes.ts'
import { createAuthService } from '../src/auth/service.ts'
import { addToken, createUser } from '../src/auth/store.ts'
import { newToken, tokenHash } from '../src/auth/token.ts'
import type { Database } from '../src/db/database.ts'
import { faults } from '../src/http/faults.ts'
import { startServer } from '../src/http/server.ts'
import { parsePbxUrl } from '../src/lib/pbx-url.ts'
import { startWatch } from '../src/pbx/watch.ts'
import { LOG, newRig } from './deliveries/rig.ts'
import { acts, startAsterisk } from './help/asterisk-load.ts'
import { startReceiver, until } from './help/receiver.ts'
import { COMMIT_MS } from './help/slow-disk.ts'

/**
 * A disk that takes 30 ms for each commit, as many clouds have: nobody waits for it but the first attempt of an event. Group commits
 * are the clock here: had something waited for the disk, it would have taken one of them each time. So nothing depends on how fast
 * this machine is.
 */
const writer = new URL('./help/slow-writer.ts', import.meta.url)

/** How many group commits there are while something is done. */
async function commitsDuring(db: Database, work: () => Promise<unknown>): Promise<number> {
  const before = db.commits.batches
  await work()
  return db.commits.batches - before
}

const calls = (count: number, name = 'call') => Array.from({ length: count }, (_, n) => `${name} ${n}`)

test('the disk is slow', async () => {
  await using rig = newRig({ writer })
  const startedMs = performance.now()
  for (let round = 0; round < 5; round += 1) await rig.tell('a')
  expect(performance.now() - startedMs).toBeGreaterThan(5 * COMMIT_MS)
})

test('attempts wait for the commit of their own event alone: not for what came of others, not of their own call', async () => {
  const receiver = startReceiver()
  await using rig = newRig({ writer })
  await rig.setUrls(receiver.url)
  await rig.tell(...calls(300).map((_, n) => `call ${n % 3}`))
  const commits = await commitsDuring(rig.db, () => until('all came', () => receiver.received.length === 300))
  // One call's hundred events, each sent after the answer to the one before.
  expect(commits).toBeLessThan(30)
  await receiver.stop()
})

test('under load a commit holds what many told and what came of many', async () => {
  const receiver = startReceiver()
  await using rig = newRig({ writer })
  await rig.setUrls(receiver.url)
  const teller = async (name: number) => {
    for (let round = 0; round < 10; round += 1) await rig.tell(...calls(10, `${name} ${round}`))
  }
  const commits = await commitsDuring(rig.db, async () => {
    await Promise.all(Array.from({ length: 20 }, (_, name) => teller(name)))
    await until('all came', () => receiver.received.length === 2_000)
  })
  expect(2_000 / commits).toBeGreaterThan(25)
  await receiver.stop()
})

/** Keeps the disk at work until it is told to stop. */
async function keepWriting(rig: ReturnType<typeof newRig>, until: Promise<unknown>): Promise<void> {
  let over = false
  void until.finally(() => {
    over = true
  })
  for (let n = 0; !over; n += 1) await rig.tell(`busy ${n}`)
}

test('the event loop stands still for no commit', async () => {
  const receiver = startReceiver()
  await using rig = newRig({ writer })
  await rig.setUrls(receiver.url)
  let [lastMs, stood] = [performance.now(), 0]
  const timer = setInterval(() => {
    const nowMs = performance.now()
    if (nowMs - lastMs >= COMMIT_MS) stood += 1
    lastMs = nowMs
  }, 1)
  const commits = await commitsDuring(rig.db, () => keepWriting(rig, Bun.sleep(40 * COMMIT_MS)))
  clearInterval(timer)
  expect(commits).toBeGreaterThan(10)
  expect(stood).toBeLessThan(commits / 4)
  await receiver.stop()
})

test('requests of the API are answered while the disk is at work', async () => {
  const receiver = startReceiver()
  await using rig = newRig({ writer })
  await rig.setUrls(receiver.url)
  const identity = { account: 'default', type: 1, name: 'A', email: 'a@example.com', passwordHash: '', atUs: 1 }
  const user = await rig.db.commit(createUser, identity)
  const token = newToken()
  const hashes = { passwordHash: '', tokenHash: tokenHash(token) ?? '' }
  await rig.db.commit(addToken, { userId: user?.id ?? 0, atUs: 1, ...hashes })
  const root = new Elysia({ normalize: false })
  root.use(faults({ log: LOG, routes: () => root.routes })).use(authRoutes(createAuthService({ db: rig.db }), []))
  const server = startServer(root, { host: '127.0.0.1', port: 0 })
  const headers = { authorization: `Bearer ${token}` }
  const asking = async () => {
    for (let n = 0; n < 300; n += 1) expect((await fetch(`${server.url}/auth/me`, { headers })).status).toBe(200)
  }
  const commits = await commitsDuring(rig.db, async () => {
    const asked = asking()
    await Promise.all([asked, keepWriting(rig, asked)])
  })
  expect(commits).toBeLessThan(100)
  await server.stop()
  await receiver.stop()
})

test("a PBX's socket is read, and its calls are tracked, while the disk is at work", async () => {
  const receiver = startReceiver()
  await using rig = newRig({ writer })
  await rig.setUrls(receiver.url)
  const pbx = startAsterisk()
  const source = parsePbxUrl(`ami://any:any@127.0.0.1:${pbx.port}?name=load`)
  if ('wrong' in source) throw new Error(source.wrong)
  let told = 0
  const debug = (_: unknown, what?: unknown) => {
    if (what === 'told') told += 1
  }
  const watch = await startWatch({
    db: rig.db,
    pbxs: [source.pbx],
    accounts: new Map([['default', 1]]),
    onStored: (events) => rig.emitter.emit('stored', events),
    log: { ...LOG, debug },
  })
  await pbx.ready
  const before = watch.status()[0]?.events ?? 0
  const pieces = Array.from({ length: 200 }, (_, call) => acts(call).map(({ bytes }) => bytes)).flat()
  const said = pieces.join('').match(/^Event: /gm)?.length ?? 0
  const read = () => (watch.status()[0]?.events ?? 0) - before
  const commits = await commitsDuring(rig.db, async () => {
    for (const piece of pieces) {
      pbx.send(piece)
      await Bun.sleep(0)
    }
    await until('all is read', () => read() >= said)
    // Those that have nothing to wait for but what was read.
    expect(told).toBeGreaterThanOrEqual(200 * 3)
  })
  expect(said).toBe(200 * 12)
  expect(commits).toBeLessThan(said / 20)
  await until('all is sent', () => receiver.received.length === 200 * 6)
  await watch.stop()
  pbx.stop()
  await receiver.stop()
})
