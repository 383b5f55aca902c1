import { rfc3339, SECOND } from '../lib/time.ts'
import type { Minute } from './model.ts'

/**
 * Counts of the last hour, minute by minute, for each account. Pure. Bounded: 60 minutes and some hundred bytes each, for accounts
 * that had anything in that hour alone.
 */
export type Minutes = {
  events(accountId: number, count: number, atUs: number): void
  failed(accountId: number, atUs: number): void
  /** A delivery arrived, `latencyUs` after its event was stored. */
  delivered(accountId: number, latencyUs: number, atUs: number): void
  /** The hour up to `nowUs`, oldest minute first, quiet minutes included. */
  read(accountId: number, nowUs: number): Minute[]
}

const HOUR = 60
const MINUTE_US = 60 * SECOND

/** Latencies are counted in buckets whose bounds grow by a fifth: 1 ms to some 16 h, each told with its upper bound. */
const GROWTH = 1.2
const BUCKETS = 98

type Slot = { minute: number; events: number; failed: number; delivered: number; latencies: Uint32Array | undefined }

export function createMinutes(): Minutes {
  const accounts = new Map<number, Slot[]>()

  function slotAt(accountId: number, atUs: number): Slot {
    const minute = Math.floor(atUs / MINUTE_US)
    let slots = accounts.get(accountId)
    if (slots === undefined) {
      slots = Array.from({ length: HOUR }, () => emptySlot(-1))
      accounts.set(accountId, slots)
    }
    const place = minute % HOUR
    const held = slots[place]
    if (held?.minute === minute) return held
    const fresh = emptySlot(minute)
    slots[place] = fresh
    return fresh
  }

  return {
    events(accountId, count, atUs) {
      slotAt(accountId, atUs).events += count
    },
    failed(accountId, atUs) {
      slotAt(accountId, atUs).failed += 1
    },
    delivered(accountId, latencyUs, atUs) {
      const slot = slotAt(accountId, atUs)
      slot.delivered += 1
      slot.latencies ??= new Uint32Array(BUCKETS)
      const bucket = bucketOf(latencyUs / 1_000)
      slot.latencies[bucket] = (slot.latencies[bucket] ?? 0) + 1
    },
    read(accountId, nowUs) {
      const slots = accounts.get(accountId)
      const last = Math.floor(nowUs / MINUTE_US)
      return Array.from({ length: HOUR }, (_, index) => {
        const minute = last - HOUR + 1 + index
        const held = slots?.[minute % HOUR]
        return shown(held?.minute === minute ? held : emptySlot(minute))
      })
    },
  }
}

const emptySlot = (minute: number): Slot => ({ minute, events: 0, failed: 0, delivered: 0, latencies: undefined })

function shown(slot: Slot): Minute {
  return {
    at: rfc3339(slot.minute * MINUTE_US),
    events: slot.events,
    delivered: slot.delivered,
    failed_attempts: slot.failed,
    p50_ms: quantile(slot, 0.5),
    p99_ms: quantile(slot, 0.99),
  }
}

function bucketOf(ms: number): number {
  return ms <= 1 ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log(ms) / Math.log(GROWTH)))
}

function quantile({ latencies, delivered }: Slot, share: number): number | null {
  if (latencies === undefined) return null
  let left = Math.ceil(delivered * share)
  for (const [bucket, count] of latencies.entries()) {
    left -= count
    if (left <= 0) return Math.round(GROWTH ** bucket)
  }
  return Math.round(GROWTH ** BUCKETS)
}
