import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { createClientOf } from '../../src/auth/client-address.ts'
import { authRoutes } from '../../src/auth/routes.ts'
import { createAuthService } from '../../src/auth/service.ts'
import { newToken, tokenHash } from '../../src/auth/token.ts'
import { OWNS_EVERYTHING } from '../../src/cluster/ownership.ts'
import { faults } from '../../src/http/fault-handler.ts'
import { openPort } from '../../src/http/server.ts'
import { startWatch } from '../../src/pbx/watch/watch.ts'
import { ACCOUNT, LOG, newRig } from '../deliveries/run/rig.ts'
import { acts, startAsterisk } from '../help/asterisk-load.ts'
import { startReceiver, until } from '../help/receiver.ts'
import { stallableDisk } from '../help/stalling-disk.ts'
import { storedPbxs } from '../help/stored-pbxs.ts'

/**
 * A disk on which a commit ends only when the test lets it. Only the first attempt of an event waits for its commit: if
 * anything else waited, the test would hang. So nothing depends on the speed of this machine.
 */

const calls = (count: number, name = 'call') => Array.from({ length: count }, (_, n) => `${name} ${n}`)
type Disk = ReturnType<typeof stallableDisk>

/** Does something while a commit does not end. */
async function whileStalled(
  disk: Disk,
  rig: Awaited<ReturnType<typeof newRig>>,
  work: () => Promise<unknown>,
): Promise<void> {
  disk.stall()
  const before = disk.commits()
  const emitted = rig.emit('the one whose commit does not end')
  await until('a commit has begun', () => disk.commits() === before + 1)
  const ended = rig.db.commits.batches
  try {
    await work()
    expect(rig.db.commits.batches).toBe(ended)
  } finally {
    // Or a test that fails would never end: stopping waits for the commit.
    disk.release()
  }
  await emitted
}

test('an event whose commit does not end is sent to nobody', async () => {
  const receiver = startReceiver()
  const disk = stallableDisk()
  await using rig = await newRig({ thread: disk.thread })
  await rig.setUrls(receiver.url)
  await whileStalled(disk, rig, async () => expect(receiver.received).toEqual([]))
  await until('it came', () => receiver.received.length === 1)
  await receiver.stop()
})

test('attempts wait for the commit of their own event alone: not for what came of others, not of their own call', async () => {
  const receiver = startReceiver()
  const disk = stallableDisk()
  await using rig = await newRig({ thread: disk.thread, asleep: true })
  await rig.setUrls(receiver.url)
  await rig.emit(...calls(48).map((_, n) => `call ${n % 3}`))
  await whileStalled(disk, rig, async () => {
    rig.wake()
    await until('all came', () => receiver.received.length === 48)
  })
  await receiver.stop()
})

test('a commit holds all that was emitted, and all that came of attempts, while the one before went on', async () => {
  const receiver = startReceiver()
  const disk = stallableDisk()
  await using rig = await newRig({ thread: disk.thread, asleep: true })
  await rig.setUrls(receiver.url)
  const emitted: Promise<unknown>[] = []
  const before = disk.commits()
  await whileStalled(disk, rig, async () => {
    for (const call of calls(48)) {
      emitted.push(rig.emit(call))
      await Bun.sleep(0)
    }
  })
  await Promise.all(emitted)
  expect(disk.commits() - before).toBe(2)
  await whileStalled(disk, rig, async () => {
    rig.wake()
    await until('all came', () => receiver.received.length === 49)
  })
  const list = async () => (await rig.deliveries.list(ACCOUNT, { state: 'delivered' }, 200)).items
  await until('what came of them is on disk', async () => (await list()).length === 50)
  // Two commits for the emitted events, one for the first answers, one for the answers meanwhile, two for the last
  // event.
  expect(disk.commits() - before).toBeLessThanOrEqual(6)
  await receiver.stop()
})

test('requests of the API are answered while a commit goes on', async () => {
  const disk = stallableDisk()
  await using rig = await newRig({ thread: disk.thread })
  const identity = { account: 'default', type: 1, name: 'A', email: 'a@example.com', passwordHash: '', atUs: 1 }
  const user = await rig.store.accounts.userCreate(identity)
  const token = newToken()
  const hashes = { passwordHash: '', tokenHash: tokenHash(token) ?? '' }
  await rig.store.accounts.tokenAddIfPasswordUnchanged({ userId: user?.id ?? 0, atUs: 1, ...hashes })
  const root = new Elysia({ normalize: false })
  root
    .use(faults({ log: LOG, routes: () => root.routes }))
    .use(authRoutes(createAuthService({ accounts: rig.store.accounts }), createClientOf([])))
  const server = openPort({ host: '127.0.0.1', port: 0 })
  server.serve(root)
  const headers = { authorization: `Bearer ${token}` }
  const asking = async () => {
    for (let n = 0; n < 300; n += 1) expect((await fetch(`${server.url}/auth/me`, { headers })).status).toBe(200)
  }
  await whileStalled(disk, rig, asking)
  await server.stop()
})

test("a PBX's socket is read, and its calls are tracked, while a commit goes on", async () => {
  const receiver = startReceiver()
  const disk = stallableDisk()
  await using rig = await newRig({ thread: disk.thread })
  await rig.setUrls(receiver.url)
  const pbx = startAsterisk()
  let emitted = 0
  const debug = (_: unknown, what?: unknown) => {
    if (what === 'event emitted') emitted += 1
  }
  const watch = await startWatch({
    ownership: OWNS_EVERYTHING,
    store: rig.store,
    clock: rig.clock,
    pbxs: await storedPbxs(rig.store, `ami://any:any@127.0.0.1:${pbx.port}?name=load`),
    onStored: (events) => rig.emitter.emit('stored', events),
    log: { ...LOG, debug },
  })
  await pbx.ready
  const before = watch.status()[0]?.events ?? 0
  const pieces = Array.from({ length: 200 }, (_, call) => acts(call).map(({ bytes }) => bytes)).flat()
  const sent = pieces.join('').match(/^Event: /gm)?.length ?? 0
  const read = () => (watch.status()[0]?.events ?? 0) - before
  await whileStalled(disk, rig, async () => {
    for (const piece of pieces) {
      pbx.send(piece)
      await Bun.sleep(0)
    }
    await until('all is read', () => read() >= sent)
    // Events that need no further fact than those already read.
    expect(emitted).toBeGreaterThanOrEqual(200 * 3)
  })
  expect(sent).toBe(200 * 12)
  await until('all is sent', () => receiver.received.length === 1 + 200 * 6)
  await watch.stop()
  pbx.stop()
  await receiver.stop()
})
