import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { startIngest } from '../../../src/calls/ingest/ingest.ts'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import { createLog } from '../../../src/lib/log.ts'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { storePbxSettings } from '../../../src/pbx/watch/pbx-settings.ts'
import { startWatch } from '../../../src/pbx/watch/watch.ts'
import { openClock } from '../../../src/store/clock.ts'
import type { StoredEvent } from '../../../src/store/operations/calls.ts'
import { LeaseLost } from '../../../src/store/operations/cluster.ts'
import type { Store } from '../../../src/store/store.ts'
import { emptyFolder } from '../../help/app.ts'
import { changingOwnership } from '../../help/ownership.ts'
import { fixture } from '../../help/pbx.ts'
import { until } from '../../help/receiver.ts'
import { openStore } from '../../help/store.ts'
import { storedPbxs } from '../../help/stored-pbxs.ts'

const log = createLog('silent')

test('open calls of a PBX that is no longer watched are ended', async () => {
  using folder = emptyFolder()
  const store = openStore(join(folder.path, 'hookswitch.db'))
  const stored: StoredEvent[] = []
  const onStored = (more: readonly StoredEvent[]) => void stored.push(...more)
  const clock = await openClock({ maintenance: store.maintenance, log })
  const own = {
    calls: store.calls,
    history: store.log,
    ownership: OWNS_EVERYTHING,
    clock,
    pbx: 'old',
    account: 'default',
    accountId: 1,
  }
  const options = { ...own, onStored, onMissed() {}, onFault() {}, log }
  const before = await startIngest(options)
  const endpoint = { kind: 'external', number: '15551230001', name: null } as const
  const channel = { linkedId: 'a', endpoint, dialledNumber: '200', originated: false, shown: null } as const
  before.feed([{ kind: 'channel', id: 'a', ...channel, atUs: Date.now() * 1_000, arrivedUs: 0 }])
  await until('the call is stored', () => stored.length === 1)
  await before.stop()
  // The call is from a version that did not store PBXs.
  await storePbxSettings({ store, pbxs: [], log })
  const pbxs = await storedPbxs(store)
  const watch = await startWatch({ store, clock, ownership: OWNS_EVERYTHING, pbxs, onStored, log })
  await until('it is over', () => stored.length === 3)
  await watch.stop()
  const bodies = stored.map(({ body }) => JSON.parse(body).data)
  expect(bodies.map((data) => [data.name, data.sequence, data.pbx])).toEqual([
    ['call_started', 1, 'old'],
    ['call_ended', 2, 'old'],
    ['call_saved', 3, 'old'],
  ])
  expect(bodies[1].call).toMatchObject({ partial: true, hangup: { cause: 'unknown', by: 'unknown' } })
  expect(await store.calls.liveCallList('old')).toEqual([])
  await store.stop()
})

test('the known endpoints of an account are kept for the next process', async () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'hookswitch.db')
  const replay = startReplay({ files: [fixture('f-outbound-answered.ami')] })
  const kinds = async (port: number, isDone: (kinds: Map<string, string | null>) => boolean) => {
    const store = openStore(path)
    const clock = await openClock({ maintenance: store.maintenance, log })
    const pbxs = await storedPbxs(store, `ami://any:any@127.0.0.1:${port}?name=office`)
    const watch = await startWatch({ store, clock, ownership: OWNS_EVERYTHING, pbxs, onStored() {}, log })
    const known = async () => new Map((await watch.endpoints(1)).get('office')?.map(({ name, kind }) => [name, kind]))
    await until('the endpoints are known', async () => isDone(await known()))
    const all = await known()
    expect((await watch.endpoints(2)).size).toBe(0)
    await watch.stop()
    await store.stop()
    return all
  }
  const before = await kinds(replay.port, (known) => known.size >= 2)
  expect(before.get('PJSIP/trunk')).toBe('trunk')
  await replay.stop()
  const after = await kinds(replay.port, () => true)
  expect(after).toEqual(before)
})

test('a PBX is watched while it is owned, and begun again when it was lost in between', async () => {
  using folder = emptyFolder()
  const store = openStore(join(folder.path, 'hookswitch.db'))
  const replay = startReplay({ files: [fixture('f-outbound-answered.ami')] })
  const clock = await openClock({ maintenance: store.maintenance, log })
  const pbxs = await storedPbxs(store, `ami://any:any@127.0.0.1:${replay.port}?name=office`)
  const { ownership, setPbxs } = changingOwnership()
  await setPbxs('not owned')
  const watch = await startWatch({ store, clock, ownership, pbxs, log, onStored() {} })
  expect(watch.status()).toEqual([])
  await setPbxs('owned')
  await until('it is connected', () => watch.status()[0]?.state === 'up')
  await setPbxs('doubtful')
  expect(watch.status()[0]?.state).toBe('down')
  await setPbxs('owned')
  await until('it is connected again', () => watch.status()[0]?.state === 'up')
  // Lost and gained before any work could end: the watch begins again all the same.
  const before = (await watch.endpoints(1)).get('office')
  const changes = [setPbxs('not owned'), setPbxs('owned')]
  await Promise.all(changes)
  await until('it is connected again', () => watch.status()[0]?.state === 'up')
  expect((await watch.endpoints(1)).get('office')).not.toBe(before)
  await setPbxs('not owned')
  expect([watch.status(), [...watch.liveCalls(1)], watch.waiting()]).toEqual([[], [], 0])
  await watch.stop()
  await replay.stop()
  await store.stop()
})

test('events that could not be stored before another node took the PBX over are left to that node', async () => {
  using folder = emptyFolder()
  const store = openStore(join(folder.path, 'hookswitch.db'))
  const clock = await openClock({ maintenance: store.maintenance, log })
  let tries = 0
  const calls: Store['calls'] = {
    ...store.calls,
    async batchStore() {
      tries += 1
      throw new LeaseLost('pbx:office')
    },
  }
  const stored: StoredEvent[] = []
  const onStored = (more: readonly StoredEvent[]) => void stored.push(...more)
  const own = {
    calls,
    history: store.log,
    ownership: OWNS_EVERYTHING,
    clock,
    pbx: 'office',
    account: 'default',
    accountId: 1,
  }
  const ingest = await startIngest({ ...own, onStored, onMissed() {}, onFault() {}, log })
  const endpoint = { kind: 'external', number: '15551230001', name: null } as const
  const channel = { linkedId: 'a', endpoint, dialledNumber: '200', originated: false, shown: null } as const
  ingest.feed([{ kind: 'channel', id: 'a', ...channel, atUs: Date.now() * 1_000, arrivedUs: 0 }])
  await until('it is given up', () => tries > 0 && ingest.pendingEvents() === 0)
  await ingest.stop()
  expect([stored, await store.calls.liveCallList('office')]).toEqual([[], []])
  await store.stop()
})
