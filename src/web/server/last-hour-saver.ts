import type { Log } from '../../lib/log.ts'
import { nextTurn } from '../../lib/slices.ts'
import { type NowUs, SECOND } from '../../lib/time.ts'
import type { StatisticsStore } from '../../store/operations/statistics.ts'
import { type LastHour, MINUTES } from './last-hour.ts'

/** A process that is killed loses the figures of this time at most. */
const SAVE_EVERY_MS = 10_000

/** Other nodes show a change within a second. */
const SAVE_SHARED_EVERY_MS = 500

type SaverOptions = {
  readonly statistics: StatisticsStore
  readonly lastHour: LastHour
  /** Whether other nodes show the figures too. */
  readonly isShared?: boolean
  readonly log: Log
  readonly everyMs?: number
  readonly nowUs: NowUs
}

/**
 * Loads the figures that the process before saved, and then saves them at regular intervals and at the end, so that the
 * page's figures survive a restart. A failed save is repeated the next time.
 */
export function startLastHourSaver(options: SaverOptions): { readonly loaded: Promise<void>; stop(): Promise<void> } {
  const { statistics, lastHour, log, isShared = false, nowUs } = options
  const everyMs = options.everyMs ?? (isShared ? SAVE_SHARED_EVERY_MS : SAVE_EVERY_MS)
  const minuteNow = () => Math.floor(nowUs() / (60 * SECOND))
  let saving: Promise<void> | undefined

  /** One minute in each turn of the event loop: an hour of a thousand webhooks would hold up the start. */
  async function load(): Promise<void> {
    const last = minuteNow()
    for (let minute = last; minute > last - MINUTES; minute -= 1) {
      for (const figures of await statistics.minuteGet(minute)) lastHour.addSaved(figures)
      await nextTurn()
    }
  }
  async function save(): Promise<void> {
    lastHour.forgetBefore(nowUs())
    const { figures, undo } = lastHour.takeChanged()
    if (figures.length === 0) return
    try {
      await statistics.minuteSave({ figures, beforeMinute: minuteNow() - MINUTES })
    } catch {
      // The store cannot be written, which is reported where it matters more.
      undo()
    }
  }
  const saveAlone = () => {
    saving ??= save().finally(() => {
      saving = undefined
    })
    return saving
  }
  const loaded = load().catch((error) =>
    log.warn({ err: error }, 'cannot read the figures of the last hour: the page starts without them'),
  )
  // A minute that is saved before all was loaded would overwrite its saved figures.
  const timer = setInterval(() => void loaded.then(saveAlone), everyMs)
  return {
    loaded,
    async stop() {
      clearInterval(timer)
      await loaded
      await saving
      await save()
    },
  }
}
