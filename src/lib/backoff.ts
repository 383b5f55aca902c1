/** Returns the pause after some failures in a row: `first` after one, twice as long after each further one, up to `max`. */
export const backoff = (failures: number, first: number, max: number): number =>
  Math.min(max, first * 2 ** (failures - 1))
