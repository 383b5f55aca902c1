import { join } from 'node:path'
import { Elysia } from 'elysia'
import { createAlerts } from './alerts/alerts.ts'
import { startPbxAlerts } from './alerts/pbx-alerts.ts'
import { createAudit } from './auth/audit.ts'
import { ensureFirstUser } from './auth/first-user.ts'
import { createOperatorLog } from './auth/operator-log.ts'
import { authRoutes } from './auth/routes.ts'
import { createAuthService } from './auth/service.ts'
import { tokenRoutes } from './auth/token-routes.ts'
import { createTokenService } from './auth/token-service.ts'
import { startCallRetention } from './calls/call-retention.ts'
import { createEventReader } from './calls/event-reader.ts'
import { eventRoutes } from './calls/event-routes.ts'
import { findCallsOfNumber } from './calls/number-search.ts'
import { callRoutes } from './calls/routes.ts'
import { OWNS_EVERYTHING } from './cluster/ownership.ts'
import type { Config } from './config.ts'
import { newJournal } from './deliveries/attempt-log.ts'
import { openClock } from './deliveries/clock.ts'
import { startDispatcher } from './deliveries/dispatcher.ts'
import { newEmitter } from './deliveries/emitter.ts'
import { startPruner } from './deliveries/pruner.ts'
import { deliveryRoutes } from './deliveries/routes.ts'
import { newAttempt } from './deliveries/sending/attempt.ts'
import { createTester } from './deliveries/sending/test-request.ts'
import { createDeliveryService } from './deliveries/service.ts'
import { faults } from './http/fault-handler.ts'
import { healthRoutes } from './http/health.ts'
import { startServer } from './http/server.ts'
import type { Log } from './lib/log.ts'
import { rfc3339 } from './lib/time.ts'
import { wrongUsage } from './lib/usage.ts'
import { createMetrics } from './metrics/metrics.ts'
import { metricsRoutes } from './metrics/routes.ts'
import { openApiRoutes } from './openapi/routes.ts'
import { summaryOf } from './pbx/endpoint-summary.ts'
import { startWatch } from './pbx/watch.ts'
import { allowListOf } from './settings.ts'
import type { StoredEvent } from './store/records.ts'
import { startDiskWatch } from './store/sqlite/disk.ts'
import { makeFolder } from './store/sqlite/folder.ts'
import { lockFolder } from './store/sqlite/lock.ts'
import { openSqliteStore } from './store/sqlite/store.ts'
import type { Store } from './store/store.ts'
import { loadAssets } from './web/assets.ts'
import { createTally, observers } from './web/delivery-counts.ts'
import { startStreams, streamRoutes } from './web/event-stream.ts'
import { createLastHour } from './web/last-hour.ts'
import { startLastHourSaver } from './web/last-hour-saver.ts'
import { overviewRoutes } from './web/overview.ts'
import { pageRoutes } from './web/page-routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'
import { createWebhookService } from './webhooks/service.ts'

export type App = {
  url: string
  /** True when nobody can log in yet. */
  hasNoUser: boolean
  stop(): Promise<void>
}

/** Events of PBXs that may wait, some milliseconds of handling: beyond, handling them comes before sending. */
const MAX_INTAKE_WAITING = 512

/** Log levels at which each attempt is told. */
const FOLLOWING: ReadonlySet<string> = new Set(['trace', 'debug'])

/** Opens, wires and starts the whole service; `stop` undoes it in reverse, and waits for what is in flight. */
export async function startApp(config: Config, { log, version }: { log: Log; version: string }): Promise<App> {
  makeFolder(config.dataPath)
  const lock = lockFolder(join(config.dataPath, 'lock'))
  const store = openStore(join(config.dataPath, 'hookswitch.db'), lock)
  let draining = false
  /** What was started, in the order in which it stops. */
  const started: { stop(): Promise<void> }[] = []
  const stop = async () => {
    draining = true
    for (const one of started) await one.stop()
    await store.stop()
    lock.release()
  }
  try {
    const accounts = await accountsOf(store, config)
    if (config.firstUser !== undefined) await ensureFirstUser(store.accounts, config.firstUser)

    const ownership = OWNS_EVERYTHING
    const emitter = newEmitter()
    const clock = await openClock({ maintenance: store.maintenance, log })
    const allow = allowListOf(config.allowNets)
    const audit = createAudit({ accounts: store.accounts, log, trustProxies: config.trustProxies })
    const operatorLog = createOperatorLog({ accounts: store.accounts, audit, log })
    operatorLog.look()
    const auth = createAuthService({ accounts: store.accounts, note: audit.note })
    const webhooks = createWebhookService({ webhooks: store.webhooks, onChanged: () => emitter.emit('webhooks') })
    store.onForeignChange(() => emitter.emit('foreign'))
    emitter.on('foreign', () => {
      auth.forget()
      operatorLog.look()
    })

    const eventReader = createEventReader(store)
    emitter.on('stored', (events) => eventReader.wake(new Set(events.map(({ accountId }) => accountId))))
    emitter.on('foreign', () => eventReader.wake())
    started.push(eventReader)

    const attempt = newAttempt({ allow, ...(config.proxy === undefined ? {} : { proxy: config.proxy }) })
    const lastHour = createLastHour()
    const tally = createTally({ emitter, lastHour })
    const metrics = createMetrics()
    const alerts = createAlerts({ url: config.alertUrl, proxy: config.proxy, log })
    // Only where it is read: it would cost every attempt.
    const journal = FOLLOWING.has(config.logLevel) ? [newJournal(log)] : []
    const intake = { waiting: 0 }
    const dispatcher = startDispatcher({
      isIntakeBehind: () => intake.waiting > MAX_INTAKE_WAITING,
      store,
      emitter,
      attempt,
      log,
      clock,
      scheduleMs: config.retryScheduleMs,
      observer: observers(tally.observer, metrics.observer, ...journal),
      onOutage: (name, state) => alerts.say({ what: 'webhook', state, name }),
    })
    started.push(dispatcher, startLastHourSaver({ statistics: store.statistics, lastHour, log }))
    const onStored = (stored: readonly StoredEvent[]) => emitter.emit('stored', stored)
    const watch = await startWatch({ store, ownership, intake, pbxs: config.pbxs, accounts, onStored, clock, log })
    started.unshift(watch)
    const deliveries = createDeliveryService({
      store,
      onDue: (ids) => emitter.emit('due', ids),
      onCancelled: (ids) => emitter.emit('deliveries', ids),
      callsOfNumber: (accountId, number) =>
        findCallsOfNumber({ calls: store.calls, liveCalls: watch.liveCalls }, accountId, number),
      steadyUs: clock.steadyUs,
    })
    const mayPrune = () => ownership.ownsMaintenance() && clock.mayPrune()
    const { retentionMs: keepDeliveredMs, retentionFailedMs: keepFailedMs } = config
    started.push(startPruner({ maintenance: store.maintenance, log, keepDeliveredMs, keepFailedMs, mayPrune }))
    started.push(
      startCallRetention({
        maintenance: store.maintenance,
        log,
        keepMs: config.retentionCallsMs,
        mayPrune,
      }),
    )
    started.push(startPbxAlerts({ status: watch.status, alerts, log }), alerts)

    const disk = startDiskWatch({ folder: config.dataPath, log })
    started.push(disk)
    metrics.watch({ store, dispatcher, disk, pbxs: watch.status, unstored: watch.waiting, steadyUs: clock.steadyUs })

    const streams = startStreams({
      emitter,
      auth,
      liveCalls: watch.liveCalls,
      deliveries: store.log.deliveryGetMany,
    })
    started.push(streams)
    const pbxsOf = (accountId: number) => {
      const endpoints = watch.endpoints(accountId)
      return watch
        .status()
        .filter((pbx) => accounts.get(pbx.account) === accountId)
        .map(({ name, kind, state, sinceUs, lastError }) => ({
          name,
          kind,
          state,
          since: rfc3339(sinceUs),
          detail: lastError,
          endpoints: summaryOf(endpoints.get(name) ?? []),
        }))
    }
    const sources = { store, tally, lastHour, health: dispatcher.health, liveCalls: watch.liveCalls, pbxs: pbxsOf }

    const root = new Elysia({
      name: 'root',
      normalize: false,
      encodeSchema: false,
      handler: { standardHostname: false },
    })
    root
      .use(faults({ log, routes: () => root.routes, draining: () => draining }))
      .use(healthRoutes(store.maintenance, disk.nearlyFull))
      .use(metricsRoutes(config.metricsToken, metrics))
      .use(authRoutes(auth, audit.clientOf))
      .use(tokenRoutes(auth, createTokenService({ accounts: store.accounts, onRevoked: auth.forget }), audit))
      .use(webhookRoutes({ auth, webhooks, allow, audit }))
      .use(callRoutes(auth, store.calls))
      .use(eventRoutes(auth, eventReader))
      .use(overviewRoutes(auth, sources))
      .use(streamRoutes(auth, streams))
      .use(pageRoutes(await loadAssets()))
      .use(deliveryRoutes(auth, deliveries, createTester({ store, attempt, admit: dispatcher.admit })))
      .use(openApiRoutes(() => root.routes, version))

    // The port stays open to the end: while the rest comes to its end, requests are answered with 503.
    const server = startServer(root, config.listen)
    started.push(server)
    return { url: server.url, hasNoUser: (await store.accounts.userCount()) === 0, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The store, written by a thread of its own, so that a slow disk holds nothing else up. */
function openStore(path: string, lock: { release(): void }): Store {
  try {
    return openSqliteStore(path, {
      thread: () => new Worker(new URL('./writer.ts', import.meta.url).href),
    })
  } catch (error) {
    lock.release()
    throw error
  }
}

/** The id of each account that a PBX belongs to, by name. @throws CommanderError when there is none of that name. */
async function accountsOf({ accounts }: Store, config: Config): Promise<Map<string, number>> {
  const ids = new Map<string, number>()
  for (const { name, account } of config.pbxs) {
    const id = await accounts.accountGetId(account)
    if (id === undefined)
      throw wrongUsage(
        `--pbx (HOOKSWITCH_PBX) ${name}: there is no account ${account}: hookswitch user add --account ${account} with --email and --name makes it`,
      )
    ids.set(account, id)
  }
  return ids
}
