import { join } from 'node:path'
import { type AnyElysia, Elysia } from 'elysia'
import { createAccess } from '../auth/auth.ts'
import { findCallsOfNumber } from '../calls/calls.ts'
import { createRequests, newEmitter } from '../deliveries/deliveries.ts'
import { faults } from '../http/fault-handler.ts'
import { hasCertificates } from '../lib/certificate-file.ts'
import type { Log } from '../lib/log.ts'
import { nowUs } from '../lib/time.ts'
import { openPbxList, type PbxList, readPbxStates } from '../pbx/pbx.ts'
import { accountOfPbx } from '../pbx/source/pbx-url.ts'
import { openRecordings } from '../recordings/recordings.ts'
import { storedStates } from '../states/states.ts'
import type { StatusStore } from '../store/operations/statuses.ts'
import { newClient } from '../store/postgres/engine/client.ts'
import { createStatusStore } from '../store/postgres/statuses.ts'
import { openClusterStore, openPostgresStore } from '../store/postgres/store.ts'
import { makeFolder } from '../store/sqlite/engine/data-folder.ts'
import { tryLockFolder } from '../store/sqlite/engine/folder-lock.ts'
import { openSqliteStore } from '../store/sqlite/store.ts'
import type { Store } from '../store/store.ts'
import { createTemplateRenderer } from '../templates/templates.ts'
import type { Cluster } from '../web/server/nodes.ts'
import { readReportedStatuses } from '../web/server/webhook-health.ts'
import { createApi } from './api.ts'
import type { Config } from './config.ts'
import { loadPresets } from './presets.ts'
import { allowListOf } from './settings.ts'

/** The API over a store, for a command: the same requests as in the service, without a port. */
type StoreApi = {
  /** Whether nodes run on the database. */
  readonly isRunning: boolean
  answer(request: Request): Promise<Response>
  stop(): Promise<void>
}

/** The settings of a command; the others as they are without a word. */
type CommandSettings = { readonly config: Config; readonly isRunning: boolean }

type Options = {
  readonly place: Pick<Config, 'dataPath' | 'database'>
  /** Reads the settings, which nodes may have left in the database: so it is called when that is prepared. */
  readonly readSettings: () => Promise<CommandSettings>
  /** Gets what only the log of a service would have: the causes of errors. */
  readonly log: Log
  readonly onWaiting: (message: string) => void
  readonly onSilence: ((message: string) => void) | undefined
}

/**
 * Opens the store of a command on which no service runs, and answers the operator's requests over it. The folder is
 * locked meanwhile: returns `undefined` if another process has it. @throws Fault when the store cannot be used.
 */
export async function openStoreApi({ place, readSettings, log, ...waiting }: Options): Promise<StoreApi | undefined> {
  const opened = await openCommandStore(place, waiting)
  if (opened === undefined) return undefined
  try {
    const { config, isRunning } = await readSettings()
    const api = await createStoreApi(opened, { config, log })
    return {
      isRunning,
      answer: api.answer,
      async stop() {
        await api.stop()
        await opened.close()
      },
    }
  } catch (error) {
    await opened.close()
    throw error
  }
}

type ApiOptions = Pick<CommandSettings, 'config'> & Pick<Options, 'log'>

async function createStoreApi({ store, cluster, isAlone }: Opened, { config, log }: ApiOptions) {
  const access = createAccess({ store, log, trustProxies: [], accountOfPbx })
  const { auth, operators } = access
  const templates = createTemplateRenderer()
  await loadPresets(config, { log, templates })
  const { steppedUs } = await store.maintenance.clockGet()
  const clocks = { nowUs, steadyUs: () => nowUs() - steppedUs }
  const requests = createRequests({
    allow: allowListOf(config.allowNets),
    proxy: config.proxy,
    store,
    templates,
    log,
    ...clocks,
    onProblem: () => undefined,
  })
  const pbxs = await openPbxList({ store, log, canRead: hasCertificates })
  const recordings = await openRecordings({ store, config, pbxs, log, nowUs })
  const api = createApi({
    config,
    store,
    access,
    requests,
    // Nobody listens: changes are in the store, and the next service begins from there.
    emitter: newEmitter(),
    templates,
    pbxs,
    recordings,
    facts: { settings: null },
    ...clocks,
    // On a database the nodes send: they are asked by the store.
    isOwner: () => isAlone,
    pbxStates: {
      read: async () => (isAlone ? notWatched(pbxs) : readPbxStates(await store.pbxs.pbxStateList(), nowUs())),
    },
    presentStates: storedStates({ store, pbxs, nowUs }),
    statuses: readReportedStatuses(cluster?.statuses),
    cluster,
    callsOfNumber: (accountId, number) =>
      findCallsOfNumber({ calls: store.calls, liveCalls: () => [] }, accountId, number),
    reserve: undefined,
    onErased: () => undefined,
    onReplay: () => undefined,
  })
  const root: AnyElysia = new Elysia({ name: 'root', normalize: false, encodeSchema: false })
  root.use(faults({ log, routes: () => root.routes, isOperators: auth.isOperators })).use(api.routes)
  return {
    async answer(request: Request): Promise<Response> {
      operators.admit(request)
      return await root.handle(request)
    },
    async stop() {
      requests.authorizer.stop()
      await requests.attempts.stop()
      await pbxs.stop()
    },
  }
}

/** Without a service no PBX is watched. */
const notWatched = (pbxs: PbxList) =>
  new Map(
    pbxs
      .entries()
      .map(({ record }) => [
        record.name,
        { state: 'down' as const, sinceUs: nowUs(), error: 'No service is running.', eventsPerSecond: 0, calls: {} },
      ]),
  )

type Opened = {
  readonly store: Store
  /** The nodes of the database with their reports; `undefined` for a store on SQLite. */
  readonly cluster: (Cluster & { readonly statuses: StatusStore }) | undefined
  /** Whether no other process can use the store. */
  readonly isAlone: boolean
  close(): Promise<void>
}

const STATUS_MS = 5_000

async function openCommandStore(
  { dataPath, database }: Options['place'],
  waiting: Pick<Options, 'onWaiting' | 'onSilence'>,
): Promise<Opened | undefined> {
  if (database !== undefined) {
    const store = await openPostgresStore(database, waiting)
    const client = newClient(database, { role: 'status', connections: 1, statementMs: STATUS_MS })
    const nodes = openClusterStore(database)
    const statuses = createStatusStore(client, { listen: () => async () => undefined })
    return {
      store,
      cluster: { store: nodes, statuses, nodeId: () => undefined },
      isAlone: false,
      async close() {
        await nodes.stop()
        await client.stop()
        await store.stop()
      },
    }
  }
  makeFolder(dataPath)
  const lock = tryLockFolder(join(dataPath, 'lock'), 'command')
  if (lock === undefined) return undefined
  try {
    const store = openSqliteStore(join(dataPath, 'hookswitch.db'))
    return {
      store,
      cluster: undefined,
      isAlone: true,
      async close() {
        await store.stop()
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}
