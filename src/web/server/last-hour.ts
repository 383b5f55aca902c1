import { rfc3339, SECOND } from '../../lib/time.ts'
import type { MinuteFigures, QuarterFigures } from '../../store/operations/statistics.ts'
import type { Minute, WebhookMinute } from '../model.ts'

/**
 * The figures of the last hour, minute by minute: an account's events, and the deliveries, failed attempts and failed
 * probes of each of its webhooks. Pure. Bounded: 60 minutes for each active account, and a limited number of its
 * webhooks.
 */
export type LastHour = {
  addEvents(accountId: number, count: number, atUs: number): void
  /** A delivery arrived, `latencyUs` after its event was stored. */
  addDelivered(webhook: WebhookKey, latencyUs: number, atUs: number): void
  addFailedAttempt(webhook: WebhookKey, atUs: number): void
  addFailedProbe(webhook: WebhookKey, atUs: number): void
  /** Returns the hour of an account up to `nowUs`, the oldest minute first, quiet minutes included. */
  ofAccount(accountId: number, nowUs: number): Minute[]
  /** Returns the hour of one webhook, in the same way. */
  ofWebhook(webhook: WebhookKey, nowUs: number): WebhookMinute[]
  /** Adds the figures of a minute that were saved by the process before. */
  addSaved(figures: MinuteFigures): void
  /** Replaces all figures of one minute of an account. */
  replaceMinute(accountId: number, minute: number, figures: readonly MinuteFigures[]): void
  /**
   * Returns the figures that changed since this was called last; `undo` makes them changed again, if they could not be
   * saved.
   */
  takeChanged(): { readonly figures: readonly MinuteFigures[]; undo(): void }
  /** Returns the figures of a quarter of an hour that the last hour contains, of each account that has some. */
  quarter(quarter: number): QuarterFigures[]
  /** Deletes figures that are more than an hour old. */
  forgetBefore(nowUs: number): void
}

export type WebhookKey = { readonly accountId: number; readonly webhookId: number }

export const MINUTES = 60
const MINUTE_US = 60 * SECOND
const WHOLE_ACCOUNT = 0
/**
 * A list has 100 webhooks at most: more than this in an hour come from lists that were replaced, and are counted
 * together.
 */
const MAX_WEBHOOKS = 400

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }
type Slot = Mutable<Omit<MinuteFigures, 'latencies'>> & { readonly latencies: number[] }
type Hour = (Slot | undefined)[]

/** Creates an hour without figures. */
export function createLastHour(): LastHour {
  const accounts = new Map<number, Map<number, Hour>>()
  let changed = new Set<Slot>()

  function hourOf({ accountId, webhookId }: WebhookKey): Hour {
    const hours = accounts.get(accountId) ?? new Map<number, Hour>()
    accounts.set(accountId, hours)
    const hour = hours.get(webhookId) ?? []
    hours.set(webhookId, hour)
    return hour
  }

  function change({ accountId, webhookId }: WebhookKey, atUs: number): Slot {
    const minute = minuteOf(atUs)
    const hours = accounts.get(accountId)
    // Nearly always the minute has begun.
    const begun = hours?.get(webhookId)?.[minute % MINUTES]
    if (begun?.minute === minute) {
      changed.add(begun)
      return begun
    }
    const isCounted = hours === undefined || hours.has(webhookId) || hours.size < MAX_WEBHOOKS
    const key = { accountId, webhookId: isCounted ? webhookId : WHOLE_ACCOUNT }
    const hour = hourOf(key)
    const known = hour[minute % MINUTES]
    const slot = known?.minute === minute ? known : emptySlot(key, minute)
    hour[minute % MINUTES] = slot
    changed.add(slot)
    return slot
  }

  return {
    addEvents(accountId, count, atUs) {
      change({ accountId, webhookId: WHOLE_ACCOUNT }, atUs).events += count
    },
    addDelivered(webhook, latencyUs, atUs) {
      const slot = change(webhook, atUs)
      slot.delivered += 1
      addLatency(slot.latencies, bucketOf(latencyUs / 1_000), 1)
    },
    addFailedAttempt(webhook, atUs) {
      change(webhook, atUs).failedAttempts += 1
    },
    addFailedProbe(webhook, atUs) {
      change(webhook, atUs).failedProbes += 1
    },
    ofAccount: (accountId, nowUs) => accountMinutes(accountId, [...(accounts.get(accountId)?.values() ?? [])], nowUs),
    ofWebhook: (webhook, nowUs) =>
      webhookMinutes(webhook, accounts.get(webhook.accountId)?.get(webhook.webhookId), nowUs),
    addSaved: (figures) => addSavedFigures(hourOf(figures), figures),
    replaceMinute(accountId, minute, figures) {
      const at = minute % MINUTES
      for (const hour of accounts.get(accountId)?.values() ?? []) if (hour[at]?.minute === minute) hour[at] = undefined
      for (const one of figures) addSavedFigures(hourOf(one), one)
    },
    takeChanged() {
      const taken = changed
      changed = new Set()
      const figures = [...taken].map((slot) => ({ ...slot, latencies: [...slot.latencies] }))
      const undo = () => {
        changed = changed.union(taken)
      }
      return { figures, undo }
    },
    quarter: (quarter) =>
      [...accounts].flatMap(([accountId, hours]) => {
        const sum = quarterOf(accountId, [...hours.values()], quarter)
        return sum.events + sum.delivered + sum.failedAttempts + sum.failedProbes === 0 ? [] : [sum]
      }),
    forgetBefore(nowUs) {
      const oldest = minuteOf(nowUs) - MINUTES + 1
      const isOld = (slot: Slot | undefined) => slot === undefined || slot.minute < oldest
      for (const slot of changed) if (isOld(slot)) changed.delete(slot)
      for (const [accountId, hours] of accounts) {
        for (const [id, hour] of hours) if (hour.every(isOld)) hours.delete(id)
        if (hours.size === 0) accounts.delete(accountId)
      }
    },
  }
}

function addSavedFigures(hour: Hour, figures: MinuteFigures): void {
  const known = hour[figures.minute % MINUTES]
  if (known === undefined || known.minute < figures.minute)
    hour[figures.minute % MINUTES] = { ...figures, latencies: [...figures.latencies] }
  else addFigures(known, figures)
}

/** Returns the minutes of an account: the sums over its webhooks. */
function accountMinutes(accountId: number, hours: readonly Hour[], nowUs: number): Minute[] {
  return lastMinutes(nowUs).map((minute) => {
    const sum = emptySlot({ accountId, webhookId: WHOLE_ACCOUNT }, minute)
    for (const hour of hours) addFigures(sum, hour[minute % MINUTES])
    return { ...minuteFigures(sum), events: sum.events }
  })
}

/** The minutes of a quarter of an hour. */
export const QUARTER_MINUTES = 15

/** Returns the sums of an account over the minutes of a quarter of an hour. */
function quarterOf(accountId: number, hours: readonly Hour[], quarter: number): QuarterFigures {
  const first = quarter * QUARTER_MINUTES
  const sum = emptySlot({ accountId, webhookId: WHOLE_ACCOUNT }, first)
  for (let minute = first; minute < first + QUARTER_MINUTES; minute += 1) {
    sum.minute = minute
    for (const hour of hours) addFigures(sum, hour[minute % MINUTES])
  }
  const { events, delivered, failedAttempts, failedProbes, latencies } = sum
  return { accountId, quarter, events, delivered, failedAttempts, failedProbes, latencies }
}

/** Adds the figures of several times, such as an hour. Returns the sum in the form of the page. */
export function sumOf(atUs: number, all: readonly Omit<QuarterFigures, 'accountId' | 'quarter'>[]): Minute {
  const sum = emptySlot({ accountId: 0, webhookId: WHOLE_ACCOUNT }, 0)
  for (const one of all) addFigures(sum, { ...one, accountId: 0, webhookId: WHOLE_ACCOUNT, minute: 0 })
  return { ...minuteFigures(sum), at: rfc3339(atUs), events: sum.events }
}

function webhookMinutes(webhook: WebhookKey, hour: Hour | undefined, nowUs: number): WebhookMinute[] {
  return lastMinutes(nowUs).map((minute) => {
    const sum = emptySlot(webhook, minute)
    addFigures(sum, hour?.[minute % MINUTES])
    return minuteFigures(sum)
  })
}

const minuteOf = (atUs: number) => Math.floor(atUs / MINUTE_US)

const lastMinutes = (nowUs: number) =>
  Array.from({ length: MINUTES }, (_, index) => minuteOf(nowUs) - MINUTES + 1 + index)

const emptySlot = ({ accountId, webhookId }: WebhookKey, minute: number): Slot => ({
  accountId,
  webhookId,
  minute,
  events: 0,
  delivered: 0,
  failedAttempts: 0,
  failedProbes: 0,
  latencies: [],
})

/** Adds the figures of the same minute; ignores figures of another minute. */
function addFigures(sum: Slot, other: MinuteFigures | undefined): void {
  if (other?.minute !== sum.minute) return
  sum.events += other.events
  sum.delivered += other.delivered
  sum.failedAttempts += other.failedAttempts
  sum.failedProbes += other.failedProbes
  for (let at = 0; at < other.latencies.length; at += 2)
    addLatency(sum.latencies, other.latencies[at] ?? 0, other.latencies[at + 1] ?? 0)
}

function minuteFigures(slot: Slot): WebhookMinute {
  return {
    at: rfc3339(slot.minute * MINUTE_US),
    delivered: slot.delivered,
    failed_attempts: slot.failedAttempts,
    failed_probes: slot.failedProbes,
    p50_ms: quantile(slot, 0.5),
    p99_ms: quantile(slot, 0.99),
  }
}

/**
 * Latencies are counted in buckets whose bounds grow by a fifth, from 1 ms to some 16 h; each is reported as its upper
 * bound.
 */
const GROWTH = 1.2
const BUCKETS = 98

function bucketOf(ms: number): number {
  return ms <= 1 ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log(ms) / Math.log(GROWTH)))
}

/** Few buckets are used in a minute, so pairs need less memory than a count for each bucket. */
function addLatency(latencies: number[], bucket: number, count: number): void {
  for (let at = 0; at < latencies.length; at += 2)
    if (latencies[at] === bucket) {
      latencies[at + 1] = (latencies[at + 1] ?? 0) + count
      return
    }
  latencies.push(bucket, count)
}

function quantile({ latencies }: Slot, share: number): number | null {
  const pairs = Array.from({ length: latencies.length / 2 }, (_, at) => ({
    bucket: latencies[2 * at] ?? 0,
    count: latencies[2 * at + 1] ?? 0,
  })).sort((one, other) => one.bucket - other.bucket)
  const total = pairs.reduce((sum, { count }) => sum + count, 0)
  let left = Math.ceil(total * share)
  for (const { bucket, count } of pairs) {
    left -= count
    if (left <= 0) return Math.round(GROWTH ** bucket)
  }
  return null
}
