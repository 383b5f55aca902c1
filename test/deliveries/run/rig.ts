import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import { createReplayService } from '../../../src/deliveries/log/replay-service.ts'
import { createDeliveryService } from '../../../src/deliveries/log/service.ts'
import { startDispatcher } from '../../../src/deliveries/run/dispatcher.ts'
import type { DispatcherOptions } from '../../../src/deliveries/run/dispatcher-run.ts'
import { newEmitter } from '../../../src/deliveries/run/emitter.ts'
import { newAttempt } from '../../../src/deliveries/sending/attempt.ts'
import { newUuid } from '../../../src/lib/id.ts'
import { type NowUs, nowUs as wallUs } from '../../../src/lib/time.ts'
import { parseAllowList } from '../../../src/outbound/address-guard.ts'
import { openClock } from '../../../src/store/clock.ts'
import { createWebhookService } from '../../../src/webhooks/service.ts'
import { webhook } from '../../help/client.ts'
import { NO_FLOWS } from '../../help/deliveries.ts'
import { openStore, storeEvents } from '../../help/store.ts'
import { TEMPLATES } from '../../help/templates.ts'

export const ACCOUNT = 1
const quiet = () => {}
export const LOG = { debug: quiet, info: quiet, warn: quiet, error: quiet }

export function allowing(...nets: string[]) {
  const parsed = parseAllowList(nets)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  return parsed.allow
}

export const listed = (url: string) => webhook(url)

type RigOptions = Partial<DispatcherOptions> & {
  attemptOptions?: Partial<Parameters<typeof newAttempt>[0]>
  asleep?: boolean
  /** The steady clock of the service: it is never set. */
  steadyUs?: NowUs
  /** The file of the writer's thread, or a function that starts the thread. */
  writer?: URL
  thread?: () => Worker
}

/** Opens a real store in a new folder, with the real dispatcher on it. */
export async function newRig(options: RigOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'hookswitch-rig-'))
  const path = join(folder, 'hookswitch.db')
  const writer = options.writer ?? new URL('../../../src/app/writer.ts', import.meta.url)
  const { thread = () => new Worker(writer.href) } = options
  const store = openStore(path, { thread })
  const emitter = newEmitter()
  const webhooks = createWebhookService({
    webhooks: store.webhooks,
    onChanged: (accountId) => emitter.emit('webhooks', accountId),
  })
  const { nowUs = wallUs, templates = TEMPLATES } = options
  // Only tests that set a timeout see one: elsewhere a receiver may take as long as the machine needs.
  const patient = { allow: allowing('loopback'), timeoutMs: 3_600_000 }
  const attempt = options.attempt ?? newAttempt({ ...patient, ...options.attemptOptions })
  const clock = await openClock({ log: LOG, ...options, maintenance: store.maintenance })
  const { steadyUs } = clock
  const deliveries = createDeliveryService({
    templates,
    store,
    onDue: (ids) => emitter.emit('due', ids),
    nowUs,
    steadyUs,
  })
  const replays = createReplayService({ store, wantedOf: async (_, events) => events, nowUs })
  const start = () =>
    startDispatcher({
      templates: TEMPLATES,
      ownership: OWNS_EVERYTHING,
      log: LOG,
      makeTurn: NO_FLOWS,
      ...options,
      store,
      emitter,
      attempt,
      clock,
    })
  let dispatcher = options.asleep ? undefined : start()
  let sequence = 0
  return {
    store,
    db: store.db,
    path,
    emitter,
    clock,
    webhooks,
    deliveries,
    replays,
    wake() {
      dispatcher ??= start()
      return dispatcher
    },
    get dispatcher() {
      return this.wake()
    },
    setUrls: (...urls: string[]) => webhooks.replace(ACCOUNT, urls.map(listed), null),
    /** Stores events as the tracker does, one for each call named. @returns their public ids. */
    async emit(...calls: string[]): Promise<string[]> {
      const atUs = nowUs()
      const events = calls.map((callId) => {
        sequence += 1
        const uuid = newUuid(atUs)
        const body = JSON.stringify({ time: '', data: { id: uuid, sequence, call: callId } })
        return { uuid, callId, name: 'call_started' as const, sequence, atUs, body }
      })
      emitter.emit('stored', await storeEvents(store, events, { nowSteadyUs: clock.steadyUs() }))
      return events.map(({ uuid }) => uuid)
    },
    async [Symbol.asyncDispose]() {
      await dispatcher?.stop()
      await store.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
