import { describe, expect, test } from 'bun:test'
import { Fault } from '../../../src/lib/fault.ts'
import { createPbxChanges } from '../../../src/pbx/watch/pbx-changes.ts'
import { createAllowedPlaces } from '../../../src/recordings/sources/allowed-places.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { emptyFolder } from '../../help/app.ts'

const OFFICE = 'ami://u:s@pbx?name=office'

describe('the place of the recordings of a PBX', () => {
  async function withChanges(work: (the: ReturnType<typeof changesOf>) => Promise<void>) {
    using folder = emptyFolder()
    const store = openSqliteStore(`${folder.path}/hookswitch.db`)
    await work(changesOf(store))
    await store.stop()
  }

  function changesOf(store: ReturnType<typeof openSqliteStore>) {
    const allowed = createAllowedPlaces({ from: ['/nowhere/monitor'] })
    const changes = createPbxChanges({ store, canRead: () => true, allowed })
    return {
      command: (url: string) => changes.set({ url, origin: 'store', mayReplace: true }),
      api: (url: string) => changes.set({ name: 'office', url, origin: 'api', mayReplace: true }),
      check: changes.parse,
      remove: () => changes.remove('office'),
      originNow: async () => (await store.pbxs.pbxList())[0]?.origin,
    }
  }

  const refusal = async (work: Promise<unknown>) => {
    const error = await work.then(
      () => undefined,
      (thrown) => thrown,
    )
    return error instanceof Fault ? [error.status, error.errors[0]?.path, error.message] : error
  }
  const REFUSED = [422, '/url', expect.stringContaining('--recordings-from')]

  test('is one of the allowed ones over the API, and any by a command', () =>
    withChanges(async ({ api, command, check, originNow }) => {
      expect(await refusal(api(`${OFFICE}&recordings=/etc`))).toEqual(REFUSED)
      expect(await refusal(api(`${OFFICE}&recordings=http://169.254.169.254/`))).toEqual(REFUSED)
      expect(await refusal(check(`${OFFICE}&recordings=/etc`))).toEqual(REFUSED)
      await api(`${OFFICE}&recordings=/nowhere/monitor/2026`)
      expect(await originNow()).toBe('api')
      await command(`${OFFICE}&recordings=/etc`)
      expect(await originNow()).toBe('store')
    }))

  test('stays as a command gave it when the API changes something else, and is not given again once it was removed', () =>
    withChanges(async ({ api, command, check, originNow }) => {
      await command(`${OFFICE}&recordings=/srv/monitor`)
      await api('ami://u:***@pbx?recordings=/srv/monitor&trunks=x')
      expect(await originNow()).toBe('store')
      expect((await check(`${OFFICE}&recordings=/srv/monitor`)).isAllowed).toBe(true)
      expect(await refusal(api('ami://u:***@pbx?recordings=/srv/monitor/other'))).toEqual(REFUSED)
      expect(await refusal(api('ami://u:***@pbx?recordings=/srv/monitor&recordings_root=/etc'))).toEqual(REFUSED)
      await api('ami://u:***@pbx')
      expect(await originNow()).toBe('api')
      expect(await refusal(api('ami://u:***@pbx?recordings=/srv/monitor'))).toEqual(REFUSED)
    }))

  test('cannot be taken over from a PBX that was removed', () =>
    withChanges(async ({ api, command, remove }) => {
      await command(`${OFFICE}&recordings=/srv/monitor`)
      await remove()
      expect(await refusal(api(`${OFFICE}&recordings=/srv/monitor`))).toEqual(REFUSED)
    }))
})

test('a PBX of an earlier version, whose name was stored with its accent apart, is changed and removed by either spelling', async () => {
  using folder = emptyFolder()
  const store = openSqliteStore(`${folder.path}/hookswitch.db`)
  const { set, remove } = createPbxChanges({ store, canRead: () => true })
  const [composed, decomposed] = ['Zu\u0308rich'.normalize('NFC'), 'Zu\u0308rich']
  const stored = { name: decomposed, url: 'ami://u:s@pbx', origin: 'store' as const, version: 'a', seenVersion: null }
  await store.pbxs.pbxSet({ ...stored, endsCalls: false, recordings: null })
  await set({ name: composed, url: 'ami://u:***@pbx?trunks=x', origin: 'store', mayReplace: true })
  expect((await store.pbxs.pbxList()).map(({ name, url }) => [name, url])).toEqual([
    [decomposed, 'ami://u:s@pbx?trunks=x'],
  ])
  await remove(composed)
  expect((await store.pbxs.pbxList()).filter(({ url }) => url !== null)).toEqual([])
  await store.stop()
})
