import type { Log } from '../../lib/log.ts'
import type { NowUs } from '../../lib/time.ts'
import { createGrowingPause } from './growing-pause.ts'
import type { StateFeed } from './protocol.ts'

/**
 * Keeps the states of phones, trunks, agents and queues up to date with the lists of a PBX: after the login, after a
 * reload, when events may have been lost, and from time to time.
 */
export type StateRefresh = {
  /** Announces the connection, and requests the lists. */
  begin(): void
  /** Requests the lists again, soon. */
  schedule(): void
  stop(): void
}

type StateRefreshOptions = {
  readonly pbx: string
  /** Requests all lists, and feeds their signals. */
  readonly request: (feed: StateFeed) => Promise<void>
  readonly feed: StateFeed
  readonly log: Log
  readonly nowUs: NowUs
  readonly timeouts: {
    /** The delay from a reason to the next lists, and the least time between two requests. */
    readonly statesAgainMs: number
    /** The most time between two requests while reasons do not end. */
    readonly doubtMaxMs: number
    /** The most time between two requests. */
    readonly inventoryMaxMs: number
  }
}

/** Returns a refresh; it has requested nothing yet. */
export function createStateRefresh({ pbx, request, feed, log, nowUs, timeouts }: StateRefreshOptions): StateRefresh {
  let isStopped = false
  let hasBegun = false
  let isRequesting = false
  let isWanted = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const pause = createGrowingPause(timeouts.statesAgainMs, timeouts.doubtMaxMs)
  let pauseMs = timeouts.statesAgainMs
  let endedMs = Number.NEGATIVE_INFINITY

  const safely: StateFeed = (signals) => {
    if (!isStopped) feed(signals)
  }
  async function refresh(): Promise<void> {
    isRequesting = true
    isWanted = false
    try {
      await request(safely)
    } catch (error) {
      log.error(
        { pbx, err: error },
        'cannot read the phones, trunks and queues of the PBX: the last known states are kept',
      )
    }
    isRequesting = false
    endedMs = performance.now()
    if (isStopped) return
    feed([{ kind: 'listed', atUs: nowUs() }])
    plan(isWanted ? againMs() : timeouts.inventoryMaxMs)
  }
  /** Returns the delay of the next request, which is longer if its reason came right after the last one. */
  function againMs(): number {
    pauseMs = pause.next(isRequesting || performance.now() - endedMs <= pauseMs)
    return pauseMs
  }
  function plan(inMs: number): void {
    clearTimeout(timer)
    timer = setTimeout(() => void refresh(), inMs)
  }

  return {
    begin() {
      if (isStopped || hasBegun) return
      hasBegun = true
      feed([{ kind: 'connected', atUs: nowUs() }])
      void refresh()
    },
    schedule() {
      if (isStopped || !hasBegun || isWanted) return
      isWanted = true
      if (!isRequesting) plan(againMs())
    },
    stop() {
      clearTimeout(timer)
      if (hasBegun && !isStopped) feed([{ kind: 'disconnected', atUs: nowUs() }])
      isStopped = true
    },
  }
}
