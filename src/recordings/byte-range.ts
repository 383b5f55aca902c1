/** A part of a file: from the first byte to before `end`. */
export type ByteRange = { readonly start: number; readonly end: number }

/**
 * Parses a `Range` header (RFC 9110, 14.2) for a file of `size` bytes. Returns the one range that it asks for; `whole`
 * without a header, for another unit, for several ranges, and where it is malformed, since such a header is ignored;
 * `unsatisfiable` where the range lies behind the end (416).
 */
export function parseRange(header: string | null, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  const match = /^\s*bytes\s*=(.*)$/is.exec(header ?? '')
  if (match === null) return 'whole'
  const given = (match[1] ?? '').split(',').map((part) => part.trim())
  const ranges = given.map((part) => rangeOf(part, size))
  const [only = 'malformed'] = ranges
  if (ranges.length > 1 || only === 'malformed') return 'whole'
  return only === 'behind the end' ? 'unsatisfiable' : only
}

function rangeOf(part: string, size: number): ByteRange | 'malformed' | 'behind the end' {
  const match = /^(\d*)-(\d*)$/.exec(part)
  const [, first = '', last = ''] = match ?? []
  if (match === null || (first === '' && last === '')) return 'malformed'
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'behind the end' : { start: size - length, end: size }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return 'malformed'
  if (start >= size) return 'behind the end'
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) }
}
