import { describe, expect, test } from 'bun:test'
import { createLog } from '../../../src/lib/log.ts'
import { type GivenPbx, parsePbxUrl } from '../../../src/pbx/source/pbx-url.ts'
import { createPbxChanges } from '../../../src/pbx/watch/pbx-changes.ts'
import { storePbxSettings } from '../../../src/pbx/watch/pbx-settings.ts'
import { createClusterStore } from '../../../src/store/postgres/cluster.ts'
import { newClient } from '../../../src/store/postgres/engine/client.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { emptyFolder } from '../../help/app.ts'
import { databaseSource, emptyDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'

const log = createLog('silent')

function given(url: string): GivenPbx {
  const parsed = parsePbxUrl(url)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  return { ...parsed.pbx, url }
}
const start = (store: Store, ...urls: string[]) => storePbxSettings({ store, pbxs: urls.map(given), log })
const listed = async ({ pbxs }: Store) =>
  (await pbxs.pbxList()).map(({ name, url, origin, endsCalls }) => [name, url, origin, endsCalls])

const OFFICE = 'ami://u:s@pbx?name=office'

describe('the PBXs of the settings, at the start of a service', () => {
  async function withStore(work: (store: Store) => Promise<void>) {
    using folder = emptyFolder()
    const store = openSqliteStore(`${folder.path}/hookswitch.db`)
    await work(store)
    await store.stop()
  }

  test('are stored, and removed when the settings no longer have them; if the address has changed, calls are ended', () =>
    withStore(async (store) => {
      await start(store, OFFICE)
      expect(await listed(store)).toEqual([['office', OFFICE, 'settings', false]])
      const [before] = await store.pbxs.pbxList()
      await start(store, OFFICE)
      expect((await store.pbxs.pbxList())[0]).toEqual(before)
      await start(store, `${OFFICE}&trunks=x`, 'esl://:s@other?name=branch')
      expect(await listed(store)).toEqual([
        ['branch', 'esl://:s@other?name=branch', 'settings', false],
        ['office', `${OFFICE}&trunks=x`, 'settings', false],
      ])
      await start(store, 'ami://u:s@elsewhere?name=office')
      expect(await listed(store)).toEqual([
        ['branch', null, 'settings', true],
        ['office', 'ami://u:s@elsewhere?name=office', 'settings', true],
      ])
    }))

  test('leave where their recordings are, without the secret of the PBX, when they are removed', () =>
    withStore(async (store) => {
      await start(store, `${OFFICE}&recordings=/mnt/monitor&recordings_root=/var/monitor`, 'ami://u:s@h?name=branch')
      await start(store)
      const kept = (await store.pbxs.pbxList()).map(({ recordings }) => recordings)
      expect(kept).toEqual([null, '{"location":"/mnt/monitor","root":"/var/monitor"}'])
      await start(store, OFFICE)
      expect((await store.pbxs.pbxList()).find(({ name }) => name === 'office')?.recordings).toBeNull()
    }))

  test('take the place of one that was added by a command, and leave the others alone', () =>
    withStore(async (store) => {
      const { set, remove } = createPbxChanges({ store, canRead: () => true })
      await set({ url: OFFICE, origin: 'store', mayReplace: false })
      await set({ url: 'ami://u:s@pbx2?name=branch', origin: 'store', mayReplace: false })
      await start(store, 'amis://u:other@pbx?name=office')
      expect(await listed(store)).toEqual([
        ['branch', 'ami://u:s@pbx2?name=branch', 'store', false],
        ['office', 'amis://u:other@pbx?name=office', 'settings', false],
      ])
      expect(remove('office')).rejects.toThrow('--pbx')
      await remove('branch')
      await start(store)
      expect(await listed(store)).toEqual([
        ['branch', null, 'store', true],
        ['office', null, 'settings', true],
      ])
    }))

  test.skipIf(POSTGRES_MISSING !== undefined)('stay if another node has them and is alive', async () => {
    await using database = await emptyDatabase()
    const source = databaseSource(database.url)
    const store = await openPostgresStore(source)
    const client = newClient(source, { role: 'test', connections: 1, statementMs: 30_000 })
    const cluster = createClusterStore(client)
    const { remove } = createPbxChanges({ store, canRead: () => true })
    const branch = 'ami://u:s@pbx2?name=branch%20b'
    await start(store, OFFICE, branch)
    await cluster.nodeAdd({ id: 'other', address: 'http://other', version: '1', pbxs: ['branch b'] })
    await start(store, OFFICE)
    expect(await listed(store)).toEqual([
      ['branch b', branch, 'settings', false],
      ['office', OFFICE, 'settings', false],
    ])
    expect(remove('branch b')).rejects.toThrow('--pbx')
    await cluster.nodeEnd('other')
    // No living node has the PBX in its settings, so it can be removed by hand, and at the next start.
    await remove('branch b')
    await start(store)
    expect(await listed(store)).toEqual([
      ['branch b', null, 'settings', true],
      ['office', null, 'settings', true],
    ])
    await client.stop()
    await store.stop()
  })
})
