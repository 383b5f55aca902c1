import type { Log } from '../../lib/log.ts'
import type { NowUs } from '../../lib/time.ts'
import type { Ending } from './ending.ts'
import type { Inbox } from './inbox.ts'
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

/** Reads the socket of a connection: decodes chunks into frames and hands each to its recipient, nothing else. */
export type FrameReader = {
  /** Begins to read. */
  start(): void
  /** Returns the milliseconds since the last bytes arrived. */
  silentMs(): number
  /** Returns whether the PBX has announced that it shuts down. */
  isShuttingDown(): boolean
}

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
}

/** Creates the reader of the frames of one PBX connection. */
export function createFrameReader<Frame>(options: Options<Frame>): FrameReader {
  const { name: pbx, counts, log, nowUs, socket, protocol, inbox, resync, inventory, states, ending } = options
  let isShuttingDown = false
  let readMs = performance.now()
  /** Bytes read since the last entry that the inbox accepted; rejected entries keep nothing. */
  let readBytes = 0
  let isTaken = true
  const handleLosses = createLossHandler(options)
  const countLongLines = createLongLineCounter(options)

  function read(chunk: Uint8Array): void {
    const arrivedUs = nowUs()
    readMs = performance.now()
    readBytes = (isTaken ? readBytes : 0) + chunk.length
    isTaken = true
    for (const frame of protocol.decoder.push(chunk)) if (!ending.isOver()) receive(frame, arrivedUs)
    countLongLines()
    if (protocol.decoder.fault !== undefined) ending.end('lost', protocol.decoder.fault)
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
    silentMs: () => performance.now() - readMs,
    isShuttingDown: () => isShuttingDown,
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
