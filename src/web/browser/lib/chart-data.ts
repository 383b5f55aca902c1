import type { WebhookMinute } from './resources.ts'

/** Returns the share of a minute's requests that succeeded, in percent; null if there were none. */
export function successRate({ delivered, failed_attempts, failed_probes }: WebhookMinute): number | null {
  const requests = delivered + failed_attempts + failed_probes
  return requests === 0 ? null : (100 * delivered) / requests
}

/** Returns the indexes of values between two missing ones: no line reaches them, so they are drawn as points. */
export function isolatedPoints(values: ArrayLike<number | null | undefined>): number[] {
  const has = (at: number) => values[at] != null
  return Array.from({ length: values.length }, (_, at) => at).filter((at) => has(at) && !has(at - 1) && !has(at + 1))
}
