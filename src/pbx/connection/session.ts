import type { Signal, Translator } from '../../calls/calls.ts'
import type { Log } from '../../lib/log.ts'
import { nextPbxTurn, runInSlices } from '../../lib/slices.ts'
import type { NowUs } from '../../lib/time.ts'
import type { Endpoints } from '../endpoints/endpoints.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import { createEnding, type Ending } from './ending.ts'
import { type ConnectionParts, createFrameReader, type FrameReader, type PbxCounts } from './frame-reader.ts'
import { createInbox, type Inbox, type Intake, SLICE } from './inbox.ts'
import { type InboxEntry, type SnapshotEntry, translate } from './inbox-entry.ts'
import { createInventoryRefresh } from './inventory-refresh.ts'
import { watchLiveness } from './liveness.ts'
import type { Dialect, PbxRun, SessionEnd, StateFeed } from './protocol.ts'
import { createReleaseTimer, RELEASE_MS } from './release-timer.ts'
import { createResync } from './resync.ts'
import { openSocket } from './socket.ts'
import { createStateRefresh } from './state-refresh.ts'
import type { Timeouts } from './timeouts.ts'

/** Takes signals. Must not wait: it is called between two reads of the socket. */
export type Feed = (signals: readonly Signal[]) => void

type SessionOptions<Frame> = {
  readonly name: string
  readonly intake: Intake
  readonly translator: Translator<Frame>
  /** The endpoints of the PBX, which each inventory updates. */
  readonly endpoints: Endpoints
  readonly feed: Feed
  readonly stateFeed: StateFeed
  /** Returns whether the last snapshot lacked a channel that was up. */
  readonly isAnyMissing?: (() => boolean) | undefined
  /** Returns whether nothing was heard of a live call for an hour. */
  readonly isAnySilent?: (() => boolean) | undefined
  /** Resolves when the tracker has applied all signals; `undefined` if it has. */
  readonly caughtUp?: (() => Promise<void> | undefined) | undefined
  /** The run of the PBX during an earlier connection. */
  readonly lastRun: PbxRun | null
  /** Returns whether as many calls are open as are followed. */
  readonly isFull: () => boolean
  /** Whether this is the process's first connection to this PBX. */
  readonly isFirst: boolean
  readonly counts: PbxCounts
  readonly log: Log
  readonly nowUs: NowUs
  readonly timeouts: Timeouts
  /** Called once logged in; `null` if the run of the PBX is unknown. */
  readonly onUp: (run: PbxRun | null) => void
}

/** Starts a session with a PBX of one kind. */
export type StartSession = (source: PbxSource, options: Omit<SessionOptions<never>, 'translator'>) => PbxSession

type DialectOf<Frame> = (source: PbxSource, timeouts: Timeouts, nowUs: NowUs) => Dialect<Frame>
/** Creates the translator of one connection, since its state belongs to that connection. */
type TranslatorOf<Frame> = (
  source: PbxSource & Pick<SessionOptions<Frame>, 'isFull'>,
  endpoints: Endpoints,
) => Translator<Frame>

/** Returns the function that starts sessions in a dialect, each with a translator of its own. */
export const sessionsOf =
  <Frame>(dialectOf: DialectOf<Frame>, translatorOf: TranslatorOf<Frame>): StartSession =>
  (source, options) =>
    startSession(dialectOf(source, options.timeouts, options.nowUs), {
      ...options,
      translator: translatorOf({ ...source, isFull: options.isFull }, options.endpoints),
    })

/** One connection to a PBX, from connecting to its end. */
export type PbxSession = {
  readonly ended: Promise<SessionEnd>
  /** Requests a snapshot: the known state is in doubt. */
  resync(): void
  /** Returns whether bytes of the PBX wait to be decoded, or events to be processed. */
  isBehind(): boolean
  /** Ends the connection, with a reason for people. */
  stop(reason: string): void
}

type Connection<Frame> = ConnectionParts<Frame> & {
  readonly options: SessionOptions<Frame>
  readonly reader: FrameReader
  /** `loggedIn` ends with a `disconnected` signal; `up` began with a `connected` one. */
  stage: 'connecting' | 'loggedIn' | 'up'
  /** A snapshot is being translated, in several turns: no event may be translated in between. */
  isTranslating: boolean
}

/** The objects of a frame that waits: the places of its headers, the view of its bytes, its entry. */
const ENTRY_BYTES = 1_024

/** Connects to a PBX and follows it until the connection is over. */
function startSession<Frame>(dialect: Dialect<Frame>, options: SessionOptions<Frame>): PbxSession {
  const { name: pbx, timeouts, intake, endpoints, stateFeed, log, isAnyMissing, isAnySilent, counts, nowUs } = options
  const ending = createEnding()
  const socket = openSocket(dialect.address, timeouts.connectMs)
  const protocol = dialect.open({
    write: socket.write,
    lost: (reason) => ending.end('lost', reason),
    isBehind: () => reader.isBehind(),
  })
  const inbox = createInbox<InboxEntry<Frame>>({
    isSheddable: (entry) => 'frame' in entry && protocol.isSheddable(entry.frame),
    intake,
    entryBytes: ENTRY_BYTES,
  })
  const snapshot = () =>
    protocol.requestSnapshot(inbox).catch((error) => {
      endByFault(options, ending, error)
      return false
    })
  const resync = createResync({ snapshot, isAnyMissing, isAnySilent, timeouts })
  const inventory = createInventoryRefresh({ pbx, request: protocol.requestInventory, endpoints, log, timeouts })
  const states = createStateRefresh({ pbx, request: protocol.requestStates, feed: stateFeed, log, nowUs, timeouts })
  const shared = { socket, protocol, inbox, resync, inventory, states, ending }
  const failed = (error: unknown) => endByFault(options, ending, error)
  const reader = createFrameReader({ ...shared, name: pbx, counts, stateFeed, log, nowUs, failed })
  /** Ends the connection once all that has arrived is processed. */
  const endAfterReading = (kind: SessionEnd['kind'], reason: string): void =>
    void reader.idle().then(() => ending.end(kind, reason))
  void socket.closed.then((reason) => endAfterReading('lost', reason))
  return {
    ended: run({ ...shared, options, reader, stage: 'connecting', isTranslating: false }),
    resync: () => void resync.request(),
    isBehind: () => isBehind(shared.inbox, reader),
    stop(reason) {
      reader.stop()
      endAfterReading('stopped', reason)
    },
  }
}

const isBehind = (inbox: Pick<Inbox<unknown>, 'size'>, reader: FrameReader): boolean =>
  reader.isBehind() || inbox.size() > 0

async function run<Frame>(connection: Connection<Frame>): Promise<SessionEnd> {
  const { protocol, inbox, ending, options, reader } = connection
  void ending.ended.then(({ kind }) => close(connection, kind))
  const releaseTimer = createReleaseTimer({
    isBehind: () => isBehind(inbox, reader),
    release: () => releaseKept(connection, options.nowUs()),
    nowMs: () => performance.now(),
  })
  const releasing = setInterval(releaseTimer, RELEASE_MS)
  const liveness = watchLiveness({
    idleMs: protocol.idleMs,
    silentMs: () => (connection.stage === 'up' ? reader.silentMs() : 0),
    probe: protocol.probe,
    dead: () => ending.end('lost', protocol.silence),
  })
  inbox.pause()
  await converse(connection).catch((error) => endByFault(options, ending, error))
  const { kind, reason } = await ending.ended
  clearInterval(releasing)
  liveness.stop()
  try {
    await leave(connection)
  } catch (error) {
    endByFault(options, ending, error)
  }
  return { kind: kind === 'lost' && reader.isShuttingDown() ? 'shutdown' : kind, reason }
}

/** Ends a connection after an internal error: the next one begins with a fresh state. */
function endByFault({ name: pbx, log }: Pick<SessionOptions<never>, 'name' | 'log'>, ending: Ending, error: unknown) {
  log.error(
    { pbx, err: error },
    'an error of Hookswitch ends the connection to the PBX; it will reconnect; please report it',
  )
  ending.end('lost', 'an error of Hookswitch')
}

/**
 * Talks to the PBX until the connection is over: log in, identify the run, take a snapshot, then process events.
 *
 * - The socket is always read. Its bytes are decoded in slices, between which others have their turns.
 * - The inbox is paused during the first snapshot: events wait, and are processed after it.
 * - A session that was logged in feeds `connected` once, then `disconnected` once, and nothing after that.
 */
async function converse<Frame>(connection: Connection<Frame>): Promise<void> {
  const { options, socket, reader, protocol, inbox, resync, ending } = connection
  if (!(await socket.opened)) return
  reader.start()
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
      `the PBX does not list its channels, so calls that are already live are not seen: ${protocol.snapshotRight}`,
    )
  await firstInventory(connection)

  if (!ending.isOver()) connection.states.begin()
  inbox.resume()
  for (let entries = await inbox.next(); entries.length > 0; entries = await inbox.next())
    await handleInTurns(connection, entries)
}

/**
 * Waits once for the first inventory: if the PBX does not give it, no later connection or process waits again.
 * Otherwise the inventory is requested later, since a connection that keeps breaking must not cost a list each time.
 */
async function firstInventory<Frame>({ options, inventory, ending }: Connection<Frame>): Promise<void> {
  const { endpoints, timeouts } = options
  if (endpoints.isConfigured()) {
    inventory.schedule()
    return
  }
  const read = inventory.refresh()
  if (endpoints.isUnanswered()) return
  await Promise.race([read, Bun.sleep(timeouts.inventoryMs)])
  if (!endpoints.isConfigured() && !ending.isOver()) endpoints.noteUnanswered()
}

/**
 * Feeds the signals of inbox entries. A long snapshot takes many turns of the event loop; what comes meanwhile stays in
 * the inbox, which is bounded.
 */
async function handleInTurns<Frame>(
  connection: Connection<Frame>,
  entries: readonly InboxEntry<Frame>[],
): Promise<void> {
  const { translator, feed, caughtUp } = connection.options
  const { ending } = connection
  let from = 0
  for (const [at, entry] of entries.entries()) {
    if (!hasRows(entry) || translator.snapshotInSteps === undefined) continue
    handle(connection, entries.slice(from, at))
    from = at + 1
    connection.isTranslating = true
    try {
      feed(await runInSlices(translator.snapshotInSteps(entry.rows, entry.arrivedUs, entry.about)))
    } catch (error) {
      failed(connection, error, 'a snapshot')
    }
    connection.isTranslating = false
  }
  handle(connection, entries.slice(from))
  const behind = caughtUp?.()
  if (behind !== undefined) await Promise.race([behind, ending.ended])
}

function hasRows<Frame>(entry: InboxEntry<Frame>): entry is SnapshotEntry<Frame> & { readonly rows: readonly Frame[] } {
  return !('frame' in entry) && entry.rows !== undefined && entry.rows.length > 0
}

/** Feeds the signals of inbox entries. An entry that fails is skipped, and a snapshot is requested instead. */
function handle<Frame>(connection: Connection<Frame>, entries: readonly InboxEntry<Frame>[]): void {
  const { translator, feed } = connection.options
  const signals = translate(entries, translator, (error, entry) =>
    failed(connection, error, 'frame' in entry ? 'an event' : 'a snapshot'),
  )
  if (signals.length > 0) feed(signals)
}

/** Feeds signals that the translator has delayed, so that they need not wait for the next event. */
function releaseKept<Frame>(connection: Connection<Frame>, untilUs: number): void {
  if (connection.isTranslating) return
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
  // Logged once per resync: a caller must not be able to fill the log.
  if (resync.request())
    options.log.error(
      { pbx: options.name, what, err: error },
      'an error of Hookswitch: data of the PBX is skipped; requesting its channels; please report it',
    )
}

function announce<Frame>(connection: Connection<Frame>, pbxRun: PbxRun | null): void {
  const { feed, isFirst, nowUs, onUp } = connection.options
  connection.stage = 'up'
  const atUs = nowUs()
  feed([{ kind: 'connected', first: isFirst, boot: pbxRun?.id ?? null, atUs, arrivedUs: atUs }])
  onUp(pbxRun)
}

/** Ends everything that belongs to a connection. */
function close<Frame>(
  { resync, inventory, states, protocol, socket, inbox }: Connection<Frame>,
  kind: SessionEnd['kind'],
): void {
  resync.stop()
  inventory.stop()
  states.stop()
  protocol.close(kind)
  socket.close()
  inbox.stop()
}

/** Feeds the remaining signals, and that the PBX is disconnected. */
async function leave<Frame>(connection: Connection<Frame>): Promise<void> {
  const { options, inbox } = connection
  const rest = inbox.drain()
  if (connection.stage === 'connecting') return
  if (connection.stage === 'loggedIn') announce(connection, null)
  for (let from = 0; from < rest.length; from += SLICE) {
    if (from > 0) await nextPbxTurn()
    await handleInTurns(connection, rest.slice(from, from + SLICE))
  }
  releaseKept(connection, Number.POSITIVE_INFINITY)
  const atUs = options.nowUs()
  options.feed([{ kind: 'disconnected', atUs, arrivedUs: atUs }])
}
