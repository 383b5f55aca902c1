import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { OWNS_EVERYTHING } from '../../src/cluster/ownership.ts'
import { forSwitches } from '../../src/events/kinds.ts'
import { createLog } from '../../src/lib/log.ts'
import { startWatch } from '../../src/pbx/watch/watch.ts'
import { listInSlices, listOf, ownedRows, presentOfRows } from '../../src/states/api/present-list.ts'
import { stateRoutes } from '../../src/states/api/routes.ts'
import { openClock } from '../../src/store/clock.ts'
import type { StoredEvent } from '../../src/store/operations/calls.ts'
import { DEFAULT_OPTIONS } from '../../src/store/webhook-options.ts'
import { startApi } from '../help/api.ts'
import { emptyFolder } from '../help/app.ts'
import { ask } from '../help/client.ts'
import { startListedAsterisk } from '../help/listed-asterisk.ts'
import { until } from '../help/receiver.ts'
import { openStore } from '../help/store.ts'
import { storedPbxs } from '../help/stored-pbxs.ts'

// An Asterisk with given answers: from the bytes of its lists and events to the answers of the API, the rows in the
// store and the deliveries for a webhook.

const pbx = startListedAsterisk()
const folder = emptyFolder()
const store = openStore(join(folder.path, 'hookswitch.db'))
const stored: StoredEvent[] = []
const log = createLog('silent')
let watch: Awaited<ReturnType<typeof startWatch>>
let api: Awaited<ReturnType<typeof startApi>>
let token = ''
const URL_ = 'https://wall.example.com/'

beforeAll(async () => {
  const clock = await openClock({ maintenance: store.maintenance, log })
  const pbxs = await storedPbxs(store, `ami://any:any@127.0.0.1:${pbx.port}?name=office&trunks=carrier`)
  const list = [{ url: URL_, ...forSwitches(() => false) }]
  const nowUs = Date.now() * 1_000
  await store.webhooks.listReplace({ accountId: 1, list, ifMatch: null, nowUs, secrets: ['whsec_x'] })
  const options = { ...DEFAULT_OPTIONS, events: ['phone_changed' as const, 'agent_changed' as const] }
  await store.webhooks.optionsReplace({ accountId: 1, url: URL_, options, nowUs })
  watch = await startWatch({
    store,
    clock,
    ownership: OWNS_EVERYTHING,
    pbxs,
    onStored: (more) => void stored.push(...more),
    log,
  })
  api = await startApi(store, (auth) =>
    stateRoutes(auth, {
      list: async (id, kind, name) => listInSlices(kind, await watch.states(id, name)),
      listAll: async () => [],
    }),
  )
  token = await api.logIn('default')
  await until('the PBX is listed', async () => (await get('/queue')).length === 1)
})
afterAll(async () => {
  await watch.stop()
  await api.stop()
  await store.stop()
  pbx.stop()
  folder[Symbol.dispose]()
})

const get = async (path: string, as = token) => (await ask(api, 'GET', path, { token: as })).body.result as never[]
const since = expect.stringMatching(/^\d{4}-.*Z$/)

test('the first lists are shown, and emit nothing', async () => {
  expect(await get('/phone')).toEqual([
    { pbx: 'office', extension: '101', name: null, state: 'registered', since, device: 'idle', contacts: 1 },
    { pbx: 'office', extension: '102', name: null, state: 'unreachable', since, device: 'unknown', contacts: 1 },
  ] as never[])
  expect(await get('/trunk')).toEqual([
    { pbx: 'office', trunk: 'carrier', state: 'registered', since, reason: null },
  ] as never[])
  expect(await get('/agent')).toEqual([
    { pbx: 'office', extension: '101', queue: 'support', state: 'paused', reason: 'lunch', since },
  ] as never[])
  expect(await get('/queue')).toEqual([
    { pbx: 'office', queue: 'support', waiting: 1, longest_wait: expect.any(Number), available: 0, busy: 0, paused: 1 },
  ] as never[])
  expect(await get('/queue?pbx=office')).toHaveLength(1)
  expect(await get('/queue?pbx=branch')).toEqual([])
  expect(stored).toEqual([])
})

test('another account sees nothing of it', async () => {
  const other = await api.logIn('other')
  for (const path of ['/phone', '/trunk', '/agent', '/queue']) expect(await get(path, other)).toEqual([])
})

test('an unknown parameter is refused', async () => {
  expect((await ask(api, 'GET', '/phone?queue=support', { token })).status).toBe(422)
})

test('a phone that rings is stored for the webhook that asks for it, and what nobody asked for is not', async () => {
  pbx.send('Event: DeviceStateChange\nPrivilege: call,all\nDevice: PJSIP/101\nState: RINGING')
  pbx.send(
    'Event: QueueMemberPause\nPrivilege: agent,all\nQueue: support\nInterface: Local/101@from-queue/n\nStateInterface: PJSIP/101\nStatus: 6\nPaused: 0\nInCall: 0',
  )
  await until('two events are stored', () => stored.length === 2)
  const bodies = stored.map(({ body, name }) => ({ name, data: JSON.parse(body).data }))
  expect(bodies).toMatchObject([
    { name: 'phone_changed', data: { account: 'default', pbx: 'office', resync: false, phone: { device: 'ringing' } } },
    { name: 'agent_changed', data: { agent: { state: 'busy', reason: null } } },
  ])
  expect(stored.map(({ deliveries, sequence }) => [deliveries.length, sequence])).toEqual([
    [1, -1],
    [1, -1],
  ])
  expect(await get('/phone')).toMatchObject([{ device: 'ringing' }, {}])
})

test('the store has the present states, for other nodes and the command line', async () => {
  const rows = async () => [
    ...presentOfRows(await store.calls.subjectStateList('office'), () => true, Date.now() * 1_000),
  ]
  await until('all is stored', async () => listOf('agent', await rows())[0]?.state === 'busy')
  const withPbx = <T>(states: readonly T[]) => states.map((state) => ({ pbx: 'office', ...state }))
  expect(withPbx(listOf('phone', await rows()))).toEqual(await get('/phone'))
  expect(withPbx(listOf('trunk', await rows()))).toEqual(await get('/trunk'))
  expect(listOf('queue', await rows())).toMatchObject([{ queue: 'support', waiting: 1, busy: 1 }])
  expect(listOf('queue', await rows())[0]?.longest_wait).toBeGreaterThanOrEqual(41)
  const owned = [...ownedRows(await store.calls.subjectStateList('office'), Date.now() * 1_000)]
  expect(new Set(owned.map(({ account }) => account))).toEqual(new Set(['default']))
})
