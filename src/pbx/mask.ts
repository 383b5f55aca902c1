import { createHmac } from 'node:crypto'

/**
 * Hides numbers and names of people in a recording, so that it can be shown to others: the same one becomes the same other, of the same length
 * in bytes (so that offsets and Content-Length stay right). Numbers that end alike go on to end alike, since PBXs add and strip
 * prefixes. Extensions of up to 5 digits and what is no person stay.
 *
 * Numbers and names are learned from the headers that hold them, and then hidden wherever they stand (channel names, dial
 * strings, file names). Texts are one character a byte (latin1).
 */
export type Mask = (frame: string) => string

const MIN_DIGITS = 6
const MAX_LEARNED = 5_000

/** `Key: value` lines and `"key":"value"` pairs. */
const FIELD = /(?:^|[\n{,])"?([A-Za-z][\w-]{1,60})"?(?:: |:")([^"\r\n]{2,})/g
const NUMBER_KEY =
  /(num|number|exten|extension|dnid|ani|rdnis|destination|dest|source|callerid|dialed_user|_user|from_user|to_user|req_user|dialstring|userfield)$/i
const NAME_KEY = /(calleridname|connectedlinename|caller-id-name|callee-id-name|_name|cid_name|from_display|display)$/i
const NO_NAME_KEY = /(channel|profile|gateway|file|codec|application|endpoint|host|switch|app|cluster|record)_?name$/i
const NOBODY = /^(<unknown>|unknown|anonymous|restricted|asterisk|outbound(%20| )call)$/i

export function createMask(key: string): Mask {
  const learned = new Map<string, string>()
  const learn = (raw: string, masked: string): void => {
    if (raw === masked || learned.has(raw)) return
    if (learned.size >= MAX_LEARNED) learned.delete(learned.keys().next().value ?? '')
    learned.set(raw, masked)
  }
  return (frame) => {
    for (const [, name = '', value = ''] of frame.matchAll(FIELD)) {
      if (NUMBER_KEY.test(name))
        for (const digits of value.match(/\d{6,}/g) ?? []) learn(digits, maskNumber(key, digits))
      else if (NAME_KEY.test(name) && !NO_NAME_KEY.test(name) && !NOBODY.test(value)) learn(value, maskName(key, value))
    }
    let masked = frame
    // The longest first: a number may be within another.
    for (const raw of [...learned.keys()].filter((raw) => frame.includes(raw)).sort((a, b) => b.length - a.length))
      masked = masked.replaceAll(raw, learned.get(raw) ?? raw)
    return masked
  }
}

const byteOf = (key: string, text: string): number => createHmac('sha256', key).update(text).digest()[0] ?? 0

/** Each digit is moved by what stands behind it. */
function maskNumber(key: string, digits: string): string {
  if (digits.length < MIN_DIGITS) return digits
  return [...digits].map((digit, at) => (Number(digit) + byteOf(key, digits.slice(at + 1))) % 10).join('')
}

/** Letters become letters; of what is not ASCII, raw or percent-encoded, each character one of as many bytes. */
function maskName(key: string, name: string): string {
  if (/^\+?\d{6,}$/.test(name)) return name.replace(/\d+/, (digits) => maskNumber(key, digits))
  let at = 0
  const letter = (first: number, count: number): string =>
    String.fromCharCode(first + (byteOf(key, `${name}|${at++}`) % count))
  return name.replace(/(?:%[89a-f][0-9a-f])+|[\x80-\xff]+|%[0-7][0-9a-f]|[a-z]|[A-Z]|\d/gi, (found) => {
    if (/^%[0-7]/.test(found)) return found
    if (found.startsWith('%')) return percent(sameWidth(Buffer.from(found.replaceAll('%', ''), 'hex')))
    if (found.length > 1 || found > '\x7f') return sameWidth(Buffer.from(found, 'latin1')).toString('latin1')
    if (/\d/.test(found)) return letter(0x30, 10)
    return letter(/[a-z]/.test(found) ? 0x61 : 0x41, 26)
  })
}

const percent = (bytes: Buffer): string =>
  [...bytes].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')

const WIDE: Readonly<Record<number, string>> = { 2: 'ж', 3: '名', 4: '😀' }

function sameWidth(bytes: Buffer): Buffer {
  const masked = [...bytes.toString('utf8')].map((character) => WIDE[Buffer.byteLength(character)] ?? character)
  const result = Buffer.from(masked.join(''))
  // What is no UTF-8 has no characters; it says nothing either.
  return result.length === bytes.length ? result : Buffer.alloc(bytes.length, 0x3f)
}
