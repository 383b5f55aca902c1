import { newFifo } from '../../lib/fifo.ts'
import type { Log } from '../../lib/log.ts'
import { createSlicedWork } from '../../lib/sliced-work.ts'
import { nextPbxTurn } from '../../lib/slices.ts'
import type { NowUs } from '../../lib/time.ts'
import type { Ending } from './ending.ts'
import { type Inbox, SLICE } from './inbox.ts'
import type { InboxEntry } from './inbox-entry.ts'
import type { InventoryRefresh } from './inventory-refresh.ts'
import { MAX_LINE_BYTES } from './line-meter.ts'
import type { Protocol, StateFeed } from './protocol.ts'
import type { Resync } from './resync.ts'
import type { PbxSocket } from './socket.ts'
import type { StateRefresh } from './state-refresh.ts'

/** The counters of one PBX, over all its connections. */
export type PbxCounts = {
  events: number
  /** Frames that a caller may have written into (see the decoder). */
  taints: number
  /** How often events were lost because they arrived faster than they were processed. */
  overruns: number
  /** Lines that were too long, and were left out of their frames. */
  longLines: number
  /** Internal errors: events at which the translator or the tracker failed, and which were skipped. */
  faults: number
}

/**
 * Reads the socket of a connection: decodes chunks into frames and hands each to its recipient, nothing else.
 *
 * A PBX that sends much shares the event loop: its bytes are decoded in slices, in order, and no faster than the inbox
 * is emptied. Meanwhile the socket is read, since an Asterisk drops a client that does not read for 100 ms; only when
 * too much waits, further bytes wait at the PBX.
 */
export type FrameReader = {
  /** Begins to read. */
  start(): void
  /** Returns the milliseconds since the last bytes arrived; 0 while bytes wait, since the PBX is not silent then. */
  silentMs(): number
  /** Returns whether bytes have arrived that are not decoded yet: a reply may be among them. */
  isBehind(): boolean
  isShuttingDown(): boolean
  /** Resolves when all bytes that have arrived are processed. */
  idle(): Promise<void>
  /** Stops reading, also while the PBX floods; bytes that have arrived are processed. */
  stop(): void
}

/** The most bytes that wait to be decoded: some 50,000 frames of Asterisk. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024
/** The bytes that are decoded in one step, which takes less than 2 ms. */
const PIECE_BYTES = 64 * 1024
/** A chunk up to this size is processed when it arrives: this costs less than to wait for a turn. */
const SMALL_BYTES = 4 * 1024

/** The parts of one connection to a PBX. */
export type ConnectionParts<Frame> = {
  readonly socket: PbxSocket
  readonly protocol: Protocol<Frame>
  readonly inbox: Inbox<InboxEntry<Frame>>
  readonly resync: Resync
  readonly inventory: InventoryRefresh
  readonly states: StateRefresh
  readonly ending: Ending
}

type Options<Frame> = ConnectionParts<Frame> & {
  readonly name: string
  readonly counts: PbxCounts
  readonly stateFeed: StateFeed
  readonly log: Log
  readonly nowUs: NowUs
  /** Called with an internal error, which ends the connection. */
  readonly failed: (error: unknown) => void
}

/** Creates the reader of the frames of one PBX connection. */
export function createFrameReader<Frame>(options: Options<Frame>): FrameReader {
  const { name: pbx, counts, log, nowUs, socket, protocol, inbox, resync, inventory, states, ending } = options
  let isShuttingDown = false
  let readMs = performance.now()
  /** Bytes read since the last entry that the inbox accepted; rejected entries keep nothing. */
  let readBytes = 0
  let isTaken = true
  const chunks = newFifo<{ readonly chunk: Uint8Array; readonly arrivedUs: number }>()
  let waitingBytes = 0
  let isPaused = false
  let isStopped = false
  const { promise: stopped, resolve: noteStopped } = Promise.withResolvers<void>()
  const handleLosses = createLossHandler(options)
  const countLongLines = createLongLineCounter(options)
  const work = createSlicedWork({ begin: processAll, nextTurn: nextPbxTurn, failed: options.failed })

  function read(chunk: Uint8Array): void {
    readMs = performance.now()
    chunks.push({ chunk, arrivedUs: nowUs() })
    waitingBytes += chunk.length
    if (chunk.length <= SMALL_BYTES) work.request()
    else work.requestLater()
    if (isPaused || waitingBytes <= MAX_WAITING_BYTES) return
    isPaused = true
    socket.pause()
  }

  function* processAll(): Generator<Promise<void> | void, void> {
    for (let next = chunks.shift(); next !== undefined; next = chunks.shift()) {
      const { chunk, arrivedUs } = next
      for (let from = 0; from < chunk.length; from += PIECE_BYTES) {
        // A stop does not wait until a flood is processed: what the inbox does not hold is dropped.
        const room = ending.isOver() || isStopped ? undefined : inbox.room()
        if (room !== undefined) yield Promise.race([room, stopped])
        const piece = chunk.subarray(from, from + PIECE_BYTES)
        yield* processPiece(piece, arrivedUs)
        noteProcessed(piece.length)
      }
    }
  }

  function* processPiece(piece: Uint8Array, arrivedUs: number): Generator<void, void> {
    if (ending.isOver()) return
    readBytes = (isTaken ? readBytes : 0) + piece.length
    isTaken = true
    for (const frame of protocol.decoder.push(piece)) {
      if (ending.isOver()) return
      yield receive(frame, arrivedUs)
    }
    countLongLines()
    if (protocol.decoder.fault !== undefined) ending.end('lost', protocol.decoder.fault)
  }

  function noteProcessed(bytes: number): void {
    waitingBytes -= bytes
    if (!isPaused || isStopped || waitingBytes > MAX_WAITING_BYTES / 2) return
    isPaused = false
    socket.resume()
  }

  function receive(frame: Frame, arrivedUs: number): void {
    const received = protocol.receive(frame, arrivedUs)
    switch (received.kind) {
      case 'reply':
      case 'unwanted':
        return
      case 'outdated':
        states.schedule()
        return
      case 'tainted':
        taint(received.event)
        return
      case 'refused':
        ending.end('refused', received.reason)
        return
      case 'goodbye':
        isShuttingDown ||= received.isShutdown
        // Later than a refusal that may have just arrived, which is the better reason.
        setImmediate(() => ending.end('lost', received.reason))
        return
      default:
        counts.events += 1
        if (received.kind === 'shutdown') isShuttingDown = true
        if (received.kind === 'reload') {
          inventory.schedule()
          states.schedule()
        }
        if (received.kind === 'heartbeat') return
        options.stateFeed(protocol.statesOf(frame, arrivedUs))
        if (received.kind === 'state') return
        enqueue({ frame, arrivedUs })
        protocol.ask?.(frame, takeAnswer)
        if (inbox.size() > SLICE) protocol.forget?.(frame)
    }
  }

  function takeAnswer(frame: Frame): void {
    if (!ending.isOver()) enqueue({ frame, arrivedUs: nowUs() })
  }

  function taint(event: string): void {
    counts.taints += 1
    states.schedule()
    // Logged once per resync: a caller must not be able to fill the log.
    if (resync.request())
      log.warn(
        { pbx, event },
        'ignored an event that a caller may have written into; requesting the channels of the PBX',
      )
  }

  /** The first frame of a chunk has the size of the whole chunk, since only the sum counts. */
  function enqueue(entry: InboxEntry<Frame>): void {
    isTaken = inbox.push(entry, readBytes)
    if (isTaken) readBytes = 0
    handleLosses()
  }

  return {
    start: () => socket.read(read),
    silentMs: () => (waitingBytes > 0 ? 0 : performance.now() - readMs),
    isBehind: () => waitingBytes > 0,
    isShuttingDown: () => isShuttingDown,
    idle: work.idle,
    stop() {
      isStopped = true
      noteStopped()
      socket.pause()
    },
  }
}

/** Returns a function that requests a snapshot if the inbox has dropped entries since the last call. */
function createLossHandler<Frame>({ name: pbx, inbox, resync, counts, log }: Options<Frame>): () => void {
  let handled = 0
  let logged = 0
  return () => {
    const dropped = inbox.dropped()
    if (dropped === handled) return
    handled = dropped
    // Logged once per resync: losses continue while the inbox is full.
    if (!resync.request()) return
    counts.overruns += 1
    log.warn(
      { pbx, dropped: dropped - logged },
      'the PBX sends events faster than they can be processed: some are dropped; requesting its channels',
    )
    logged = dropped
  }
}

/** Returns a function that counts the lines that the decoder has left out since the last call. */
function createLongLineCounter<Frame>({ name: pbx, protocol, counts, log }: Options<Frame>): () => void {
  let counted = 0
  return () => {
    const { longLines } = protocol.decoder
    if (longLines === counted) return
    // Logged once per connection: a dialplan may write such a line with each call.
    if (counted === 0)
      log.warn(
        { pbx, bytes: MAX_LINE_BYTES },
        'the PBX sends a line that is too long (a channel variable?): it is left out, and the rest of its event is read',
      )
    counts.longLines += longLines - counted
    counted = longLines
  }
}
