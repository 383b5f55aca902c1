import { createHmac } from 'node:crypto'
import { createNameWords } from './name-words.ts'

/**
 * Replaces numbers and names of people in a recording, so that it can be shown to others. Equal ones get equal
 * replacements, of the same length in bytes (so that offsets and Content-Length stay right). Numbers with the same end
 * keep a common end, since PBXs add and strip prefixes. Extensions of up to 5 digits and names of other things stay.
 *
 * A name goes in every spelling that a PBX makes of it, and each of its words alone (see name-words.ts).
 *
 * Numbers and names are learned from the headers that hold them, and then hidden wherever they stand (channel names,
 * dial strings, file names). Texts are one character a byte (latin1).
 */
type Anonymizer = {
  (frame: string): string
  /** Hides what was learned after a masked text in it, as far as that has the same length. */
  again(masked: string): string
  isNamed(masked: string): boolean
}

const MAX_LEARNED = 5_000

/** `Key: value` lines and `"key":"value"` pairs. */
const FIELD = /(?:^|[\n{,])"?([A-Za-z][\w-]{1,60})"?(?:: |:")([^"\r\n]{2,})/g
const NUMBER_KEY =
  /(num|number|exten|extension|dnid|ani|rdnis|destination|dest|source|callerid|user|dialstring|userfield|data|value|channel|channel-name|channel_name)$/i
const NAME_KEY =
  /(calleridname|connectedlinename|membername|agentname|fullname|caller-id-name|callee-id-name|_name|cid_name|display)$/i
const NO_NAME_KEY = /(channel|profile|gateway|file|codec|application|endpoint|host|switch|app|cluster|record)_?name$/i
const NOBODY = /^(<unknown>|unknown|anonymous|restricted|asterisk|outbound(%20| )call)$/i

/**
 * Digits that stand alone: not within an id (`1795213779.804`, a UUID), but possibly after a percent-encoded character.
 */
const BEFORE = '(?:(?<=%[0-9A-Fa-f]{2})|(?<![0-9A-Fa-f.]))'
const AFTER = '(?![0-9A-Fa-f]|\\.[0-9]|-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-)'
const NUMBER = new RegExp(`${BEFORE}[0-9]{6,15}${AFTER}`, 'g')
/** A number as people write it: `+1 (555) 123-0001`. Without dots, which addresses and ids have. */
const WRITTEN_NUMBER = /(?<![\w.%-])\+?\(?\d[\d ()-]{5,}\d(?![\w.]|-\w)/g
const DATE = /^\d{4}-\d\d-\d\d/
const EMAIL = /[\w.+-]*[a-z][\w.+-]*(?:@|%40)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/gi
/** Keys of SIP addresses, which look like e-mail addresses. */
const NO_EMAIL_KEY = /(uri|url|contact|aor|channel|channel-name|presence|presence_id|realm|domain|host|address|via)$/i
/** `PJSIP/101`, the value for a queue member without a name. */
const INTERFACE = /^\w+\/\S+$/
/** Seconds since 1970, in our era: telephone numbers of this length do not begin like this. */
const isTime = (digits: string): boolean => /^1[6-9]\d{8}(\d{3}|\d{6})?$/.test(digits)

/** Returns an anonymizer; the same key always gives the same numbers and names. */
export function createAnonymizer(key: string): Anonymizer {
  const words = createNameWords((word) => maskName(key, word))
  const learned = new Map<string, { readonly masked: string; readonly pattern: RegExp }>()
  const learn = (raw: string, masked: string, pattern: string): void => {
    if (raw === masked || learned.has(raw)) return
    if (learned.size >= MAX_LEARNED) learned.delete(learned.keys().next().value ?? '')
    learned.set(raw, { masked, pattern: new RegExp(pattern, 'g') })
  }
  const learnNumbers = (value: string): void => {
    for (const [digits] of value.matchAll(NUMBER))
      if (!isTime(digits)) learn(digits, maskNumber(key, digits), `${BEFORE}${digits}${AFTER}`)
  }
  const learnWrittenNumbers = (value: string): void => {
    for (const [written] of value.matchAll(WRITTEN_NUMBER)) {
      const digits = written.replace(/\D/g, '')
      if (digits.length === written.length || digits.length < 7 || digits.length > 15 || DATE.test(written)) continue
      const masked = [...maskNumber(key, digits)]
      learn(
        written,
        written.replace(/\d/g, () => masked.shift() ?? ''),
        RegExp.escape(written),
      )
    }
  }
  /** Learns a name in plain form, and in URL form if it has one. */
  const learnName = (value: string): void => {
    words.learn(value)
    const masked = maskName(key, value)
    learn(value, masked, RegExp.escape(value))
    const [other, maskedOther] = value.includes('%')
      ? [percentDecoded(value), percentDecoded(masked)]
      : [percentEncoded(value), percentEncoded(masked)]
    if (other.length === maskedOther.length) learn(other, maskedOther, RegExp.escape(other))
  }
  const mask = (frame: string): string => {
    for (const [, name = '', value = ''] of frame.matchAll(FIELD)) {
      words.keep(name)
      if (NUMBER_KEY.test(name) || NAME_KEY.test(name)) learnWrittenNumbers(value)
      if (!NO_EMAIL_KEY.test(name) && !/\bsips?:/i.test(value))
        for (const [email] of value.matchAll(EMAIL)) learn(email, maskName(key, email), RegExp.escape(email))
      if (NUMBER_KEY.test(name)) learnNumbers(value)
      else if (NAME_KEY.test(name) && !NO_NAME_KEY.test(name) && !NOBODY.test(value) && !INTERFACE.test(value)) {
        learnNumbers(value)
        if (/[a-z\x80-\xff%]/i.test(value)) learnName(value)
      }
    }
    // The longest first: a number may be a part of a name.
    const whole = [...learned.keys()]
      .filter((raw) => frame.includes(raw))
      .sort((a, b) => b.length - a.length)
      .reduce((text, raw) => {
        const { masked = raw, pattern = raw } = learned.get(raw) ?? {}
        return text.replaceAll(pattern, () => masked)
      }, frame)
    return words.mask(whole)
  }
  return Object.assign(mask, { again: words.maskAgain, isNamed: words.isIn })
}

const byteOf = (key: string, text: string): number => createHmac('sha256', key).update(text).digest()[0] ?? 0

/** Shifts each digit by an amount that depends on the digits after it. */
function maskNumber(key: string, digits: string): string {
  return [...digits].map((digit, at) => (Number(digit) + byteOf(key, digits.slice(at + 1))) % 10).join('')
}

/** Letters become letters; each non-ASCII character, raw or percent-encoded, becomes one with as many bytes. */
function maskName(key: string, name: string): string {
  let at = 0
  const letter = (first: number, count: number): string =>
    String.fromCodePoint(first + (byteOf(key, `${name}|${at++}`) % count))
  return name.replace(/(?:%[89a-f][0-9a-f])+|[\x80-\xff]+|%[0-7][0-9a-f]|[a-z]|[A-Z]|\d/gi, (found) => {
    if (/^%[0-7]/.test(found)) return found
    if (found.startsWith('%')) return percent(sameWidth(Buffer.from(found.replaceAll('%', ''), 'hex'), letter))
    if (found.length > 1 || found > '\x7f') return sameWidth(Buffer.from(found, 'latin1'), letter).toString('latin1')
    if (/\d/.test(found)) return letter(0x30, 10)
    return letter(/[a-z]/.test(found) ? 0x61 : 0x41, 26)
  })
}

/** Both take and return texts of one character per byte. */
const percentDecoded = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
const percentEncoded = (text: string): string => text.replace(/[^\w.~-]/g, (one) => percent(Buffer.from(one, 'latin1')))

const percent = (bytes: Buffer): string =>
  [...bytes].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')

/** Harmless characters of two, three and four bytes in UTF-8: Cyrillic, Chinese, faces. */
const WIDE: Readonly<Record<number, number>> = { 2: 0x430, 3: 0x4e00, 4: 0x1f600 }

function sameWidth(bytes: Buffer, letter: (first: number, count: number) => string): Buffer {
  const masked = [...bytes.toString('utf8')].map((character) => {
    const first = WIDE[Buffer.byteLength(character)]
    return first === undefined ? character : letter(first, 16)
  })
  const result = Buffer.from(masked.join(''))
  // Invalid UTF-8 has no characters whose lengths could be kept.
  return result.length === bytes.length ? result : Buffer.alloc(bytes.length, 0x3f)
}
