import type { Log } from '../../lib/log.ts'
import { nextTurn } from '../../lib/slices.ts'
import { type NowUs, SECOND } from '../../lib/time.ts'
import type { StatisticsStore } from '../../store/operations/statistics.ts'
import { type LastHour, MINUTES, QUARTER_MINUTES } from './last-hour.ts'

/** A week, and the quarter in which it begins. */
const QUARTERS_KEPT = 7 * 24 * 4 + 1

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
  let notedQuarter = 0
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
      await saveQuarters(new Set(figures.map(({ accountId }) => accountId)))
    } catch {
      // The store cannot be written, which is reported where it matters more.
      undo()
    }
  }
  /** Saves the present quarter of an hour, and the one before: its last minutes may not be saved yet. */
  async function saveQuarters(changed: ReadonlySet<number>): Promise<void> {
    const now = Math.floor(minuteNow() / QUARTER_MINUTES)
    const figures = [now - 1, now].flatMap((quarter) =>
      lastHour.quarter(quarter).filter(({ accountId }) => changed.has(accountId)),
    )
    await statistics.quarterSave({ figures, beforeQuarter: now - QUARTERS_KEPT })
  }
  /** Notes that the service runs in this quarter of an hour, so that a quiet time differs from one without it. */
  async function notePresence(): Promise<void> {
    const quarter = Math.floor(minuteNow() / QUARTER_MINUTES)
    if (quarter === notedQuarter) return
    const nothing = { events: 0, delivered: 0, failedAttempts: 0, failedProbes: 0, latencies: [] }
    await statistics.quarterSave({
      figures: [{ accountId: 0, quarter, ...nothing }],
      beforeQuarter: quarter - QUARTERS_KEPT,
    })
    notedQuarter = quarter
  }
  const saveAlone = () => {
    saving ??= notePresence()
      .catch(() => undefined)
      .then(save)
      .finally(() => {
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
