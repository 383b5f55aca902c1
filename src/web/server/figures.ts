import { type NowUs, SECOND } from '../../lib/time.ts'
import type { StatisticsStore } from '../../store/operations/statistics.ts'
import type { Minute, WebhookMinute } from '../model.ts'
import { createFreshReader } from './fresh-reader.ts'
import { createLastHour, type LastHour, MINUTES, type WebhookKey } from './last-hour.ts'

/** The figures of the last hour, as the page asks for them. */
export type Figures = {
  /** Returns the hour of an account, the oldest minute first. */
  ofAccount(accountId: number): Promise<Minute[]>
  /** Returns the hour of one webhook, in the same way. */
  ofWebhook(webhook: WebhookKey): Promise<WebhookMinute[]>
}

const FRESH_MS = 250
/** An account that no page shows is forgotten after this time. */
const FORGET_AFTER_MS = 600_000

/** Creates the figures of a node that counts all itself. */
export const ownFigures = (lastHour: LastHour, nowUs: NowUs): Figures => ({
  ofAccount: async (accountId) => lastHour.ofAccount(accountId, nowUs()),
  ofWebhook: async (webhook) => lastHour.ofWebhook(webhook, nowUs()),
})

/**
 * Creates the figures of several nodes, which each save their own counts: the whole hour is read once, then only the
 * minutes that may have changed.
 */
export function figuresOfNodes(statistics: Pick<StatisticsStore, 'minuteGetOfAccount'>, nowUs: NowUs): Figures {
  const hours = new Map<number, { readonly lastHour: LastHour; toMinute: number; usedMs: number }>()

  const hourOf = createFreshReader(FRESH_MS, async (accountId: number): Promise<LastHour> => {
    const usedMs = performance.now()
    for (const [id, hour] of hours) if (usedMs - hour.usedMs > FORGET_AFTER_MS) hours.delete(id)
    const minute = Math.floor(nowUs() / (60 * SECOND))
    const known = hours.get(accountId) ?? { lastHour: createLastHour(), toMinute: 0, usedMs }
    // The end of a minute is saved in the next one.
    const first = Math.max(minute - MINUTES + 1, known.toMinute - 1)
    const minutes = Array.from({ length: minute - first + 1 }, (_, at) => first + at)
    const figures = Map.groupBy(await statistics.minuteGetOfAccount({ accountId, minutes }), (one) => one.minute)
    for (const one of minutes) known.lastHour.replaceMinute(accountId, one, figures.get(one) ?? [])
    hours.set(accountId, { ...known, toMinute: minute, usedMs })
    return known.lastHour
  })
  return {
    ofAccount: async (accountId) => (await hourOf(accountId)).ofAccount(accountId, nowUs()),
    ofWebhook: async (webhook) => (await hourOf(webhook.accountId)).ofWebhook(webhook, nowUs()),
  }
}
