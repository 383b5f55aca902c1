/** Where a value stands between two that are missing, so that no line leads to it. */
export function lone(values: ArrayLike<number | null | undefined>): number[] {
  const has = (at: number) => values[at] != null
  return Array.from({ length: values.length }, (_, at) => at).filter((at) => has(at) && !has(at - 1) && !has(at + 1))
}
