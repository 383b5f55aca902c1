import type { Signal, Translator } from '../../calls/signal.ts'
import type { Log } from '../../lib/log.ts'
import type { NowUs } from '../../lib/time.ts'
import type { Endpoints } from '../endpoints.ts'
import { createInbox, type Inbox, type Intake } from './inbox.ts'
import { type InboxEntry, translate } from './inbox-entry.ts'
import { createInventoryRefresh, type InventoryRefresh } from './inventory-refresh.ts'
import { watchLiveness } from './liveness.ts'
import type { Dialect, PbxRun, Protocol, SessionEnd } from './protocol.ts'
import { createResync, type Resync } from './resync.ts'
import { openSocket, type PbxSocket } from './socket.ts'
import type { Timeouts } from './timeouts.ts'

/** Takes signals. It must not wait: it is called between two reads of the socket. */
export type Feed = (signals: readonly Signal[]) => void

/** The counters of one PBX, over all its connections. */
export type PbxCounts = {
  events: number
  /** Frames that a caller may have written into (see the decoder). */
  taints: number
  /** Times that events were lost because they arrived faster than they were handled. */
  overruns: number
  /** Faults of ours: events at which the translator or the tracker failed, and which were left out. */
  faults: number
}

export type SessionOptions<Frame> = {
  readonly name: string
  readonly intake: Intake
  readonly translator: Translator<Frame>
  /** The endpoints of the PBX, which each inventory updates. */
  readonly endpoints: Endpoints
  readonly feed: Feed
  /** Returns whether a channel that was up is not in the last snapshot. */
  readonly isAnyMissing?: (() => boolean) | undefined
  /** The run of the PBX at an earlier connection. */
  readonly lastRun: PbxRun | null
  /** The first connection of this process to this PBX. */
  readonly isFirst: boolean
  readonly counts: PbxCounts
  readonly log: Log
  readonly nowUs: NowUs
  readonly timeouts: Timeouts
  /** Called once logged in; `null` if the run of the PBX is unknown. */
  readonly onUp: (run: PbxRun | null) => void
}

/** One connection to a PBX, from connecting to its end. */
export type Session = {
  readonly ended: Promise<SessionEnd>
  /** Requests a snapshot: there is reason to doubt what is known. */
  resync(): void
  stop(): void
}

type Connection<Frame> = {
  readonly options: SessionOptions<Frame>
  readonly socket: PbxSocket
  readonly protocol: Protocol<Frame>
  readonly inbox: Inbox<InboxEntry<Frame>>
  readonly resync: Resync
  readonly inventory: InventoryRefresh
  readonly ending: Ending
  /** `loggedIn` ends with a `disconnected` signal; `up` began with a `connected` one. */
  stage: 'connecting' | 'loggedIn' | 'up'
  isShuttingDown: boolean
  readMs: number
  /** The size of what was read since the last entry of the inbox. */
  readBytes: number
}

/** How often events that the translator keeps back are released, if no other event arrives. */
const RELEASE_MS = 250

/** Connects to a PBX and follows it until the connection is over. */
export function startSession<Frame>(dialect: Dialect<Frame>, options: SessionOptions<Frame>): Session {
  const { name: pbx, timeouts, intake, endpoints, log, isAnyMissing } = options
  const ending = createEnding()
  const socket = openSocket(dialect.address, timeouts.connectMs)
  const protocol = dialect.open({ write: socket.write, lost: (reason) => ending.end('lost', reason) })
  const inbox = createInbox<InboxEntry<Frame>>({
    isSheddable: (entry) => 'frame' in entry && protocol.isSheddable(entry.frame),
    intake,
  })
  const resync = createResync({ snapshot: () => protocol.requestSnapshot(inbox), isAnyMissing, timeouts })
  const inventory = createInventoryRefresh({ pbx, request: protocol.requestInventory, endpoints, log, timeouts })
  const state = { stage: 'connecting' as const, isShuttingDown: false, readMs: performance.now(), readBytes: 0 }
  void socket.closed.then((reason) => ending.end('lost', reason))
  return {
    ended: run({ options, socket, protocol, inbox, resync, inventory, ending, ...state }),
    resync: () => void resync.request(),
    stop: () => ending.end('stopped', 'stopped'),
  }
}

/** The end of a connection, of which the first reason counts. */
type Ending = {
  readonly ended: Promise<SessionEnd>
  isOver(): boolean
  end(kind: SessionEnd['kind'], reason: string): void
}

function createEnding(): Ending {
  const { promise: ended, resolve } = Promise.withResolvers<SessionEnd>()
  let isOver = false
  return {
    ended,
    isOver: () => isOver,
    end(kind, reason) {
      isOver = true
      resolve({ kind, reason })
    },
  }
}

async function run<Frame>(connection: Connection<Frame>): Promise<SessionEnd> {
  const { protocol, inbox, ending, options } = connection
  void ending.ended.then(({ kind }) => close(connection, kind))
  const releasing = setInterval(() => releaseKept(connection, options.nowUs()), RELEASE_MS)
  const liveness = watchLiveness({
    idleMs: protocol.idleMs,
    silentMs: () => (connection.stage === 'up' ? performance.now() - connection.readMs : 0),
    probe: protocol.probe,
    dead: () => ending.end('lost', protocol.silence),
  })
  inbox.pause()
  try {
    await converse(connection)
  } catch (error) {
    options.log.error({ pbx: options.name, err: error }, 'a fault of Hookswitch ends the connection to the PBX')
    ending.end('lost', 'a fault of Hookswitch')
  }
  const { kind, reason } = await ending.ended
  clearInterval(releasing)
  liveness.stop()
  leave(connection)
  return { kind: kind === 'lost' && connection.isShuttingDown ? 'shutdown' : kind, reason }
}

/**
 * Talks to the PBX until the connection is over: log in, identify the run, take a snapshot, then pump events.
 *
 * - The socket is always read: its callback decodes and queues, and nothing else.
 * - The inbox is paused from the beginning to the end of the first snapshot: events wait, and are handled after it.
 * - A session that was logged in feeds `connected` once, then `disconnected` once, and nothing after that.
 */
async function converse<Frame>(connection: Connection<Frame>): Promise<void> {
  const { options, socket, protocol, inbox, resync, ending } = connection
  if (!(await socket.opened)) return
  socket.read((chunk) => read(connection, chunk))
  const login = await protocol.logIn()
  if (login.kind !== 'in') return ending.end(login.kind, login.reason)
  if (ending.isOver()) return
  connection.stage = 'loggedIn'

  const pbxRun = await protocol.identifyRun(options.lastRun)
  if (ending.isOver()) return
  announce(connection, pbxRun)

  const isComplete = await resync.first()
  if (ending.isOver()) return
  if (!isComplete)
    options.log.warn(
      { pbx: options.name },
      `the PBX does not list its channels, so that calls that are up already are not seen: ${protocol.snapshotRight}`,
    )
  await firstInventory(connection)

  inbox.resume()
  for (let entries = await inbox.next(); entries.length > 0; entries = await inbox.next()) handle(connection, entries)
}

/**
 * Waits for the inventory where there is none yet. Otherwise it is requested later: a connection that keeps breaking
 * must not cost a list each time.
 */
async function firstInventory<Frame>({ options, inventory }: Connection<Frame>): Promise<void> {
  if (options.endpoints.isConfigured()) inventory.schedule()
  else await Promise.race([inventory.refresh(), Bun.sleep(options.timeouts.inventoryMs)])
}

function read<Frame>(connection: Connection<Frame>, chunk: Uint8Array): void {
  const { protocol, ending, options } = connection
  const arrivedUs = options.nowUs()
  connection.readMs = performance.now()
  connection.readBytes += chunk.length
  for (const frame of protocol.decoder.push(chunk)) if (!ending.isOver()) receive(connection, frame, arrivedUs)
  if (protocol.decoder.fault !== undefined) ending.end('lost', protocol.decoder.fault)
}

function receive<Frame>(connection: Connection<Frame>, frame: Frame, arrivedUs: number): void {
  const { protocol, options, ending, resync, inventory } = connection
  const received = protocol.receive(frame, arrivedUs)
  switch (received.kind) {
    case 'reply':
    case 'unwanted':
      return
    case 'tainted':
      options.counts.taints += 1
      // Logged once for each resync: a caller must not be able to fill the log.
      if (connection.stage === 'up' && resync.request())
        options.log.warn(
          { pbx: options.name, event: received.event },
          'ignored an event that a caller may have written into: the PBX is asked for its channels',
        )
      return
    case 'refused':
      ending.end('refused', received.reason)
      return
    case 'goodbye':
      if (received.isShutdown) connection.isShuttingDown = true
      // Later than the refusal that may have come just before it, which is the better reason.
      setImmediate(() => ending.end('lost', received.reason))
      return
    default:
      options.counts.events += 1
      if (received.kind === 'shutdown') connection.isShuttingDown = true
      if (received.kind === 'reload') inventory.schedule()
      if (received.kind !== 'heartbeat') enqueue(connection, { frame, arrivedUs })
  }
}

/**
 * Puts an event into the inbox; of the frames of one chunk the first takes its whole size, since the sum is what
 * counts.
 */
function enqueue<Frame>(connection: Connection<Frame>, entry: InboxEntry<Frame>): void {
  const { options, inbox, resync } = connection
  const dropped = inbox.push(entry, connection.readBytes)
  connection.readBytes = 0
  if (dropped === undefined) return
  options.counts.overruns += 1
  options.log.warn(
    { pbx: options.name, dropped },
    'the PBX sends events faster than they can be handled: some are dropped, and it is asked for its channels',
  )
  resync.request()
}

/** Feeds what entries of the inbox mean. What fails is left out, and a snapshot is requested in its place. */
function handle<Frame>(connection: Connection<Frame>, entries: readonly InboxEntry<Frame>[]): void {
  const { translator, feed } = connection.options
  const signals = translate(entries, translator, (error, entry) =>
    failed(connection, error, 'frame' in entry ? 'an event' : 'a snapshot'),
  )
  if (signals.length > 0) feed(signals)
}

/** Feeds what the translator keeps back, so that it need not wait for the next event. */
function releaseKept<Frame>(connection: Connection<Frame>, untilUs: number): void {
  const { translator, feed } = connection.options
  try {
    const signals = translator.release?.(untilUs) ?? []
    if (signals.length > 0) feed(signals)
  } catch (error) {
    failed(connection, error, 'an event')
  }
}

function failed<Frame>({ options, resync }: Connection<Frame>, error: unknown, what: string): void {
  options.counts.faults += 1
  // Logged once for each resync: a caller must not be able to fill the log.
  if (resync.request())
    options.log.error(
      { pbx: options.name, what, err: error },
      'a fault of Hookswitch: something that the PBX sent is left out, and it is asked for its channels',
    )
}

function announce<Frame>(connection: Connection<Frame>, pbxRun: PbxRun | null): void {
  const { feed, isFirst, nowUs, onUp } = connection.options
  connection.stage = 'up'
  const atUs = nowUs()
  feed([{ kind: 'connected', first: isFirst, boot: pbxRun?.id ?? null, atUs, arrivedUs: atUs }])
  onUp(pbxRun)
}

/** Ends all that goes on over a connection. */
function close<Frame>(
  { resync, inventory, protocol, socket, inbox }: Connection<Frame>,
  kind: SessionEnd['kind'],
): void {
  resync.stop()
  inventory.stop()
  protocol.close(kind)
  socket.close()
  inbox.stop()
}

/** Feeds what is left, and that the PBX is disconnected. */
function leave<Frame>(connection: Connection<Frame>): void {
  const { options, inbox } = connection
  const rest = inbox.drain()
  if (connection.stage === 'connecting') return
  if (connection.stage === 'loggedIn') announce(connection, null)
  handle(connection, rest)
  releaseKept(connection, Number.POSITIVE_INFINITY)
  const atUs = options.nowUs()
  options.feed([{ kind: 'disconnected', atUs, arrivedUs: atUs }])
}
