import type { Translator } from '../../calls/signal.ts'
import type { Log } from '../../lib/log.ts'
import { isLoopbackHost, type PbxSource } from '../../lib/pbx-url.ts'
import { type NowUs, nowUs as systemNowUs } from '../../lib/time.ts'
import type { AmiFrame } from '../ami/decoder.ts'
import { startAmiSession } from '../ami/session.ts'
import type { Memory } from '../endpoint-memory.ts'
import type { Endpoints } from '../endpoints.ts'
import type { EslFrame } from '../esl/decoder.ts'
import { startEslSession } from '../esl/session.ts'
import {
  type Feed,
  type Intake,
  PATIENCE,
  type Patience,
  type PbxCounts,
  type Run,
  type Session,
  type SessionEnd,
} from './timeouts.ts'

export type PbxStatus = Readonly<PbxCounts> & {
  readonly name: string
  readonly account: string
  readonly kind: 'asterisk' | 'freeswitch'
  /** `refused`: it answers, and will not have us (password, access list). */
  readonly state: 'connecting' | 'up' | 'down' | 'refused'
  readonly sinceUs: number
  readonly lastError: string | null
  /** Over the last seconds. */
  readonly eventsPerSecond: number
}

/** Who turns the frames of one PBX into signals. A new one for each connection: what it keeps is of one connection. */
export type Translators = {
  readonly ami: (source: PbxSource, endpoints: Endpoints) => Translator<AmiFrame>
  readonly esl: (source: PbxSource, endpoints: Endpoints) => Translator<EslFrame>
}

export type SupervisorOptions = {
  readonly source: PbxSource
  readonly translators: Translators
  readonly memory: Memory
  readonly feed: Feed
  /** Counts what waits to be handled; shared by all PBXs. */
  readonly intake?: Intake
  /** Whether something that was up is not in the last list: it is asked on until that is clear. */
  readonly isAnyMissing?: () => boolean
  /** False if this process was connected to the PBX before. */
  readonly isFirst?: boolean
  readonly log: Log
  readonly nowUs?: NowUs
  readonly random?: () => number
  readonly patience?: Partial<Patience & Backoff>
}

type Backoff = {
  readonly firstMs: number
  readonly maxMs: number
  /** A connection that held so long was a good one. */
  readonly stableMs: number
  /** After a refusal: often enough to notice a mended password, too seldom for fail2ban. */
  readonly refusedMs: number
}

const BACKOFF: Backoff = { firstMs: 1_000, maxMs: 30_000, stableMs: 60_000, refusedMs: 60_000 }

export type Supervisor = {
  status(): PbxStatus
  /** Something was missed: connects anew, and asks what is up. */
  reconnect(): void
  /** A signal was left out, since it made us fail: counts it, and asks what is up. */
  fault(): void
  stop(): Promise<void>
}

/**
 * Keeps one PBX connected, for ever: connecting → up → down → connecting …; a refusal is tried again after a minute and more.
 * Waits have full jitter, so that a hundred Hookswitches do not come back to a PBX at once.
 */
export function startSupervisor(options: SupervisorOptions): Supervisor {
  const {
    source,
    memory,
    feed,
    isAnyMissing,
    intake = { waiting: 0 },
    log,
    nowUs = systemNowUs,
    random = Math.random,
  } = options
  const patience = { ...PATIENCE, ...BACKOFF, ...options.patience }
  const counts: PbxCounts = { events: 0, taints: 0, overruns: 0, faults: 0 }
  const rate = startRate(() => counts.events)
  const stopping = Promise.withResolvers<void>()
  let state: PbxStatus['state'] = 'connecting'
  let sinceUs = nowUs()
  let lastError: string | null = null
  let first = options.isFirst ?? true
  let stopped = false
  let session: Session | undefined
  let failures = 0

  const enter = (next: PbxStatus['state']): void => {
    if (next !== state) sinceUs = nowUs()
    state = next
  }
  const up = (run: Run | null): void => {
    log.info({ pbx: source.name, first, run: run?.id }, 'the PBX is connected')
    first = false
    if (run !== null) memory.setRun(run)
    lastError = null
    enter('up')
  }
  const open = (): Session => {
    const { endpoints } = memory
    const lastRun = memory.lastRun()
    const shared = { endpoints, feed, isAnyMissing, counts, intake, log, nowUs, patience, first, lastRun, up }
    return source.protocol === 'esl'
      ? startEslSession(source, { ...shared, translator: options.translators.esl(source, endpoints) })
      : startAmiSession(source, { ...shared, translator: options.translators.ami(source, endpoints) })
  }
  const waitAfter = (end: SessionEnd, heldMs: number): number => {
    if (heldMs >= patience.stableMs) failures = 0
    failures += 1
    if (end.kind === 'refused') return patience.refusedMs * (1 + random())
    if (end.kind === 'shutdown') return patience.firstMs
    const mostMs = Math.min(patience.maxMs, patience.firstMs * 2 ** Math.min(failures, 20))
    return patience.firstMs + random() * (mostMs - patience.firstMs)
  }

  async function run(): Promise<void> {
    while (!stopped) {
      const openedMs = performance.now()
      session = open()
      const end = await session.ended
      if (stopped) return
      const waitMs = waitAfter(end, state === 'up' ? performance.now() - openedMs : 0)
      lastError = end.reason
      enter(end.kind === 'refused' ? 'refused' : 'down')
      const fact = { pbx: source.name, reason: end.reason, retryInSeconds: Math.ceil(waitMs / 1_000) }
      if (end.kind === 'refused') log.error(fact, 'the PBX refuses us: mend the PBX URL or the rights of its user')
      else log.warn(fact, 'the PBX is not connected')
      await Promise.race([Bun.sleep(waitMs), stopping.promise])
    }
  }
  if (source.protocol === 'esl' && source.secret === 'ClueCon' && !isLoopbackHost(source.host))
    log.warn({ pbx: source.name }, 'FreeSWITCH has its default password, which everybody knows: change it')
  const running = run()

  return {
    status: () => ({
      name: source.name,
      account: source.account,
      kind: source.protocol === 'esl' ? 'freeswitch' : 'asterisk',
      state,
      sinceUs,
      lastError,
      eventsPerSecond: rate.perSecond(),
      ...counts,
    }),
    reconnect: () => session?.stop(),
    fault() {
      counts.faults += 1
      session?.doubt()
    },
    async stop() {
      stopped = true
      stopping.resolve()
      session?.stop()
      rate.stop()
      await running
    },
  }
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
