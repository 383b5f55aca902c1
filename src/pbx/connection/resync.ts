/**
 * Asks a PBX what is up, when there is reason to doubt what we know. Each time twice, since a call is closed only when two
 * lists lack it (events.md 9), and on while one that was up is missing: FreeSWITCH's list lags behind, so that a leg may be in the
 * first and not in the second. Not all the time, since a caller may be the reason.
 */
export type Resync = {
  /** The lists after a login. `true` when the first of them came whole. */
  first(): Promise<boolean>
  /** There is a reason: lists follow, soon. `false` if they were to follow anyway. */
  ask(): boolean
  stop(): void
}

type Options = {
  /** Asks once and hands on what is listed; `false` if there is no whole list. */
  readonly list: () => Promise<boolean>
  /** Whether something that was up was not in the last list. */
  readonly isAnyMissing?: (() => boolean) | undefined
  /** Between the two lists. */
  readonly relistMs: number
  /** At least this from one pair of lists to the next. */
  readonly resyncMs: number
}

const TRIES = 3

export function createResync({ list, isAnyMissing = () => false, relistMs, resyncMs }: Options): Resync {
  let stopped = false
  let wanted = false
  let busy = false
  let timer: ReturnType<typeof setTimeout> | undefined

  const later = (delayMs: number, run: () => void): void => {
    if (!stopped) timer = setTimeout(run, delayMs)
  }
  const settle = (): void => {
    later(resyncMs, () => {
      busy = false
      if (wanted || isAnyMissing()) start()
    })
  }
  const second = (tries: number): void =>
    later(relistMs, async () => {
      const whole = await list()
      if (whole || tries === 1) settle()
      else second(tries - 1)
    })
  const both = async (tries = TRIES): Promise<boolean> => {
    busy = true
    wanted = false
    const whole = await list()
    if (whole || tries === 1) second(TRIES)
    else later(relistMs, () => void both(tries - 1))
    return whole
  }
  const start = (): void => void both()

  return {
    first: () => both(),
    ask() {
      const isNew = !wanted && !stopped
      wanted = true
      if (!busy && !stopped) start()
      return isNew
    },
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}
