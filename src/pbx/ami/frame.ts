/** One AMI frame: header lines up to an empty line. Keys ignore case; values are decoded only when they are read. */
export type AmiFrame = {
  /** The byte offset of the frame in the stream of its connection. */
  readonly offset: number
  /** A caller may have written into it, so it must not be trusted (see the decoder). */
  readonly tainted: boolean
  readonly type: 'event' | 'response' | 'other'
  /** The event's name, or the response's status (`Success`, `Error`, …). */
  readonly name: string
  /** Returns the first value of a key, `''` if it is absent. `<unknown>` is returned as it is. */
  get(key: string): string
  has(key: string): boolean
  /** Returns every value of a key that may be repeated (`ChanVariable`, `Variable`, `Output`). */
  all(key: string): readonly string[]
  /** Returns all headers in their order, as they were sent. */
  headers(): readonly (readonly [key: string, value: string])[]
  /** Returns whether `after` follows the header `key` (`null`: no header follows), or `key` is absent. */
  isNext(key: string, after: string | null): boolean
}

const COLON = 0x3a

/** A header's place in the frame's table: key hash, key start, value start, value end. */
export const SLOTS = 4

/**
 * Returns a copy of the headers in a table, and their table: a frame that lacks most of its bytes must not keep them.
 */
export function copyHeaders(bytes: Buffer, table: Int32Array): { readonly bytes: Buffer; readonly table: Int32Array } {
  const copied = table.slice()
  const kept: Buffer[] = []
  let length = 0
  for (let row = 0; row < table.length; row += SLOTS) {
    const [start = 0, end = 0] = [table[row + 1], table[row + 3]]
    for (const slot of [row + 1, row + 2, row + 3]) copied[slot] = (table[slot] ?? 0) - start + length
    kept.push(bytes.subarray(start, end))
    length += end - start
  }
  return { bytes: Buffer.concat(kept, length), table: copied }
}

/** Returns the hash of a key, ignoring case; `end` is the offset of the colon. */
export function hashKey(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0
  for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + ((bytes[at] ?? 0) | 0x20)) | 0
  return hash
}

type Key = { readonly bytes: Uint8Array; readonly hash: number; readonly escaped: boolean; readonly text: string }
const keys = new Map<string, Key>()
/** Keys come from Hookswitch's own code, so there are few; the limit is for a caller that passes on foreign ones. */
const MAX_KEYS = 1_000

function keyOf(text: string): Key {
  const known = keys.get(text)
  if (known !== undefined) return known
  const bytes = Buffer.from(text.toLowerCase(), 'latin1')
  const escaped = /(calleridname|connectedlinename|chanvariable)$/i.test(text)
  const key = { bytes, hash: hashKey(bytes, 0, bytes.length), escaped, text: text.toLowerCase() }
  if (keys.size < MAX_KEYS) keys.set(text, key)
  return key
}

function sameKey(bytes: Uint8Array, start: number, key: Uint8Array): boolean {
  for (let at = 0; at < key.length; at++)
    if (((bytes[start + at] ?? 0) | 0x20) !== ((key[at] ?? 0) | 0x20)) return false
  return true
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '?': '?',
}

/** Reverses `ast_escape_c`, which Asterisk applies once to names and variables (not to numbers and extensions). */
function unescapeC(value: string): string {
  return value.includes('\\')
    ? value.replace(/\\([abfnrtv\\'"?])/g, (whole, letter: string) => ESCAPES[letter] ?? whole)
    : value
}

/** A frame over its bytes. The table has the headers in order, `SLOTS` numbers each. */
export class AmiHeaders implements AmiFrame {
  readonly offset: number
  readonly type: AmiFrame['type']
  readonly name: string
  tainted: boolean
  readonly #bytes: Buffer
  readonly #table: Int32Array

  constructor(
    offset: number,
    type: AmiFrame['type'],
    name: string,
    tainted: boolean,
    bytes: Buffer,
    table: Int32Array,
  ) {
    this.offset = offset
    this.type = type
    this.name = name
    this.tainted = tainted
    this.#bytes = bytes
    this.#table = table
  }

  #find(key: Key, from: number): number {
    const table = this.#table
    for (let row = from; row < table.length; row += SLOTS) if (table[row] === key.hash && this.#is(row, key)) return row
    return -1
  }

  #is(row: number, key: Key): boolean {
    const start = this.#table[row + 1] ?? 0
    return this.#bytes[start + key.bytes.length] === 0x3a && sameKey(this.#bytes, start, key.bytes)
  }

  #value(row: number, key: Key): string {
    // utf8Slice writes U+FFFD for invalid UTF-8: one wrong name must not cost the frame.
    const raw = this.#bytes.toString('utf8', this.#table[row + 2], this.#table[row + 3])
    return key.escaped || (key.text === 'value' && this.name === 'VarSet') ? unescapeC(raw) : raw
  }

  get(name: string): string {
    const key = keyOf(name)
    const row = this.#find(key, 0)
    return row < 0 ? '' : this.#value(row, key)
  }

  has(name: string): boolean {
    return this.#find(keyOf(name), 0) >= 0
  }

  all(name: string): readonly string[] {
    const key = keyOf(name)
    const values: string[] = []
    for (let row = this.#find(key, 0); row >= 0; row = this.#find(key, row + SLOTS)) values.push(this.#value(row, key))
    return values
  }

  headers(): readonly (readonly [key: string, value: string])[] {
    const found: [string, string][] = []
    for (let row = 0; row < this.#table.length; row += SLOTS) {
      const [start = 0, value = 0, end = 0] = this.#table.subarray(row + 1, row + SLOTS)
      const key = this.#bytes.toString('utf8', start, this.#bytes.indexOf(COLON, start))
      found.push([key, this.#bytes.toString('utf8', value, end)])
    }
    return found
  }

  /** Returns the number of headers; `hashAt` and `isKeyAt` read one by its index. */
  get count(): number {
    return this.#table.length / SLOTS
  }

  hashAt(place: number): number {
    return this.#table[place * SLOTS] ?? 0
  }

  isKeyAt(place: number, name: string): boolean {
    const key = keyOf(name)
    return this.#table[place * SLOTS] === key.hash && this.#is(place * SLOTS, key)
  }

  isNext(name: string, after: string | null): boolean {
    const row = this.#find(keyOf(name), 0)
    if (row < 0) return true
    const next = row + SLOTS
    if (after === null || next >= this.#table.length) return after === null && next >= this.#table.length
    const key = keyOf(after)
    return this.#table[next] === key.hash && this.#is(next, key)
  }
}
