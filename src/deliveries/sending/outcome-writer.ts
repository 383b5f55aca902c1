import { accountLease, type Ownership } from '../../cluster/cluster.ts'
import type { Log } from '../../lib/log.ts'
import { type Fence, LeaseLost } from '../../store/operations/cluster.ts'
import type { FlowTurn } from '../../store/operations/flows.ts'
import type { AttemptRow } from '../../store/operations/log.ts'
import type { OutcomeBatch } from '../../store/operations/queue.ts'
import type { Store } from '../../store/store.ts'
import type { LoadedDelivery } from '../queue/delivery.ts'

/**
 * The most outcomes that would be lost with this process; above it no attempt begins. A killed process repeats these,
 * and the 64 or so attempts in flight: at most 300.
 */
const MAX_AT_RISK = 224
/** The most unrecorded outcomes in memory, also where they survive the process. */
const MAX_UNRECORDED = 4_096
/** As many outcomes are written at once: attempts must not wait for them. */
const WRITTEN_AT_ONCE = 64
const RETRY_MS = 250
/** How long stopping waits for a store that cannot be written. */
const LAST_TRY_MS = 5_000

type OutcomeWriterOptions = {
  readonly queue: Pick<Store['queue'], 'outcomeKeep' | 'deliveryRecordOutcomes'>
  readonly flows: Pick<Store['flows'], 'flowRecord'>
  readonly log: Log
  readonly ownership: Ownership
  /** The least time between the beginnings of two writes of a few outcomes. */
  readonly intervalMs: number
  /** Called after a batch was recorded; the rows of the `superseded` deliveries had been changed meanwhile. */
  readonly onRecorded: (deliveries: readonly LoadedDelivery[], superseded: readonly number[]) => void
}

export type OutcomeWriter = {
  /** Queues the outcome of an attempt for the next batch. */
  add(delivery: LoadedDelivery, outcome: OutcomeRecord): void
  /** Records a turn of a flow: its progress is on disk before the next turn begins. */
  addTurn(delivery: LoadedDelivery, turn: FlowTurn): void
  /** Returns whether no attempt may begin: too many outcomes are not recorded, or the store cannot be written. */
  isFull(): boolean
  /** Resolves when all outcomes are recorded, or the store could not be written for 5 s: then they are sent again. */
  stop(): Promise<void>
}

/** One attempt, and the state of its delivery after it. */
export type OutcomeRecord = AttemptRow & {
  readonly state: number
  readonly dueSteadyUs: number | null
  readonly endedUs: number | null
}

type Batch = { [name in keyof OutcomeBatch]: OutcomeBatch[name][number][] }

const newBatch = (): Batch => ({
  deliveryIds: [],
  generations: [],
  states: [],
  tries: [],
  attemptsMade: [],
  dueSteadyUs: [],
  endedUs: [],
  attemptUs: [],
  probes: [],
  statuses: [],
  durationsMs: [],
  errors: [],
  addresses: [],
  responses: [],
})

function append(batch: Batch, { id, generation, tries, attemptsMade }: LoadedDelivery, outcome: OutcomeRecord): void {
  batch.deliveryIds.push(id)
  batch.generations.push(generation)
  batch.states.push(outcome.state)
  batch.tries.push(tries)
  batch.attemptsMade.push(attemptsMade)
  batch.dueSteadyUs.push(outcome.dueSteadyUs)
  batch.endedUs.push(outcome.endedUs)
  batch.attemptUs.push(outcome.atUs)
  batch.probes.push(outcome.probe)
  batch.statuses.push(outcome.status)
  batch.durationsMs.push(outcome.durationMs)
  batch.errors.push(outcome.error)
  batch.addresses.push(outcome.address)
  batch.responses.push(outcome.response)
}

/** The next batch with its deliveries: one for each account if nodes share accounts, else one for all (`undefined`). */
type Groups = Map<number | undefined, Group>
type Group = { readonly deliveries: LoadedDelivery[]; readonly batch: Batch; atRisk: number }

/** Creates the writer of outcomes. Outcomes that come during a write, or soon after, go into the next batch. */
export function createOutcomeWriter(options: OutcomeWriterOptions): OutcomeWriter {
  const { queue, flows, ownership, log, intervalMs, onRecorded } = options
  const store = createPersistentWrite({ ownership, log })
  let groups: Groups = new Map()
  let queued = 0
  let beingWritten = 0
  let turns = 0
  /** How many of them would be lost with this process. */
  let atRisk = 0
  let isWriting = false
  let idle: PromiseWithResolvers<void> | undefined
  let isStopping = false
  let beganMs = Number.NEGATIVE_INFINITY
  /** Ends the wait for more outcomes. */
  let beginWrite: (() => void) | undefined

  const isDue = () => isStopping || queued >= WRITTEN_AT_ONCE

  async function untilDue(): Promise<void> {
    const restMs = beganMs + intervalMs - performance.now()
    if (restMs > 0 && !isDue()) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, restMs)
      beginWrite = resolve
      await promise
      beginWrite = undefined
      clearTimeout(timer)
    }
    beganMs = performance.now()
  }

  async function writeAll(): Promise<void> {
    while (queued > 0) {
      if (intervalMs > 0) await untilDue()
      const written = [...groups]
      groups = new Map()
      beingWritten = queued
      queued = 0
      // Each account has its own fence; the store still commits all of them together.
      await Promise.all(written.map(([accountId, group]) => write(group, accountId)))
    }
    isWriting = false
    noteIdle()
  }

  function noteIdle(): void {
    if (!isWriting && turns === 0) idle?.resolve()
  }

  async function write({ deliveries, batch, ...group }: Group, accountId: number | undefined): Promise<void> {
    const superseded = await store.write({
      ids: batch.deliveryIds,
      accountId,
      record: (fence) => queue.deliveryRecordOutcomes(batch, fence),
    })
    // Counted down first, since the callback begins as many attempts as the bound allows.
    beingWritten -= deliveries.length
    atRisk -= group.atRisk
    onRecorded(deliveries, superseded)
  }

  async function writeTurn(delivery: LoadedDelivery, turn: FlowTurn): Promise<void> {
    const superseded = await store.write({
      ids: [delivery.id],
      accountId: ownership.isShared ? delivery.accountId : undefined,
      record: async (fence) => ((await flows.flowRecord(turn, fence)) ? [] : [delivery.id]),
    })
    turns -= 1
    atRisk -= 1
    noteIdle()
    onRecorded([delivery], superseded)
  }

  return {
    addTurn(delivery, turn) {
      turns += 1
      atRisk += 1
      void writeTurn(delivery, turn)
    },
    add(delivery, outcome) {
      const accountId = ownership.isShared ? delivery.accountId : undefined
      const known = groups.get(accountId)
      const group = known ?? { deliveries: [], batch: newBatch(), atRisk: 0 }
      if (known === undefined) groups.set(accountId, group)
      group.deliveries.push(delivery)
      append(group.batch, delivery, outcome)
      queued += 1
      if (!queue.outcomeKeep(group.batch)) {
        group.atRisk += 1
        atRisk += 1
      }
      if (isDue()) beginWrite?.()
      if (isWriting) return
      isWriting = true
      queueMicrotask(() => void writeAll())
    },
    isFull: () => store.isBroken() || atRisk >= MAX_AT_RISK || queued + beingWritten >= MAX_UNRECORDED,
    async stop() {
      isStopping = true
      beginWrite?.()
      if (!isWriting && turns === 0) return
      store.giveUpAfter(LAST_TRY_MS)
      idle ??= Promise.withResolvers<void>()
      await idle.promise
    },
  }
}

/** A write of outcomes. `record` returns the ids of the deliveries that are superseded. */
type OutcomeWrite = {
  readonly ids: readonly number[]
  /** `undefined`: of all accounts. */
  readonly accountId: number | undefined
  record(fence: Fence | undefined): Promise<readonly number[]>
}

/** Makes writes, and repeats each until it succeeds. */
function createPersistentWrite({ ownership, log }: Pick<OutcomeWriterOptions, 'ownership' | 'log'>) {
  /** Writes that could not be made so far. */
  const failing = new Set<OutcomeWrite>()
  let giveUpAtMs = Number.POSITIVE_INFINITY

  /** Returns the ids of the deliveries that are superseded. */
  async function write(job: OutcomeWrite): Promise<readonly number[]> {
    const { ids, accountId, record } = job
    for (;;) {
      try {
        const fence = accountId === undefined ? undefined : ownership.fenceOf(accountLease(accountId))
        const superseded = await record(fence)
        if (failing.delete(job)) log.info('outcomes of attempts are recorded again: the store can be written')
        return superseded
      } catch (err) {
        // The new owner sends these deliveries again, or has recorded its own outcomes.
        if (err instanceof LeaseLost) {
          if (failing.delete(job))
            log.info(
              'outcomes were not recorded before another node took over the account: the new owner sends these deliveries again',
            )
          return ids
        }
        if (failing.size === 0)
          log.error({ err }, 'cannot record outcomes of attempts: sending is paused until the store can be written')
        failing.add(job)
        if (performance.now() > giveUpAtMs) {
          const facts = { outcomes: ids.length }
          log.error(facts, 'outcomes of attempts could not be recorded: their deliveries will be sent again')
          return []
        }
        await Bun.sleep(RETRY_MS)
      }
    }
  }

  return {
    write,
    isBroken: () => failing.size > 0,
    giveUpAfter(ms: number): void {
      giveUpAtMs = performance.now() + ms
    },
  }
}
