import type { Log } from '../../lib/log.ts'
import type { Endpoints, Inventory } from '../endpoints.ts'

/** What a PBX says is configured; `undefined`: it did not answer. `denied`: what its user may not ask for. */
export type Learned = { readonly inventory: Inventory | undefined; readonly denied: readonly string[] }

/** Asks a PBX what is configured: after the login, and when it says that this has changed. */
export type Learning = {
  /** Asks now. Resolves when what came is known; never rejects. */
  now(): Promise<void>
  /** Something has changed: asks once that is over, and not all the time. */
  soon(): void
  stop(): void
}

export type LearningOptions = {
  readonly pbx: string
  readonly ask: () => Promise<Learned>
  readonly endpoints: Endpoints
  readonly log: Log
  readonly patience: {
    /** A reload comes in many parts. */
    readonly reloadMs: number
    /** At least this from one time to the next. */
    readonly relearnMs: number
    /** It is asked again that long after the last time: `dialplan reload` says nothing. */
    readonly refreshMs: number
  }
}

export function createLearning({ pbx, ask, endpoints, log, patience }: LearningOptions): Learning {
  let stopped = false
  let askedMs = Number.NEGATIVE_INFINITY
  let timer: ReturnType<typeof setTimeout> | undefined
  let refresh: ReturnType<typeof setInterval> | undefined

  async function now(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    askedMs = performance.now()
    await learn()
    if (!stopped) refresh ??= setInterval(() => void now(), patience.refreshMs)
  }

  async function learn(): Promise<void> {
    try {
      const { inventory, denied } = await ask()
      if (stopped || inventory === undefined) return
      const count = Object.keys(inventory.endpoints).length
      // All was denied: what was known by another user, or of calls, is better than nothing.
      if (count > 0 || denied.length === 0) endpoints.configure(inventory)
      const trunks = endpoints.list().filter(({ kind }) => kind === 'trunk').length
      log.info({ pbx, endpoints: count, trunks, denied }, 'the PBX said which endpoints are configured')
    } catch (error) {
      log.error({ pbx, err: error }, 'what the PBX says of its endpoints could not be read: calls show which is which')
    }
  }

  return {
    now,
    soon() {
      if (stopped || timer !== undefined) return
      const waitedMs = performance.now() - askedMs
      timer = setTimeout(() => void now(), Math.max(patience.reloadMs, patience.relearnMs - waitedMs))
    },
    stop() {
      stopped = true
      clearTimeout(timer)
      clearInterval(refresh)
    },
  }
}
