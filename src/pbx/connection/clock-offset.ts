import { SECOND } from '../../lib/time.ts'

/**
 * Converts time stamps of a PBX to this machine's clock: time stamp + offset, where the offset is the smallest arrival
 * − time stamp of the last five minutes (the fastest event is the best measure), and never later than the arrival.
 */
type ClockOffset = { at(stampUs: number | null, arrivedUs: number): number }

const WINDOW_US = 300_000_000
/** A clock that is further off is of no use, and no clock makes an invalid time stamp. */
const MAX_OFFSET_US = 86_400 * SECOND
/** The window moves in steps, so that at most a few minima are kept. */
const STEP_US = 30_000_000

/** Returns the offset of one PBX's clock; no time stamp is known yet. */
export function createClockOffset(): ClockOffset {
  const minima: { fromUs: number; offsetUs: number }[] = []
  return {
    at(stampUs, arrivedUs) {
      if (stampUs === null || !(Math.abs(arrivedUs - stampUs) <= MAX_OFFSET_US)) return arrivedUs
      const offsetUs = arrivedUs - Math.round(stampUs)
      const last = minima.at(-1)
      if (last === undefined || arrivedUs - last.fromUs >= STEP_US) minima.push({ fromUs: arrivedUs, offsetUs })
      else last.offsetUs = Math.min(last.offsetUs, offsetUs)
      while (minima.length > 1 && arrivedUs - (minima[0]?.fromUs ?? 0) > WINDOW_US) minima.shift()
      const smallest = minima.reduce((least, one) => Math.min(least, one.offsetUs), Number.POSITIVE_INFINITY)
      return Math.min(arrivedUs, Math.round(stampUs) + smallest)
    },
  }
}
