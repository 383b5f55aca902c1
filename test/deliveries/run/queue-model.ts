import type { Ownership } from '../../../src/cluster/ownership.ts'
import type { Delivery } from '../../../src/deliveries/log/model.ts'
import { createDeliveryService } from '../../../src/deliveries/log/service.ts'
import { startDispatcher } from '../../../src/deliveries/run/dispatcher.ts'
import { newEmitter } from '../../../src/deliveries/run/emitter.ts'
import { type Attempt, newAttempt } from '../../../src/deliveries/sending/attempt.ts'
import { separateSecrets } from '../../../src/flows/flow-secrets.ts'
import type { MakeTurn } from '../../../src/flows/turn.ts'
import { newUuid } from '../../../src/lib/id.ts'
import { SECOND } from '../../../src/lib/time.ts'
import { failureOf, statusOf } from '../../../src/outbound/outcome.ts'
import { faultOfSigned } from '../../../src/outbound/signature.ts'
import { targetOf } from '../../../src/outbound/target.ts'
import { openClock } from '../../../src/store/clock.ts'
import type { NewEvent } from '../../../src/store/operations/calls.ts'
import type { WebhookOptionsRecord } from '../../../src/store/operations/webhooks.ts'
import { openDatabase } from '../../../src/store/sqlite/engine/database.ts'
import { storeOver } from '../../../src/store/sqlite/store-over.ts'
import { DEFAULT_OPTIONS } from '../../../src/store/webhook-options.ts'
import { createWebhookService } from '../../../src/webhooks/service.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { type OpenStore, openStore, storeEvents } from '../../help/store.ts'
import { TEMPLATES } from '../../help/templates.ts'
import { ACCOUNT, allowing, LOG, listed } from './rig.ts'

/** The schedule, probes and ages run this many times faster than real time. */
const SPEED = 20
const SCHEDULE_MS = [1_000, 2_000, 4_000, 8_000]
/** Attempts that hang end after HANG_MS. Attempts that get an answer never time out, however slow the machine is. */
const HANG_MS = 80
const NEVER_MS = 3_600_000

/** How a path of the receiver answers. */
export const MODES = ['ok', 'ok', 'ok', '500', '400', '410', '429', 'hang'] as const
type Mode = (typeof MODES)[number]

type EmittedEvent = {
  readonly uuid: string
  readonly call: string
  readonly sequence: number
  readonly turn: number
  /** The calls that were merged into its call. */
  readonly mergedFrom: readonly string[]
}

/** A wall clock that can be set, and time that can leap. */
function newWorld() {
  const world = { setUs: 0, leapUs: 0 }
  const elapsed = () => Math.floor(performance.now() * 1_000 * SPEED) + world.leapUs
  const startUs = Date.now() * 1_000 - elapsed()
  return Object.assign(world, { steadyUs: elapsed, nowUs: () => startUs + elapsed() + world.setUs })
}
type World = ReturnType<typeof newWorld>

const FLOW = separateSecrets({ steps: [{ name: 'send', on: ['call_started'] }] }, []).flow

/** Makes the one request of a flow as an attempt of a webhook without a flow. */
const turnsBy =
  (attempt: Attempt, nowUs: () => number): MakeTurn =>
  async ({ url, sign }, { uuid, body }, { isTrial = false }) => {
    if (isTrial) return { ...NO_REQUEST, outcome: { kind: 'deferred', reason: 'it sends a request', afterMs: 0 } }
    const atUs = nowUs()
    const timestampS = Math.floor(atUs / SECOND)
    const signature = sign(uuid, timestampS, body)
    const made = await attempt({ target: targetOf(url), id: uuid, timestampS, signature, traceparent: '', body })
    const { outcome, durationMs, address, response } = made
    const [status, error] = [statusOf(outcome), failureOf(outcome)]
    const row = { atUs, probe: false, status, error, durationMs, address, response }
    return { ...made, turn: { attempts: [row], progress: {}, kept: {}, forgotten: [], requests: 1 } }
  }
const NO_REQUEST = { durationMs: 0, address: null, response: null }

/** Makes an attempt; the model knows whether its receiver hangs. */
type Send = (request: Parameters<Attempt>[0], hangs: boolean) => ReturnType<Attempt>

type ProcessOptions = { readonly world: World; readonly ownership: Ownership; readonly watch: (send: Send) => Attempt }

/** One process on a store. */
async function startProcess(path: string, { world: { nowUs, steadyUs }, ownership, watch }: ProcessOptions) {
  let dead = false
  const never = new Promise<never>(() => {})
  const real = openDatabase(path, {
    thread: () => new Worker(new URL('../../../src/app/writer.ts', import.meta.url).href),
  })
  const db: typeof real = { ...real, commit: (mutation, args) => (dead ? never : real.commit(mutation, args)) }
  const store = storeOver(db)
  const emitter = newEmitter()
  const clock = await openClock({ maintenance: store.maintenance, log: LOG, nowUs, steadyUs })
  const webhooks = createWebhookService({
    webhooks: store.webhooks,
    onChanged: (accountId) => emitter.emit('webhooks', accountId),
    now: nowUs,
  })
  const onDue = (ids: readonly number[]) => emitter.emit('due', ids)
  const deliveries = createDeliveryService({ templates: TEMPLATES, store, onDue, nowUs, steadyUs: clock.steadyUs })
  const allow = allowing('loopback')
  const patient = newAttempt({ allow, timeoutMs: NEVER_MS })
  const hasty = newAttempt({ allow, timeoutMs: HANG_MS })
  const send = watch((request, hangs) => (hangs ? hasty : patient)(request))
  const attempt: Attempt = async (request) => {
    const attempted = dead ? never : await send(request)
    return dead ? never : attempted
  }
  const dispatcher = startDispatcher({
    templates: TEMPLATES,
    ownership,
    log: LOG,
    store,
    emitter,
    attempt,
    makeTurn: turnsBy(attempt, nowUs),
    clock,
    nowUs,
    scheduleMs: SCHEDULE_MS,
    // No attempt is aborted: its receiver may have taken it.
    drainMs: NEVER_MS,
  })
  return {
    db,
    store,
    clock,
    webhooks,
    deliveries,
    dispatcher,
    /** The options of a webhook were changed. */
    refresh: () => emitter.emit('webhooks', ACCOUNT),
    /** Hears, as of the other nodes of a database, that one has written to the store. */
    hearOfOthers: () => emitter.emit('foreign'),
    /** Stores events as another node does: without a notification to this one. */
    async storeOnly(events: readonly NewEvent[]): Promise<void> {
      await storeEvents(store, events, { nowSteadyUs: clock.steadyUs() })
    },
    async emit(events: readonly NewEvent[]): Promise<void> {
      emitter.emit('stored', await storeEvents(store, events, { nowSteadyUs: clock.steadyUs() }))
    },
    async stop(): Promise<void> {
      await dispatcher.stop()
      await db.stop()
    },
    /** Ends the process like kill -9: the outcomes of its attempts are lost. */
    async kill(): Promise<void> {
      dead = true
      void dispatcher.stop()
      await real.stop()
    },
  }
}

/**
 * A service with random actions, and a record of the deliveries that must follow. `wrong` collects faults that show at
 * once: a wrong signature, or an attempt for a URL that has left the list.
 */
export async function startModel(
  path: string,
  paths: readonly string[],
  { twice, ownership }: { twice: boolean; ownership: Ownership },
) {
  const world = newWorld()
  const modes = new Map<string, Mode>()
  const taken = new Map<string, number>()
  const over = Promise.withResolvers<Response>()
  const receiver = startReceiver(({ path: to, id, headers }) => {
    const mode = expected[Number(headers['webhook-signature'])] ?? 'ok'
    if (mode === 'ok') taken.set(id + to, (taken.get(id + to) ?? 0) + 1)
    if (mode === 'hang') return over.promise
    return new Response('', { status: mode === 'ok' ? 200 : Number(mode) })
  })
  const emitted = new Map<string, EmittedEvent>()
  const byHand = new Set<string>()
  const left = new Map<string, number>()
  const secrets = new Map<string, string>()
  /** The secret before the present one. */
  const rotated = new Map<string, string>()
  const launched: { uuid: string; path: string }[] = []
  /** How an attempt will be answered is decided when it begins: an outcome may only be a time-out where the receiver hangs. */
  const expected: Mode[] = []
  /** Calls and paths. Where a URL is listed twice there may be two. */
  let underWay = new Set<string>()
  const wrong: string[] = []
  const watch =
    (send: Send): Attempt =>
    (request) => {
      const { target, id, timestampS, signature, body } = request
      const headers = { 'webhook-id': id, 'webhook-timestamp': `${timestampS}`, 'webhook-signature': signature }
      const known = [secrets.get(target.plain), rotated.get(target.plain)].flatMap((secret) => secret ?? [])
      const faults = known.map((secret) => faultOfSigned(secret, headers, body, timestampS))
      // An attempt that begins at the moment of a rotation may still have only the previous signature.
      const fault = faults.includes(undefined) ? undefined : faults[0]
      if (fault !== undefined) wrong.push(`to ${target.plain}: ${fault}`)
      const event = emitted.get(id)
      const leftTurn = left.get(target.plain) ?? 0
      if (event !== undefined && event.turn < leftTurn && !byHand.has(id))
        wrong.push(`sent in turn ${model.turn}, emitted in ${event.turn}: its URL ${target.plain} left in ${leftTurn}`)
      launched.push({ uuid: id, path: target.url.pathname })
      const lane = `${event?.call} to ${target.url.pathname}`
      if (!twice && underWay.has(lane)) wrong.push(`${lane}: two at a time`)
      const mine = underWay.add(lane)
      const mode = modes.get(target.url.pathname) ?? 'ok'
      // The signature was checked here: it is replaced by the number of the attempt, for the receiver.
      return send({ ...request, signature: `${expected.push(mode) - 1}` }, mode === 'hang').finally(() =>
        mine.delete(lane),
      )
    }
  let process = await startProcess(path, { world, ownership, watch })
  let sequence = 0

  function newEvents(calls: readonly string[], mergedOf: (call: string) => readonly string[] = () => []): NewEvent[] {
    const atUs = world.nowUs()
    return calls.map((callId) => {
      sequence += 1
      const uuid = newUuid(atUs)
      const mergedFrom = mergedOf(callId)
      const body = JSON.stringify({ data: { id: uuid, call: { merged_from: mergedFrom } } })
      emitted.set(uuid, { uuid, call: callId, sequence, turn: model.turn, mergedFrom })
      return { uuid, callId, name: 'call_started' as const, sequence, atUs, body }
    })
  }

  const model = {
    turn: 0,
    world,
    path,
    urls: paths.map((one) => receiver.url + one),
    modes,
    taken,
    emitted,
    byHand,
    left,
    launched,
    wrong,
    get process() {
      return process
    },
    async list(): Promise<string[]> {
      return (await process.webhooks.list(ACCOUNT)).list.map(({ url }) => url)
    },
    async setUrls(urls: readonly string[]): Promise<void> {
      const before = await model.list()
      await process.webhooks.replace(ACCOUNT, urls.map(listed), null)
      for (const url of before) if (!urls.includes(url)) left.set(url, model.turn)
      for (const { url, secret } of await process.webhooks.secrets(ACCOUNT)) secrets.set(url, secret)
    },
    /** Makes the order of all URLs strict, by a flow or without; they keep that when they leave the list. */
    async setStrict({ byFlow }: { byFlow: boolean }): Promise<void> {
      const strict: Partial<WebhookOptionsRecord> = byFlow ? { flow: FLOW } : { order: 'strict' }
      for (const url of await model.list()) {
        const options = { ...DEFAULT_OPTIONS, ...strict }
        await process.store.webhooks.optionsReplace({ accountId: ACCOUNT, url, options, nowUs: world.nowUs() })
      }
      process.refresh()
    },
    async rotate(url: string): Promise<void> {
      const before = secrets.get(url)
      if (before !== undefined) rotated.set(url, before)
      secrets.set(url, (await process.webhooks.rotate(ACCOUNT, url, true)).secret)
    },
    emit: (calls: readonly string[], mergedOf?: (call: string) => readonly string[]): Promise<void> =>
      process.emit(newEvents(calls, mergedOf)),
    emitElsewhere: (calls: readonly string[]): Promise<void> => process.storeOnly(newEvents(calls)),
    async kill(): Promise<void> {
      await process.kill()
      // Outcomes of the killed process's attempts do not count for the new one.
      underWay = new Set()
      process = await startProcess(path, { world, ownership, watch })
    },
    async restart(): Promise<void> {
      await process.stop()
      process = await startProcess(path, { world, ownership, watch })
    },
    /** Does something as another node on the same store, which cannot know that the wall clock was set until that is stored. */
    async elsewhere(what: (store: OpenStore) => Promise<unknown>): Promise<void> {
      await until('a step of the clock is stored', async () => {
        process.clock.check()
        const stepped = world.nowUs() - process.clock.steadyUs()
        return Math.abs(stepped - (await process.store.maintenance.clockGet()).steppedUs) < SECOND
      })
      const store = openStore(path)
      await what(store).finally(() => store.stop())
      process.hearOfOthers()
    },
    /** Every delivery that there is. */
    async deliveries(): Promise<Delivery[]> {
      const all: Delivery[] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await process.deliveries.list(ACCOUNT, {}, 200, cursor)
        all.push(...page.items)
        cursor = page.next_cursor
      }
      return all
    },
    async stop(): Promise<void> {
      await process.stop()
      await receiver.stop()
    },
  }
  return model
}

export type Model = Awaited<ReturnType<typeof startModel>>
