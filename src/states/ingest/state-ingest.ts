import { createBatchWriter } from '../../calls/calls.ts'
import type { Ownership } from '../../cluster/cluster.ts'
import type { StateEventBody } from '../../events/bodies.ts'
import { STATE_SEQUENCE, type StateEventKind } from '../../events/kinds.ts'
import { newFifo } from '../../lib/fifo.ts'
import { type NewId, newUuid } from '../../lib/id.ts'
import type { Log } from '../../lib/log.ts'
import { createSlicedWork } from '../../lib/sliced-work.ts'
import { collectInSlices, nextPbxTurn } from '../../lib/slices.ts'
import { type NowUs, rfc3339, nowUs as wallUs } from '../../lib/time.ts'
import { type CallBatch, type NewEvent, type StoredEvent, storedEventsOf } from '../../store/operations/calls.ts'
import type { Store } from '../../store/store.ts'
import { NO_FACTS } from '../../store/subscription.ts'
import {
  applyState,
  type BoardOptions,
  devicesOf,
  newBoard,
  type PhoneDevice,
  presentOf,
  takeForStore,
  takeStateChanges,
} from '../board/board.ts'
import type { Change, Present, StoredSubject } from '../board/subject.ts'
import type { EndpointEntry, StateSignal } from '../signal.ts'
import { readSubject, subjectRow } from './stored-subject.ts'

/** The states of one PBX's phones, trunks, agents and queues, connected to the store. */
type StateIngest = {
  /**
   * Applies signals, in turns with other work if there are many; changes are stored in the background. Waiting signals
   * have no bound of their own: applying a signal costs less than reading it.
   */
  feed(signals: readonly StateSignal[]): void
  /** Returns the present states of accounts; none before they are known. */
  presentOf(isOwner: (account: string | null) => boolean): Iterable<Present>
  /** Returns the devices of an account's phone in order of name. */
  devicesOf(account: string | null, extension: string): readonly PhoneDevice[]
  /** Stores the remaining changes and stops. */
  stop(): Promise<void>
}

type StateIngestOptions = BoardOptions & {
  readonly calls: Pick<Store['calls'], 'batchStore' | 'subjectStateList'>
  readonly ownership: Pick<Ownership, 'fenceOf'>
  readonly pbx: string
  readonly accountIdOf: (account: string) => number | undefined
  /** Returns the phones and trunks if they have changed since the last call, for PBXs whose events do not name them. */
  readonly endpoints: () => readonly EndpointEntry[] | undefined
  readonly onStored: (stored: readonly StoredEvent[]) => void
  readonly log: Log
  readonly newId?: NewId
  readonly nowUs?: NowUs
  readonly steadyUs: NowUs
}

/** How soon states without an emitted change are stored, and newly found phones are visible. */
const FLUSH_MS = 1_000
/** Making a batch of this size takes a few milliseconds, and other writes have their turn between two. */
const MAX_BATCH = 256

/** Reads the stored states of a PBX, and follows them from then on. @throws Fault `unavailable`. */
export async function startStateIngest(options: StateIngestOptions): Promise<StateIngest> {
  const { calls, pbx, log, onStored, steadyUs, newId = newUuid, nowUs = wallUs } = options
  const writer = createBatchWriter(options)
  const rows = await calls.subjectStateList(pbx)
  const board = newBoard(options, await collectInSlices(readAll(rows)), steadyUs())
  /** The signals that are not applied yet. */
  const fed = newFifo<readonly StateSignal[]>()
  let timer: Timer | undefined
  let wakeSteadyUs: number | null = null
  let isStopped = false
  let lastId: string | undefined
  /** Changes that wait to be stored, by subject: all of them are stored with the state of their subject. */
  const changes = new Map<string, Change[]>()
  let writing: Promise<void> | undefined
  /** Subjects whose last change no webhook asked for: their changes wait for the next flush. */
  const unasked = new Set<string>()
  /** Whether any waiting change belongs to another subject. */
  let isUrgent = false

  function eventOf(change: Change): NewEvent {
    lastId = newId(change.atUs, lastId)
    return newEvent(change, { pbx, uuid: lastId })
  }
  /** Takes changes for a batch, and the ids of the subjects whose states it has. */
  function takeBatch(): { taken: Change[]; ids: Set<string> } {
    const taken: Change[] = []
    const ids = new Set<string>()
    for (const [id, some] of changes) {
      if (taken.length >= MAX_BATCH) break
      changes.delete(id)
      ids.add(id)
      taken.push(...some)
    }
    // The state of a subject is stored after its changes: otherwise a crash in between would lose them.
    if (changes.size === 0)
      for (const id of board.unstored) {
        if (ids.size >= MAX_BATCH) break
        ids.add(id)
      }
    isUrgent &&= changes.size > 0
    return { taken, ids }
  }
  async function write(): Promise<void> {
    const { taken, ids } = takeBatch()
    const parts = [...Map.groupBy(taken, ({ account }) => account)].flatMap(([account, some]) => {
      const accountId = options.accountIdOf(account)
      return accountId === undefined ? [] : [{ accountId, events: some.map(eventOf), saved: [] }]
    })
    const unstored = takeForStore(board, ids)
    const subjects = unstored.map(({ id, subject }) => subjectRow(id, subject))
    if (parts.length === 0 && subjects.length === 0) return
    const batch: CallBatch = { pbx, parts, live: [], removed: [], subjects, nowSteadyUs: steadyUs() }
    const placed = await writer.store(batch)
    if (placed === undefined) return
    const stored = storedEventsOf(batch, placed)
    for (const { id } of taken) unasked.add(callIdOf(id, pbx))
    for (const { callId } of stored) unasked.delete(callId)
    for (const { id, subject } of unstored) if (subject === undefined) unasked.delete(callIdOf(id, pbx))
    if (stored.length > 0) onStored(stored)
  }
  /** Writes this many batches, and more while an urgent change waits. */
  async function writeBatches(count: number): Promise<void> {
    for (let left = count; left > 0 || isUrgent; left -= 1) await write()
  }
  function flush(batches = 1): Promise<void> {
    writing ??= writeBatches(batches)
      .catch((error) =>
        log.error({ pbx, err: error }, 'changes of phones, trunks and queues cannot be stored; will retry'),
      )
      .finally(() => {
        writing = undefined
        if (isUrgent) void flush()
      })
    return writing
  }
  const flushAll = (): Promise<void> => flush(Math.ceil((changes.size + board.unstored.size) / MAX_BATCH))

  /** Takes the changes that are due by now, and sets a timer for the next ones. */
  function* takeDue(): Generator<void, void> {
    for (;;) {
      const times = { nowUs: nowUs(), steadyUs: steadyUs() }
      const due = takeStateChanges(board, times)
      for (const change of due.changes) {
        const others = changes.get(change.id)
        if (others === undefined) changes.set(change.id, [change])
        else others.push(change)
        isUrgent ||= !unasked.has(callIdOf(change.id, pbx))
      }
      if (isUrgent) void flush()
      if (due.wakeSteadyUs === null || due.wakeSteadyUs > times.steadyUs) return wakeAt(due.wakeSteadyUs)
      yield
    }
  }
  function wakeAt(atSteadyUs: number | null): void {
    if (atSteadyUs === wakeSteadyUs) return
    wakeSteadyUs = atSteadyUs
    clearTimeout(timer)
    if (atSteadyUs === null || isStopped) return
    const wake = (): void => {
      wakeSteadyUs = null
      feed([])
    }
    timer = setTimeout(wake, Math.max(1, Math.ceil((atSteadyUs - steadyUs()) / 1_000)))
  }
  function* apply(signal: StateSignal): Generator<void, void> {
    try {
      const steps = applyState(board, signal, steadyUs())
      if (steps !== undefined) yield* steps
    } catch (error) {
      log.error(
        { pbx, signal: signal.kind, err: error },
        'an error of Hookswitch: a change of a phone or queue is skipped; please report it',
      )
    }
  }
  /** Applies all that was fed, in order. Changes that are due are taken after each part, so that none is missed. */
  function* applyAll(): Generator<void, void> {
    for (let signals = fed.shift(); signals !== undefined; signals = fed.shift()) {
      for (const signal of signals) {
        yield* apply(signal)
        yield
      }
      yield* takeDue()
    }
  }
  const work = createSlicedWork({
    begin: applyAll,
    nextTurn: nextPbxTurn,
    failed: (error) =>
      log.error({ pbx, err: error }, 'an error of Hookswitch: changes of phones are late; please report it'),
  })
  function feed(signals: readonly StateSignal[]): void {
    fed.push(signals)
    work.request()
  }
  function feedEndpoints(): void {
    const endpoints = options.endpoints()
    if (endpoints !== undefined) feed([{ kind: 'endpoints', endpoints, atUs: nowUs() }])
  }
  const flushing = setInterval(() => {
    feedEndpoints()
    if (board.unstored.size > 0 || changes.size > 0) void flushAll()
  }, FLUSH_MS)

  return {
    feed(signals) {
      if (signals.length === 0) return
      if (signals.some(({ kind }) => kind === 'connected' || kind === 'listed')) feedEndpoints()
      feed(signals)
    },
    presentOf: (isOwner) => presentOf(board, isOwner, nowUs()),
    devicesOf: (account, extension) => devicesOf(board, account, extension),
    async stop() {
      isStopped = true
      writer.stop()
      clearInterval(flushing)
      await work.idle()
      clearTimeout(timer)
      while (writing !== undefined) await writing
      await flushAll()
    },
  }
}

function* readAll(rows: Awaited<ReturnType<Store['calls']['subjectStateList']>>): Generator<StoredSubject> {
  for (const row of rows) {
    const subject = readSubject(row)
    if (subject !== undefined) yield subject
  }
}

function newEvent({ id, account, present, atUs, resync, isShortLived }: Change, { pbx, uuid }: EventSource): NewEvent {
  const name: StateEventKind = `${present.kind}_changed`
  const data = { name, id: uuid, account, pbx, resync, [present.kind]: present.state }
  // The name and the key of the state match.
  const body = { time: rfc3339(atUs), data } as StateEventBody
  return {
    uuid,
    // Events of one subject are delivered in order, like the events of one call.
    callId: callIdOf(id, pbx),
    name,
    sequence: isShortLived ? STATE_SEQUENCE.shortLived : STATE_SEQUENCE.kept,
    atUs,
    body: JSON.stringify(body),
    facts: { ...NO_FACTS, pbx, queue: queueOf(present), extension: extensionsOf(present) },
  }
}

const callIdOf = (subject: string, pbx: string): string => `${subject}@${pbx}`

type EventSource = { readonly pbx: string; readonly uuid: string }

const queueOf = ({ kind, state }: Present): string | null => (kind === 'agent' || kind === 'queue' ? state.queue : null)
const extensionsOf = ({ kind, state }: Present): readonly string[] =>
  kind === 'phone' || kind === 'agent' ? [state.extension] : []
