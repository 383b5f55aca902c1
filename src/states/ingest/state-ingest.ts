import type { StateEventBody } from '../../calls/event.ts'
import { createBatchWriter } from '../../calls/ingest/batch-writer.ts'
import type { Ownership } from '../../cluster/ownership.ts'
import { STATE_SEQUENCE, type StateEventKind } from '../../lib/event-kinds.ts'
import { type NewId, newUuid } from '../../lib/id.ts'
import type { Log } from '../../lib/log.ts'
import { type NowUs, rfc3339, nowUs as wallUs } from '../../lib/time.ts'
import { type CallBatch, type NewEvent, type StoredEvent, storedEventsOf } from '../../store/operations/calls.ts'
import type { Store } from '../../store/store.ts'
import { NO_FACTS } from '../../store/subscription.ts'
import { applyState, type BoardOptions, newBoard, presentOf, takeStateChanges, takeUnstored } from '../board/board.ts'
import type { Change, Present } from '../board/subject.ts'
import type { EndpointEntry, StateSignal } from '../signal.ts'
import { readSubject, subjectRow } from './stored-subject.ts'

/** The states of one PBX's phones, trunks, agents and queues, connected to the store. */
type StateIngest = {
  /** Applies signals; changes are stored in the background. */
  feed(signals: readonly StateSignal[]): void
  /** Returns the present states of accounts; none before they are known. */
  presentOf(isOwner: (account: string | null) => boolean): Iterable<Present>
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

/** Reads the stored states of a PBX, and follows them from then on. @throws Fault `unavailable`. */
export async function startStateIngest(options: StateIngestOptions): Promise<StateIngest> {
  const { calls, pbx, log, onStored, steadyUs, newId = newUuid, nowUs = wallUs } = options
  const writer = createBatchWriter(options)
  const known = (await calls.subjectStateList(pbx)).flatMap((row) => readSubject(row) ?? [])
  const board = newBoard(options, known, steadyUs())
  let lastId: string | undefined
  let changes: Change[] = []
  let timer: Timer | undefined
  let writing: Promise<void> | undefined
  /** Subjects whose last change no webhook asked for: their changes wait for the next flush. */
  const unasked = new Set<string>()
  /** Whether any waiting change belongs to another subject. */
  let isUrgent = false
  let isStopped = false

  function eventOf(change: Change): NewEvent {
    lastId = newId(change.atUs, lastId)
    return newEvent(change, { pbx, uuid: lastId })
  }
  async function write(): Promise<void> {
    const taken = changes
    changes = []
    isUrgent = false
    const parts = [...Map.groupBy(taken, ({ account }) => account)].flatMap(([account, some]) => {
      const accountId = options.accountIdOf(account)
      return accountId === undefined ? [] : [{ accountId, events: some.map(eventOf), saved: [] }]
    })
    const unstored = takeUnstored(board)
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
  function flush(): Promise<void> {
    writing ??= write()
      .catch((error) =>
        log.error({ pbx, err: error }, 'changes of phones, trunks and queues cannot be stored; will retry'),
      )
      .finally(() => {
        writing = undefined
        if (isUrgent) void flush()
      })
    return writing
  }
  /** Takes the changes that are due by now, and sets a timer for the next ones. */
  function take(): void {
    clearTimeout(timer)
    const { changes: due, wakeSteadyUs } = takeStateChanges(board, { nowUs: nowUs(), steadyUs: steadyUs() })
    changes.push(...due)
    isUrgent ||= due.some(({ id }) => !unasked.has(callIdOf(id, pbx)))
    if (wakeSteadyUs !== null && !isStopped)
      timer = setTimeout(take, Math.max(1, Math.ceil((wakeSteadyUs - steadyUs()) / 1_000)))
    if (isUrgent) void flush()
  }
  function apply(signal: StateSignal): void {
    try {
      applyState(board, signal, steadyUs())
    } catch (error) {
      log.error(
        { pbx, signal: signal.kind, err: error },
        'an error of Hookswitch: a change of a phone or queue is skipped; please report it',
      )
    }
  }
  function takeEndpoints(): void {
    const endpoints = options.endpoints()
    if (endpoints !== undefined) apply({ kind: 'endpoints', endpoints, atUs: nowUs() })
  }
  const flushing = setInterval(() => {
    takeEndpoints()
    if (board.pending.size > 0) take()
    if (board.unstored.size > 0 || changes.length > 0) void flush()
  }, FLUSH_MS)

  return {
    feed(signals) {
      if (signals.length === 0) return
      for (const signal of signals) {
        if (signal.kind === 'connected' || signal.kind === 'listed') takeEndpoints()
        apply(signal)
      }
      take()
    },
    presentOf: (isOwner) => presentOf(board, isOwner, nowUs()),
    async stop() {
      isStopped = true
      writer.stop()
      clearInterval(flushing)
      clearTimeout(timer)
      while (writing !== undefined) await writing
      await flush()
    },
  }
}

/** Returns a change as an event. */
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
