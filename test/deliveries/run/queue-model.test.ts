import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import type { Delivery } from '../../../src/deliveries/log/model.ts'
import { createDeliveryService } from '../../../src/deliveries/log/service.ts'
import { SECOND } from '../../../src/lib/time.ts'
import { findWrong } from '../../../src/store/sql/verify.ts'
import { runWork } from '../../../src/store/sqlite/engine/run-operations.ts'
import { emptyFolder } from '../../help/app.ts'
import { changingOwnership } from '../../help/ownership.ts'
import { createRandom, type Random } from '../../help/random.ts'
import { until } from '../../help/receiver.ts'
import { seedsOf } from '../../help/seed.ts'
import { TEMPLATES } from '../../help/templates.ts'
import { MODES, type Model, startModel } from './queue-model.ts'
import { ACCOUNT } from './rig.ts'

/**
 * Random actions in random order: events, lists, retries by hand here and in another process, rotations, erasures,
 * clock changes, receivers that fail and hang, restarts, kills. Each seed plays one game.
 */
const PATHS = ['/a', '/b', '/c'] as const
const TURNS = 150
const HOUR = 3_600 * SECOND

type Rules = {
  readonly kills: boolean
  readonly prunes: boolean
  readonly twice: boolean
  readonly strict: boolean
  /** The order is strict since the webhooks have flows, and calls are merged. */
  readonly merges: boolean
  /** There are other nodes: they store events too, and the PBX and the account come and go. */
  readonly shared: boolean
}
type Game = Model & { readonly owner: ReturnType<typeof changingOwnership> }
type Move = (model: Game, random: Random, rules: Rules) => Promise<unknown>

async function someDelivery({ process, byHand }: Model, random: Random): Promise<Delivery | undefined> {
  const { items } = await process.deliveries.list(ACCOUNT, {}, 200)
  if (items.length === 0) return undefined
  const one = random.pick(items)
  byHand.add(one.event_id)
  return one
}

const calls = (random: Random, count: number, of: number) =>
  Array.from({ length: count }, () => `call ${random.int(of)}`)

/** The actions with their relative weights. */
const MOVES: readonly (readonly [weight: number, Move, when?: keyof Rules])[] = [
  [12, (model, random) => model.emit(calls(random, 1 + random.int(8), 10))],
  [1, (model, random) => model.emit(calls(random, 150, 60))],
  [12, (model, random) => model.emit(calls(random, 1 + random.int(4), 10), () => calls(random, 1, 10)), 'merges'],
  [
    3,
    ({ urls, setUrls }, random, { twice }) =>
      setUrls(urls.flatMap((url) => (random.chance(0.7) ? (twice && random.chance(0.2) ? [url, url] : [url]) : []))),
  ],
  [
    2,
    async ({ list, setUrls }) => {
      const before = await list()
      await setUrls([])
      await setUrls(before)
    },
  ],
  [5, async ({ modes }, random) => modes.set(random.pick(PATHS), random.pick(MODES))],
  [
    5,
    async (model, random) => {
      const one = await someDelivery(model, random)
      // Refused where its URL has left, or its body was erased.
      if (one !== undefined) await model.process.deliveries.retry(ACCOUNT, one.id).catch(() => {})
    },
  ],
  [
    1,
    async (model, random) => {
      const one = await someDelivery(model, random)
      const { nowUs } = model.world
      if (one !== undefined)
        await model.elsewhere((store) =>
          createDeliveryService({ templates: TEMPLATES, store, nowUs })
            .retry(ACCOUNT, one.id)
            .catch(() => {}),
        )
    },
  ],
  [
    1,
    ({ process, emitted, byHand }, random) => {
      for (const uuid of emitted.keys()) byHand.add(uuid)
      return process.deliveries.retryAll(ACCOUNT, { state: random.pick(['failed', 'cancelled', 'pending']) })
    },
    'prunes',
  ],
  [
    2,
    async ({ list, rotate }, random) => {
      const urls = await list()
      if (urls.length > 0) await rotate(random.pick(urls))
    },
  ],
  [1, (model, random) => model.elsewhere(({ maintenance }) => maintenance.callErase(calls(random, 1, 10)))],
  [1, async ({ world }, random) => (world.setUs += random.pick([-HOUR, HOUR, -100 * HOUR, 100 * HOUR]))],
  [3, async ({ world }, random) => (world.leapUs += random.int(4 * SECOND))],
  // Gives attempts in flight some time.
  [10, (_, random) => Bun.sleep(random.int(60))],
  [1, (model) => model.kill(), 'kills'],
  [1, (model) => model.restart(), 'kills'],
  [
    2,
    async ({ process: { store }, world: { nowUs } }, random) => {
      const beforeUs = nowUs() - random.int(5 * SECOND)
      const before = { deliveredBeforeUs: beforeUs, failedBeforeUs: beforeUs, nowUs: nowUs() }
      await store.maintenance.deliveryPrune({ afterId: 0, ...before, limit: 250 })
      await store.maintenance.webhookPrune(250)
    },
    'prunes',
  ],
  // Calls of a PBX that another node watches.
  [
    4,
    (model, random) => model.emitElsewhere(calls(random, 1 + random.int(4), 4).map((one) => `${one} there`)),
    'shared',
  ],
  [
    3,
    // The PBX goes to another node in the middle of its calls, and comes back: events of one call have one writer.
    async (model, random) => {
      await model.owner.setPbxs('not owned')
      await model.emitElsewhere(calls(random, 1 + random.int(4), 10))
      await model.owner.setPbxs('owned')
      await model.emit(calls(random, 1 + random.int(4), 10))
    },
    'shared',
  ],
  [
    2,
    async (model, random) => {
      await model.owner.lose(ACCOUNT)
      await model.emit(calls(random, random.int(3), 10))
      await model.owner.gain(ACCOUNT)
    },
    'shared',
  ],
]

/** Makes all receivers healthy: every pending delivery must end. */
async function finish({ modes, process, world }: Model): Promise<void> {
  for (const path of PATHS) modes.set(path, 'ok')
  await until('nothing waits', async () => {
    world.leapUs += SECOND / 10
    const { items } = await process.deliveries.list(ACCOUNT, { state: 'pending' }, 1)
    return items.length === 0 && process.dispatcher.inFlight === 0
  })
}

const keyOf = ({ event_id, url }: Delivery): string => event_id + new URL(url).pathname

/** Returns the faults of the store and of the deliveries that the receiver got. */
async function faultsOf(model: Model, rules: Rules): Promise<string[]> {
  const { process, taken, emitted, byHand, left, wrong } = model
  // Calls in this model have no end and no sequences, and their young events may be deleted: the store has no fault
  // there.
  const store = runWork(process.db.read, findWrong()).filter((text) => !/^\d+ (calls|events that lack)/.test(text))
  const deliveries = await model.deliveries()
  const counts = Map.groupBy(deliveries, keyOf)
  const single = deliveries.flatMap((one) => {
    if (one.state === 'delivered' && !taken.has(keyOf(one))) return [`delivered, but never taken: ${one.id}`]
    const leftTurn = left.get(one.url) ?? 0
    if (rules.twice || one.state !== 'cancelled' || leftTurn >= (emitted.get(one.event_id)?.turn ?? 0)) return []
    return [`cancelled, but its URL stayed: ${one.id}`]
  })
  const double = [...taken].flatMap(([key, count]) => {
    const [uuid = ''] = key.split('/')
    const allowed = rules.kills || rules.prunes || byHand.has(uuid)
    return allowed || count <= (counts.get(key)?.length ?? 0) ? [] : [`taken ${count} times: ${key}`]
  })
  const isStrict = rules.strict || rules.merges
  const order = rules.twice ? [] : [...reordered(model), ...(isStrict ? overtaken(model) : [])]
  if (rules.merges && !rules.twice) order.push(...overtakenByMerges(model))
  return [...wrong, ...store, ...single, ...double, ...order]
}

/** Returns the events in strict order that were tried after a later event of their call. */
function overtaken({ launched, emitted, byHand }: Model): string[] {
  const last = new Map<string, number>()
  return launched.flatMap(({ uuid, path }) => {
    const event = emitted.get(uuid)
    if (event === undefined || byHand.has(uuid)) return []
    const before = last.get(event.call + path) ?? 0
    last.set(event.call + path, Math.max(before, event.sequence))
    return event.sequence < before ? [`${event.sequence} of ${event.call} to ${path} was tried after ${before}`] : []
  })
}

/** Returns the events of merged calls that were tried after an event of the surviving call that follows them. */
function overtakenByMerges({ launched, emitted, byHand }: Model): string[] {
  const last = new Map<string, number>()
  return launched.flatMap(({ uuid, path }) => {
    const event = emitted.get(uuid)
    if (event === undefined || byHand.has(uuid)) return []
    const { call, sequence, mergedFrom } = event
    const before = last.get(call + path) ?? 0
    for (const merged of mergedFrom) {
      const known = last.get(merged + path) ?? 0
      if (merged !== call) last.set(merged + path, Math.max(known, sequence))
    }
    return sequence < before ? [`${sequence} of ${call} to ${path} was tried after ${before}, which has it merged`] : []
  })
}

/** Returns the first attempts that overtook an earlier event of the same call to the same URL. */
function reordered({ launched, emitted, byHand }: Model): string[] {
  const known = new Set<string>()
  const last = new Map<string, number>()
  return launched.flatMap(({ uuid, path }) => {
    const event = emitted.get(uuid)
    if (event === undefined || known.has(uuid + path) || byHand.has(uuid)) return []
    known.add(uuid + path)
    const before = last.get(event.call + path) ?? 0
    last.set(event.call + path, event.sequence)
    return event.sequence < before ? [`${event.sequence} of ${event.call} to ${path} came after ${before}`] : []
  })
}

const seeds = seedsOf(1, 4)

async function play(seed: number, rules: Rules): Promise<void> {
  const random = createRandom(seed)
  const bag = MOVES.flatMap(([weight, move, when]) =>
    when === undefined || rules[when] ? Array.from({ length: weight }, () => move) : [],
  )
  using folder = emptyFolder()
  const owner = changingOwnership()
  const ownership = rules.shared ? owner.ownership : OWNS_EVERYTHING
  const path = join(folder.path, 'hookswitch.db')
  const model = Object.assign(await startModel(path, PATHS, { twice: rules.twice, ownership }), { owner })
  await model.setUrls(model.urls)
  if (rules.strict || rules.merges) await model.setStrict({ byFlow: rules.merges })
  for (model.turn = 1; model.turn <= TURNS; model.turn += 1) await random.pick(bag)(model, random, rules)
  await finish(model)
  expect(await faultsOf(model, rules)).toEqual([])
  await model.stop()
}

test.each(seeds)('in a random game nothing is lost, reordered, sent twice or to the wrong webhook (seed %i)', (seed) =>
  play(seed, {
    kills: seed % 2 === 1,
    prunes: seed % 4 >= 2,
    twice: seed % 8 >= 4,
    strict: seed % 3 === 0,
    merges: seed % 3 === 1,
    shared: false,
  }),
)

test.each(seeds)('nor is it with other nodes, which store events and take over PBXs and accounts (seed %i)', (seed) =>
  play(seed, {
    kills: false,
    prunes: seed % 4 === 2,
    twice: false,
    strict: seed % 3 === 0,
    merges: seed % 3 === 1,
    shared: true,
  }),
)
