import type { Log } from '../../lib/log.ts'
import { isLoopbackHost } from '../../lib/loopback-host.ts'
import { createPauses } from '../../lib/periodic.ts'
import { type NowUs, nowUs as systemNowUs } from '../../lib/time.ts'
import type { PbxCounts } from '../connection/frame-reader.ts'
import type { Intake } from '../connection/inbox.ts'
import type { PbxRun, SessionEnd, StateFeed } from '../connection/protocol.ts'
import type { Feed, PbxSession, StartSession } from '../connection/session.ts'
import { TIMEOUTS, type Timeouts } from '../connection/timeouts.ts'
import { KINDS } from '../kinds.ts'
import { PBX_FACTS, type PbxKind } from '../source/pbx-facts.ts'
import { type PbxSource, pbxKindOf } from '../source/pbx-url.ts'
import type { EndpointMemory } from './endpoint-memory.ts'
import type { PBX_STATES } from './model.ts'
import { createReconnectPace, PACE, type PaceLimits } from './reconnect-pace.ts'

export type SupervisorStatus = Readonly<PbxCounts> & {
  readonly name: string
  /** The account of its calls; on a PBX with several accounts, of calls that show no customer. */
  readonly account: string | null
  readonly kind: PbxKind
  /** `refused`: it answers, but refuses the login (password, access list). */
  readonly state: (typeof PBX_STATES)[number]
  readonly sinceUs: number
  readonly lastError: string | null
  /** Over the last seconds. */
  readonly eventsPerSecond: number
}

type SupervisorOptions = {
  readonly source: PbxSource
  /** Default: the function of the PBX's kind. */
  readonly startSession?: StartSession
  readonly memory: Pick<EndpointMemory, 'endpoints' | 'lastRun' | 'setRun'>
  readonly feed: Feed
  readonly stateFeed: StateFeed
  /** Counts the entries of all inboxes; shared by all PBXs. */
  readonly intake?: Intake
  /** Returns whether the last snapshot lacked a channel that was up: further ones are requested until that is clear. */
  readonly isAnyMissing?: () => boolean
  /** Returns whether nothing was heard of a live call for an hour: it is looked for in the list. */
  readonly isAnySilent?: () => boolean
  /** Returns whether as many calls are open as are followed. */
  readonly isFull: () => boolean
  /** Resolves when the tracker has applied all signals; `undefined` if it has. */
  readonly caughtUp?: () => Promise<void> | undefined
  /** `false` if this process was connected to the PBX before. */
  readonly isFirst?: boolean
  readonly log: Log
  readonly nowUs?: NowUs
  readonly random?: () => number
  readonly timeouts?: Partial<Timeouts & PaceLimits>
}

export type Supervisor = {
  status(): SupervisorStatus
  /** Ends the connection and opens a new one, with a new snapshot, since something was missed. */
  reconnect(): void
  /** Requests a snapshot. */
  resync(): void
  /** Returns whether bytes or events of the PBX wait to be processed. */
  isBehind(): boolean
  /** Counts a signal that was skipped because the tracker failed at it, and requests a snapshot. */
  fault(): void
  stop(): Promise<void>
}

/** Keeps one PBX connected: connecting → up → down → connecting … (see reconnect-pace.ts for the waits). */
export function startSupervisor(options: SupervisorOptions): Supervisor {
  const { source, memory, log, nowUs = systemNowUs } = options
  const timeouts = { ...TIMEOUTS, ...PACE, ...options.timeouts }
  const counts: PbxCounts = { events: 0, taints: 0, overruns: 0, longLines: 0, faults: 0 }
  const rate = startRate(() => counts.events)
  const pauses = createPauses()
  const pace = createReconnectPace(timeouts, options.random ?? Math.random)
  let state: SupervisorStatus['state'] = 'connecting'
  let sinceUs = nowUs()
  let lastError: string | null = null
  let isFirst = options.isFirst ?? true
  let isStopped = false
  let session: PbxSession | undefined

  const enter = (next: SupervisorStatus['state']): void => {
    if (next !== state) sinceUs = nowUs()
    state = next
  }
  const onUp = (run: PbxRun | null): void => {
    log.info({ pbx: source.name, first: isFirst, run: run?.id }, 'connected to the PBX')
    isFirst = false
    if (run !== null) memory.setRun(run)
    lastError = null
    enter('up')
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      const openedMs = performance.now()
      const connectMs = pace.connectMs(timeouts.connectMs, openedMs)
      session = openSession(options, { timeouts: { ...timeouts, connectMs }, counts, nowUs, isFirst, onUp })
      const end = await session.ended
      if (isStopped) return
      const endedMs = performance.now()
      const waitMs = pace.waitMs(end.kind, state === 'up' ? endedMs - openedMs : 0, endedMs)
      lastError = end.reason
      enter(end.kind === 'refused' ? 'refused' : 'down')
      logEnd(options, end, waitMs)
      await pauses.wait(waitMs)
    }
  }
  warnOfDefaultSecret(source, log)
  const running = run()

  return {
    status: () => ({
      name: source.name,
      account: source.account,
      kind: pbxKindOf(source),
      state,
      sinceUs,
      lastError,
      eventsPerSecond: rate.perSecond(),
      ...counts,
    }),
    reconnect: () => session?.stop('events were missed; reconnecting'),
    resync: () => session?.resync(),
    isBehind: () => session?.isBehind() === true,
    fault() {
      counts.faults += 1
      session?.resync()
    },
    async stop() {
      isStopped = true
      pauses.end()
      session?.stop('stopped')
      rate.stop()
      await running
    },
  }
}

function warnOfDefaultSecret(source: PbxSource, log: Log): void {
  const { title, ...facts } = PBX_FACTS[pbxKindOf(source)]
  const isDefault = 'defaultSecret' in facts && source.secret === facts.defaultSecret
  if (isDefault && !isLoopbackHost(source.host))
    log.warn({ pbx: source.name }, `${title} has its default password, which everybody knows: change it`)
}

type ForSession = {
  readonly timeouts: Timeouts
  readonly counts: PbxCounts
  readonly nowUs: NowUs
  readonly isFirst: boolean
  readonly onUp: (run: PbxRun | null) => void
}

function openSession(options: SupervisorOptions, forSession: ForSession): PbxSession {
  const { source, memory, feed, stateFeed, isAnyMissing, isAnySilent, isFull, caughtUp, log } = options
  const { intake = { waiting: 0 }, startSession = KINDS[pbxKindOf(source)].startSession } = options
  return startSession(source, {
    ...forSession,
    name: source.name,
    endpoints: memory.endpoints,
    lastRun: memory.lastRun(),
    feed,
    stateFeed,
    isAnyMissing,
    isAnySilent,
    isFull,
    caughtUp,
    intake,
    log,
  })
}

function logEnd({ source, log }: SupervisorOptions, { kind, reason }: SessionEnd, waitMs: number): void {
  const facts = { pbx: source.name, reason, retryInSeconds: Math.ceil(waitMs / 1_000) }
  if (kind === 'refused')
    log.error(facts, 'the PBX refuses the connection: check the PBX URL and the permissions of its user')
  else log.warn(facts, 'the PBX is not connected; will retry')
}

const RATE_SECONDS = 5

function startRate(count: () => number): { perSecond(): number; stop(): void } {
  let before = count()
  let perSecond = 0
  const timer = setInterval(() => {
    perSecond = (count() - before) / RATE_SECONDS
    before = count()
  }, RATE_SECONDS * 1_000)
  timer.unref()
  return { perSecond: () => perSecond, stop: () => clearInterval(timer) }
}
