import { join, resolve } from 'node:path'
import { Elysia } from 'elysia'
import { type Alerts, createAlerts, startPbxAlerts, startTrunkAlerts } from '../alerts/alerts.ts'
import {
  type Access,
  createAccess,
  createTokenService,
  ensureFirstUser,
  startAuditRetention,
  tokenRoutes,
} from '../auth/auth.ts'
import { authRoutes } from '../auth/routes.ts'
import { backupPlaceOf, startBackups } from '../backups/backups.ts'
import {
  callRoutes,
  createEventReader,
  createToE164,
  eventRoutes,
  findCallsOfNumber,
  startCallRetention,
} from '../calls/calls.ts'
import type { Ownership } from '../cluster/cluster.ts'
import { createContactDirectory, createContactService } from '../contacts/contacts.ts'
import { contactRoutes } from '../contacts/routes.ts'
import {
  combinedObserver,
  createBrokerConnector,
  createRequests,
  type Emitter,
  newAttemptLog,
  newEmitter,
  readSubjects,
  silent,
  startArrivals,
  startDispatcher,
  startPruner,
  startRefusalWatch,
  startReplayFeeder,
} from '../deliveries/deliveries.ts'
import { allPresets, createFlowTurns } from '../flows/flows.ts'
import { createHostCheck } from '../http/allowed-hosts.ts'
import { CONTROL_SOCKET, type ControlSocket, closeFolder, openControlSocket } from '../http/control-socket.ts'
import { faults } from '../http/fault-handler.ts'
import { healthRoutes } from '../http/health.ts'
import { openOpaqueIds } from '../http/opaque-ids.ts'
import { type HttpServer, openPort } from '../http/server.ts'
import { hasCertificates } from '../lib/certificate-file.ts'
import type { Log } from '../lib/log.ts'
import { ownCommand } from '../lib/own-command.ts'
import type { NowUs } from '../lib/time.ts'
import { createMetrics } from '../metrics/metrics.ts'
import { metricsRoutes } from '../metrics/routes.ts'
import { openApiRoutes } from '../openapi/routes.ts'
import type { OpenRecording } from '../outbound/upload.ts'
import {
  createCallService,
  openPbxList,
  originateRoutes,
  type PbxList,
  pbxStatusOf,
  startCallOwner,
  startPbxStates,
  startWatch,
  storePbxSettings,
} from '../pbx/pbx.ts'
import { accountOfPbx } from '../pbx/source/pbx-url.ts'
import { openRecordings, type Recordings } from '../recordings/recordings.ts'
import { listInSlices, startDiscovery, storedStates } from '../states/states.ts'
import type { StoredEvent } from '../store/operations/calls.ts'
import { makeFolder } from '../store/sqlite/engine/data-folder.ts'
import { lockFolder } from '../store/sqlite/engine/folder-lock.ts'
import type { Store } from '../store/store.ts'
import { createTemplateRenderer, type TemplateRenderer } from '../templates/templates.ts'
import {
  createDeliveryCounts,
  createLastHour,
  loadAssets,
  overviewRoutes,
  pageRoutes,
  startAccountState,
  startLastHourSaver,
  startStreams,
  streamRoutes,
} from '../web/web.ts'
import { createApi } from './api.ts'
import type { Config } from './config.ts'
import { againForAWhile, openPersistence, type Persistence } from './persistence.ts'
import { loadPresets } from './presets.ts'
import { allowListOf } from './settings.ts'
import { settingsInForce } from './settings-in-force.ts'
import { noteSettings } from './settings-trail.ts'

export type App = {
  url: string
  /** The PBXs at the start: `office (ami://192.0.2.1:5038)`. */
  pbxs: string[]
  /** True when the store has no user yet. */
  hasNoUser: boolean
  stop(): Promise<void>
}

/** The queue of PBX events, some milliseconds of work, above which handling them takes priority over sending. */
const MAX_INTAKE_WAITING = 512

/** Log levels at which each attempt is logged. */
const ATTEMPT_LOG_LEVELS: ReadonlySet<string> = new Set(['trace', 'debug'])

/** When old records are deleted first: it takes commits, which would delay the start. */
const RETENTION_AFTER_MS = 250

type Stoppable = { stop(): Promise<void> }

type Context = {
  readonly config: Config
  readonly log: Log
  readonly store: Store
  readonly emitter: Emitter
  readonly templates: TemplateRenderer
  readonly ownership: Ownership
  readonly persistence: Persistence
  /** All started parts, in the order in which they stop. */
  readonly started: Stoppable[]
}

/** Opens, wires and starts the whole service. `stop` stops all parts in reverse order and waits for work in flight. */
export async function startApp(config: Config, { log, version }: { log: Log; version: string }): Promise<App> {
  const persistence = await openPersistence(config, { log, version })
  const { store, ownership } = persistence
  let draining = false
  let server: HttpServer | undefined
  let control: ControlSocket | undefined
  const started: Stoppable[] = []
  const stop = async () => {
    draining = true
    // Commands that come now wait for the lock, and then answer themselves.
    await control?.stop()
    await persistence.leave()
    for (const one of started) await one.stop()
    // The port stays open until now: while the other parts stop, requests are answered with 503.
    await server?.stop()
    await persistence.stop()
  }
  try {
    const { firstUser } = config
    server = openPort(config.listen)
    await againForAWhile(() => storePbxSettings({ store, pbxs: config.pbxs, log }))
    if (firstUser !== undefined) await againForAWhile(() => ensureFirstUser(store.accounts, firstUser))
    await noteSettings(config, { store, log })
    const templates = createTemplateRenderer()
    const presetFiles = await loadPresets(config, { log, templates })
    const context: Context = { config, log, store, emitter: newEmitter(), templates, ownership, persistence, started }
    const access = createAccess({
      store,
      log,
      trustProxies: config.trustProxies,
      accountOfPbx,
      onAdded: () => context.emitter.emit('accounts'),
    })
    const eventReader = startReading(context, access)
    const sending = await startSending(context)
    const pbxs = await againForAWhile(() => openPbxList({ store, log, canRead: hasCertificates }))
    context.emitter.on('foreign', pbxs.update).on('accounts', pbxs.update)
    started.push(pbxs)
    const contacts = await startContacts(context, sending, pbxs)
    const recordings = await againForAWhile(() =>
      openRecordings({ store, config, pbxs, log, nowUs: persistence.wallUs }),
    )
    sending.recordingFiles.resolve(recordings.open)
    const watching = await startWatching(context, { sending, pbxs, recordings, contacts })
    const parts = { access, eventReader, url: server.url, sending, watching, recordings, pbxs, contacts }
    const root = await createRoot(context, parts, { version, draining: () => draining })
    server.serve(root)
    control = await openControl(config, {
      version,
      log,
      answer(request) {
        access.operators.admit(request)
        return root.fetch(request)
      },
    })
    await persistence.join(server.url, {
      settings: JSON.stringify({
        ...settingsInForce(server.url, config),
        preset_files: Object.fromEntries(presetFiles),
      }),
      presets: allPresets().map(({ name }) => name),
      canWatch: (name) => pbxs.entries().some(({ record }) => record.name === name),
      accounts: () =>
        new Map(
          pbxs.sources().flatMap(({ name, tenants, account }) => {
            const id = tenants === undefined ? pbxs.accounts.get(account ?? '') : undefined
            return id === undefined ? [] : [[name, id] as const]
          }),
        ),
    })
    const described = pbxs.sources().map(({ name, protocol, host, port }) => `${name} (${protocol}://${host}:${port})`)
    const users = await againForAWhile(() => store.accounts.userCount())
    return { url: server.url, pbxs: described, hasNoUser: users === 0, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

type ControlOptions = Omit<Parameters<typeof openControlSocket>[0], 'path' | 'prepare'>

/** Opens the control socket, beside the lock of the data folder where that is the store. */
async function openControl(config: Config, options: ControlOptions): Promise<ControlSocket | undefined> {
  const { database, dataPath, control } = config
  if (database !== undefined) return control === undefined ? undefined : await openNodeControl(control, config, options)
  closeFolder(dataPath, options.log)
  return await openControlSocket({ ...options, path: resolve(control ?? join(dataPath, CONTROL_SOCKET)) })
}

/** Opens the control socket of a node: a data folder that was given is for it and its lock alone. */
async function openNodeControl(path: string, { dataPath }: Config, options: ControlOptions) {
  let lock: ReturnType<typeof lockFolder> | undefined
  const socket = await openControlSocket({
    ...options,
    path: resolve(path),
    prepare() {
      if (path !== join(dataPath, CONTROL_SOCKET)) return
      makeFolder(dataPath)
      lock = lockFolder(join(dataPath, 'lock'))
      closeFolder(dataPath, options.log)
    },
  })
  if (socket === undefined) lock?.release()
  return (
    socket && {
      async stop() {
        await socket.stop()
        lock?.release()
      },
    }
  )
}

/** Starts the reading of events, and follows the changes of other processes. */
function startReading({ log, store, emitter, ownership, started }: Context, { auth }: Pick<Access, 'auth'>) {
  store.onForeignChange(() => emitter.emit('foreign'))
  emitter.on('foreign', auth.forget)
  const eventReader = createEventReader(store)
  emitter.on('stored', (events) => eventReader.wake(new Set(events.map(({ accountId }) => accountId))))
  emitter.on('foreign', () => eventReader.wake())
  // Readers of events wait for the events of all nodes.
  const arrivals = ownership.isShared
    ? startArrivals({ store: store.log, accountIds: eventReader.accounts, onArrived: eventReader.wake, log })
    : undefined
  started.push({ stop: async () => arrivals?.stop() })
  started.push(eventReader)
  return eventReader
}

/** Starts the sending of deliveries, with its measurements and alerts. */
async function startSending({ config, log, store, emitter, templates, ownership, persistence, started }: Context) {
  const { clock } = persistence
  /** The recordings are opened later than sending begins. */
  const recordingFiles = Promise.withResolvers<OpenRecording>()
  const lastHour = createLastHour()
  const counts = createDeliveryCounts({ emitter, lastHour, nowUs: persistence.wallUs })
  const metrics = createMetrics()
  const alerts = createAlerts({ url: config.alertUrl, proxy: config.proxy, log, nowUs: persistence.wallUs })
  const requests = createRequests({
    allow: allowListOf(config.allowNets),
    proxy: config.proxy,
    store,
    templates,
    log,
    nowUs: persistence.wallUs,
    steadyUs: clock.steadyUs,
    onProblem: (name, reason) =>
      alerts.send({
        what: 'authorization',
        state: reason === null ? 'renewed' : 'refused',
        name,
        reason: reason ?? undefined,
      }),
  })
  const { attempts, sendStep, authorizer } = requests
  const refusals = startRefusalWatch({
    store,
    ownership,
    nowUs: persistence.wallUs,
    log,
    onRefusal: (name, state, reason) => alerts.send({ what: 'webhook', state, name, reason }),
  })
  const makeTurn = createFlowTurns({
    events: store.log,
    flows: store.flows,
    ownership,
    send: sendStep,
    authorizer,
    openRecording: async (...asked) => (await recordingFiles.promise)(...asked),
    nowUs: persistence.wallUs,
  })
  // Not created at other levels, because it would cost every attempt some time.
  const attemptLog = ATTEMPT_LOG_LEVELS.has(config.logLevel) ? [newAttemptLog(log)] : []
  const intake = { waiting: 0 }
  const dispatcher = startDispatcher({
    isIntakeBehind: () => intake.waiting > MAX_INTAKE_WAITING,
    store,
    emitter,
    attempt: attempts.attempt,
    makeTurn,
    templates,
    log,
    clock,
    ownership,
    drainMs: persistence.drainMs,
    hints: persistence.cluster?.statuses,
    scheduleMs: config.retryScheduleMs,
    observer: combinedObserver(
      counts.observer,
      metrics.observer,
      refusals.observer,
      { ...silent, webhookRemoved: attempts.forget },
      ...attemptLog,
    ),
    onOutage: (name, state, reason) => alerts.send({ what: 'webhook', state, name, reason }),
  })
  const { isShared } = ownership
  started.push(
    dispatcher,
    refusals,
    attempts,
    authorizer,
    startLastHourSaver({ statistics: store.statistics, lastHour, isShared, log, nowUs: persistence.wallUs }),
  )
  return {
    clock,
    requests,
    recordingFiles,
    lastHour,
    counts,
    metrics,
    alerts,
    intake,
    dispatcher,
    refusals,
  }
}

type Sending = Awaited<ReturnType<typeof startSending>>

/** Starts the look-up of contacts. */
async function startContacts(
  { log, store, emitter, templates, persistence }: Context,
  sending: Sending,
  pbxs: PbxList,
) {
  const { allow, exchange, authorizer } = sending.requests
  const directory = createContactDirectory({ log, steadyUs: persistence.clock.steadyUs })
  const service = createContactService({
    store,
    directory,
    templates,
    exchange,
    authorizer,
    allow,
    toE164(accountId, number) {
      const own = pbxs.sources().find(({ account, country }) => {
        return country !== undefined && account !== null && pbxs.accounts.get(account) === accountId
      })
      return createToE164(own?.country ?? null)(number)
    },
    log,
  })
  await againForAWhile(service.refresh)
  const refresh = () => void service.refresh().catch(() => {})
  emitter.on('webhooks', refresh).on('foreign', refresh)
  return { directory, service }
}

/** Starts the connections to the PBXs and the periodic work: pruning, alerts, the disk. */
async function startWatching(
  context: Context,
  { sending, pbxs, recordings, contacts }: Omit<Parts, 'access' | 'eventReader' | 'url' | 'watching'>,
) {
  const { config, log, store, emitter, ownership, persistence, started } = context
  const { clock, intake, alerts } = sending
  const { maintenance } = store
  const onStored = (stored: readonly StoredEvent[]) => emitter.emit('stored', stored)
  const watch = await startWatch({
    store,
    ownership,
    nowUs: persistence.wallUs,
    intake,
    pbxs,
    onStored,
    recordingUrl: recordings.urlOf,
    contacts: contacts.directory,
    maxCalls: config.maxCalls,
    clock,
    log,
  })
  const states = startPbxStates({ watch, store, ownership, steadyUs: clock.steadyUs, log })
  const callOwner = startCallOwner({ store, ownership, running: watch.running, log, nowUs: persistence.wallUs })
  emitter.on('foreign', callOwner.wake)
  // First: no new events are produced while the other parts stop.
  started.unshift(callOwner, states, watch)
  const { retentionMs: keepDeliveredMs, retentionFailedMs: keepFailedMs, retentionCallsMs: keepMs } = config
  const mayPrune = () => ownership.ownsMaintenance() && clock.mayPrune()
  const { disk } = persistence
  started.push(
    startedLater(RETENTION_AFTER_MS, () => [
      startPruner({ maintenance, flows: store.flows, log, keepDeliveredMs, keepFailedMs, mayPrune }),
      startCallRetention({ maintenance, log, keepMs, mayPrune }),
      startAuditRetention({ trail: store.audit, log, mayPrune, nowUs: persistence.wallUs }),
    ]),
    recordings.start({ ownership, steadyUs: clock.steadyUs, log, onStored, mayPrune: clock.mayPrune }),
    startPbxAlerts({ status: watch.status, alerts, store, log, steadyUs: clock.steadyUs }),
    startTrunkAlerts({
      present: watch.present,
      afterMs: config.alertTrunkMs,
      alerts,
      store,
      log,
      steadyUs: clock.steadyUs,
    }),
    ...backupsOf(config, { alerts, log, nowUs: persistence.wallUs }),
    alerts,
  )
  return { watch, states, callOwner, disk }
}

/** Starts some parts after a time, unless they are stopped before. */
function startedLater(afterMs: number, start: () => readonly Stoppable[]): Stoppable {
  let parts: readonly Stoppable[] = []
  const timer = setTimeout(() => {
    parts = start()
  }, afterMs)
  return {
    async stop() {
      clearTimeout(timer)
      for (const part of parts) await part.stop()
    },
  }
}

/** Starts the backups, where a place for them is configured. */
function backupsOf(
  { backup, backupEveryMs, backupKeep, dataPath }: Config,
  { alerts, log, nowUs }: { readonly alerts: Alerts; readonly log: Log; readonly nowUs: NowUs },
): Stoppable[] {
  if (backup === undefined) return []
  const backups = startBackups({
    place: backupPlaceOf(backup, dataPath),
    placeName: backup,
    everyMs: backupEveryMs,
    keep: backupKeep,
    dataPath,
    command: ownCommand(process.argv, process.execPath),
    log,
    nowUs,
    onChange: ({ state, reason }) => alerts.send({ what: 'backup', state, name: backup, reason }),
  })
  return [backups]
}

type Parts = {
  readonly access: Access
  readonly eventReader: ReturnType<typeof startReading>
  /** Where the service listens. */
  readonly url: string
  readonly sending: Sending
  readonly watching: Awaited<ReturnType<typeof startWatching>>
  readonly recordings: Recordings
  readonly pbxs: PbxList
  readonly contacts: Awaited<ReturnType<typeof startContacts>>
}

/** Creates the HTTP application with all its routes. */
async function createRoot(
  { config, log, store, emitter, templates, ownership, persistence, started }: Context,
  { access, eventReader, url, sending, watching, recordings, pbxs: list, contacts }: Parts,
  { version, draining }: { version: string; draining: () => boolean },
) {
  const { auth, audit } = access
  const { metrics, dispatcher, refusals, clock, requests, counts, lastHour } = sending
  const { watch, states, callOwner, disk } = watching
  const { liveCalls, refreshCalls } = watch
  const watched = {
    store,
    emitter,
    ownership,
    lastHour,
    own: { counts, health: dispatcher.health, refusals },
    log,
    nowUs: persistence.wallUs,
  }
  const state = startAccountState(persistence.cluster?.statuses, watched)
  const { ownsAccount: isOwner } = ownership
  metrics.watch({
    store,
    dispatcher,
    refusals,
    contacts: contacts.directory,
    disk,
    node: persistence.cluster?.keeper,
    pbxs: watch.status,
    states: watch.present,
    unstored: watch.waiting,
    steadyUs: clock.steadyUs,
  })
  const calls = { liveCalls, refreshCalls }
  const streams = startStreams({
    ...state,
    ...calls,
    emitter,
    auth,
    deliveries: store.log.deliveryGetMany,
    subjectsOf: (rows) => readSubjects(store.log, rows),
    openIds: openOpaqueIds(store.log),
  })
  started.push(streams, state)
  const presentStates: Parameters<typeof createApi>[0]['presentStates'] = {
    list: async (id, kind, pbx) => listInSlices(kind, await watch.states(id, pbx)),
    listAll: storedStates({ store, pbxs: list, nowUs: persistence.wallUs }).listAll,
  }
  const api = createApi({
    config,
    store,
    access,
    requests,
    emitter,
    templates,
    pbxs: list,
    recordings,
    facts: { settings: settingsInForce(url, config) },
    nowUs: persistence.wallUs,
    steadyUs: clock.steadyUs,
    isOwner,
    pbxStates: states,
    presentStates,
    statuses: state.statuses,
    cluster: persistence.cluster,
    async callsOfNumber(accountId, number) {
      await refreshCalls()
      return findCallsOfNumber({ calls: store.calls, liveCalls }, accountId, number)
    },
    reserve: dispatcher.reserve,
    onErased: () => void contacts.service.refresh().catch(() => undefined),
    onReplay: () => replays.wake(),
  })
  const replays = startReplayFeeder({
    store,
    ownership,
    steadyUs: clock.steadyUs,
    log,
    wantedOf: api.wantedOf,
    onDue: () => emitter.emit('due', []),
  })
  started.push(replays)
  started.push(
    startDiscovery({
      store,
      ownership,
      states: presentStates.list,
      connected: async () =>
        new Set([...(await states.read())].flatMap(([pbx, { state }]) => (state === 'up' ? [pbx] : []))),
      connectTo: createBrokerConnector({ allow: requests.allow, proxy: config.proxy }),
      log,
    }),
  )
  const madeCalls = createCallService({
    store,
    pbxs: list,
    owner: callOwner,
    states: watch.states,
    isConnected: async (pbx) => (await states.read()).get(pbx)?.state === 'up',
    liveCalls,
    refreshCalls,
    nowUs: persistence.wallUs,
  })
  // The name that the service listens at is printed as its URL.
  const isHostAllowed = createHostCheck({ publicUrl: config.publicUrl, names: [...config.hosts, config.listen.host] })
  const root = new Elysia({ name: 'root', normalize: false, encodeSchema: false, handler: { standardHostname: false } })
  return root
    .use(faults({ log, routes: () => root.routes, draining, isHostAllowed, isOperators: auth.isOperators }))
    .use(healthRoutes(store, disk.nearlyFull))
    .use(metricsRoutes(config.metricsToken, metrics))
    .use(authRoutes(auth, audit.clientOf))
    .use(api.routes)
    .use(
      tokenRoutes(
        auth,
        createTokenService({ accounts: store.accounts, onRevoked: auth.forget, usersMayCall: config.usersMayCall }),
        audit,
      ),
    )
    .use(contactRoutes({ auth, contacts: contacts.service, audit }))
    .use(callRoutes(auth, store, recordings.addUrls))
    .use(originateRoutes({ auth, calls: madeCalls, audit, usersMayCall: config.usersMayCall }))
    .use(eventRoutes(auth, eventReader))
    .use(
      overviewRoutes(auth, {
        ...state,
        ...calls,
        store,
        pbxs: pbxStatusOf({ watch, service: api.pbxs, list }),
        steadyUs: clock.steadyUs,
        nowUs: persistence.wallUs,
      }),
    )
    .use(streamRoutes(auth, streams))
    .use(pageRoutes(await loadAssets(), config.frameAncestors))
    .use(openApiRoutes(() => root.routes, version))
}
