import type { Custom } from '../../events/bodies.ts'

// What a dialplan says by events of its own: their limits are the same for each kind of PBX.

const MAX_FIELDS = 50
const MAX_BYTES = 4_096

/** Returns a custom event of these fields in their order; of a field that comes twice the last one counts. */
export function customOf(name: string, fields: Iterable<readonly [key: string, value: string]>): Custom {
  const kept = new Map<string, string>()
  for (const [key, value] of fields)
    if (key !== '' && (kept.has(key) || kept.size < MAX_FIELDS)) kept.set(key, cutToBytes(value))
  return { name, fields: Object.fromEntries(kept) }
}

/** Cuts a text at the edge of a character. */
function cutToBytes(text: string): string {
  if (Buffer.byteLength(text) <= MAX_BYTES) return text
  const bytes = Buffer.from(text)
  let end = MAX_BYTES
  // Bytes that go on with a character begin with the bits 10.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}
