/** Returns the same data, where a number was `null`; of channel variables, which are strings, the empty one. */
export function withoutNumber(value: unknown, number: string, within = ''): unknown {
  if (value === number) return within === 'variables' ? '' : null
  if (Array.isArray(value)) return value.map((item) => withoutNumber(item, number, within))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withoutNumber(item, number, key === 'variables' ? key : within)]),
  )
}
