/**
 * The words of names, and the spellings that a PBX makes of them in file names, URLs, SIP headers and dial strings:
 * with underscores, quotes or dots in between, without anything, in other case, percent-encoded, in encoded words, or
 * one word alone. Texts are one character a byte (latin1).
 */
type NameWords = {
  /** Learns the words of a name. */
  learn(name: string): void
  /** Keeps the words of a header's key: they are part of the protocol, also where a name has them. */
  keep(key: string): void
  /** Returns the text with every learned word replaced by one of the same length. */
  mask(text: string): string
  /** Does the same to a masked text: words that were learned since are replaced, and replacements stay. */
  maskAgain(text: string): string
  /** Returns whether a learned word, or a whole name, is still in a masked text, in any spelling. */
  isIn(text: string): boolean
}

const MAX_WORDS = 10_000
/** Shorter words are too often something else. */
const MIN_WORD = 3
/** Shorter ones may be in decoded bytes, or in a line without its spaces, by chance. */
const MIN_HIDDEN = 5
const MIN_JOINED = 8

/** Words of the protocols' values, and of names that are nobody's. */
const PROTOCOL = new Set(
  `all answer answered app appdial appqueue audio busy call cancel channel clearing congestion context custom default dial
  dialing dialplan down early error event external false from func group hangup inbound internal json local macro media
  noanswer none normal off office outbound park phone pjsip plain public queue ring ringing routing sales sip sofia success
  support system team true trunk udp tcp tls unknown user video voicemail xml active held execute exchange agent bridge`
    .trim()
    .split(/\s+/),
)

/** An encoded ASCII character between two words, or a word: letters, and bytes beyond ASCII, encoded or not. */
const WORD = /%[0-7][0-9a-f]|((?:[a-z\x80-\xff]|%[89a-f][0-9a-f])+)/gi
const UNIT = /%[0-9a-f]{2}|[\s\S]/gi
/** RFC 2047: `=?UTF-8?B?…?=`, `=?UTF-8?Q?…?=`. */
const ENCODED_WORD = /(=\?[\w-]+\?)([bq])\?([^?\s]*)\?=/gi

/** Creates the words, none; `maskOf` returns the replacement of a word, of the same length. */
export function createNameWords(maskOf: (word: string) => string): NameWords {
  const words = new Map<string, string>()
  const kept = new Set(PROTOCOL)
  const replacements = new Set<string>()
  /** Names of several words, without anything in between. */
  const joined = new Set<string>()

  const note = (word: string): void => {
    if (word.length < MIN_WORD || kept.has(word) || words.has(word) || words.size >= MAX_WORDS) return
    const replacement = maskOf(word)
    words.set(word, replacement)
    replacements.add(replacement.toLowerCase())
  }
  const replaced = (text: string, isDone: (word: string) => boolean): string =>
    text.replace(WORD, (found, word: string | undefined) => {
      const plain = word === undefined ? '' : decoded(word).toLowerCase()
      const replacement = isDone(plain) ? undefined : words.get(plain)
      return replacement === undefined ? found : spelledLike(found, replacement)
    })
  const maskedBy = (text: string, isDone: (word: string) => boolean): string =>
    replaced(
      text.replace(ENCODED_WORD, (_, charset: string, kind: string, inner: string) =>
        kind.toLowerCase() === 'b'
          ? `${charset}${kind}?${base64(replaced(Buffer.from(inner, 'base64').toString('latin1'), isDone), inner)}?=`
          : `${charset}${kind}?${replaced(inner.replaceAll('=', '%'), isDone).replaceAll('%', '=')}?=`,
      ),
      isDone,
    )
  const isReplacement = (word: string): boolean => replacements.has(word)
  const hasWord = (text: string, least: number): boolean =>
    text.matchAll(WORD).some(([, word]) => {
      const plain = word === undefined ? '' : decoded(word).toLowerCase()
      return plain.length >= least && words.has(plain) && !replacements.has(plain)
    })
  const hasJoined = (text: string): boolean => {
    const letters = decoded(text).toLowerCase().replace(NO_LETTERS, '')
    return joined.values().some((name) => letters.includes(name))
  }
  return {
    learn(name) {
      const parts = [...withoutEncodedWords(name).matchAll(WORD)].flatMap(([, word]) =>
        word === undefined ? [] : decoded(word).toLowerCase(),
      )
      for (const part of parts) note(part)
      if (parts.length < 2) return
      const whole = parts.join('')
      note(whole)
      // A name of words that stay is nobody's.
      if (whole.length >= MIN_JOINED && joined.size < MAX_WORDS && parts.some((part) => words.has(part)))
        joined.add(whole)
    },
    keep(key) {
      for (const word of key.toLowerCase().split(/[^a-z]+/)) {
        kept.add(word)
        words.delete(word)
      }
    },
    mask: (text) => maskedBy(text, () => false),
    maskAgain: (text) => maskedBy(text, isReplacement),
    isIn: (text) =>
      text.split('\n').some((line) => hasWord(line, MIN_WORD) || hasJoined(line)) ||
      spellingsOf(text).some((spelling) => hasWord(spelling, MIN_HIDDEN) || hasJoined(spelling)),
  }
}

/** The characters between the words of a name, or between its letters. */
const NO_LETTERS = /[^a-z\x80-\xff]+/g

/**
 * Returns the texts that are written in other forms: in base64, in hexadecimal digits, as escapes, percent-encoded
 * twice.
 */
function* spellingsOf(text: string): Generator<string> {
  for (const [escaped] of text.matchAll(
    /(?:\\u[0-9a-f]{4}|&#x?[0-9a-f]+;|[a-z])*(?:\\u[0-9a-f]{4}|&#x?[0-9a-f]+;)[^\n]*/gi,
  ))
    yield Buffer.from(unescaped(escaped)).toString('latin1')
  for (const [twice] of text.matchAll(/[^\n]*%25[0-9a-f]{2}[^\n]*/gi)) yield decoded(decoded(twice))
  for (const [hex] of text.matchAll(/(?:[0-9a-f]{2}){5,}/gi)) yield Buffer.from(hex, 'hex').toString('latin1')
  for (const [base] of text.matchAll(/[a-z0-9+/_-]{8,}={0,2}/gi)) yield Buffer.from(base, 'base64').toString('latin1')
}

const unescaped = (text: string): string =>
  text
    .replace(/\\u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/&#(x?)([0-9a-f]{1,6});/gi, (_, x: string, digits: string) =>
      String.fromCodePoint(Math.min(0x10ffff, Number.parseInt(digits, x === '' ? 10 : 16) || 0x20)),
    )

const withoutEncodedWords = (name: string): string =>
  name.replace(ENCODED_WORD, (_, _charset: string, kind: string, inner: string) =>
    kind.toLowerCase() === 'b' ? Buffer.from(inner, 'base64').toString('latin1') : inner.replaceAll('=', '%'),
  )

/** Keeps the length: some encoders leave out the padding. */
const base64 = (text: string, like: string): string =>
  Buffer.from(text, 'latin1').toString('base64').slice(0, like.length)

const decoded = (word: string): string =>
  word.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** Spells a replacement as the word was: each byte encoded or not, each letter in its case. */
function spelledLike(word: string, replacement: string): string {
  let at = 0
  return word.replace(UNIT, (unit) => {
    const byte = replacement[at++] ?? '?'
    if (unit.length === 1) return unit >= 'A' && unit <= 'Z' ? byte.toUpperCase() : byte
    const hex = byte.charCodeAt(0).toString(16).padStart(2, '0')
    return `%${/[A-F]/.test(unit) || !/[a-f]/.test(unit) ? hex.toUpperCase() : hex}`
  })
}
