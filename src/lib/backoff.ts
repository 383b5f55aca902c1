/** Returns the pause after some failures in a row: `first`, then twice as long each time, up to `max`. */
export const backoff = (failures: number, first: number, max: number): number =>
  Math.min(max, first * 2 ** (failures - 1))
