/** Returns the indexes of values between two missing ones: no line reaches them, so they are drawn as points. */
export function isolatedPoints(values: ArrayLike<number | null | undefined>): number[] {
  const has = (at: number) => values[at] != null
  return Array.from({ length: values.length }, (_, at) => at).filter((at) => has(at) && !has(at - 1) && !has(at + 1))
}
