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
}

const MAX_WORDS = 10_000
/** Shorter words are too often something else. */
const MIN_WORD = 3

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

  const note = (word: string): void => {
    if (word.length < MIN_WORD || kept.has(word) || words.has(word) || words.size >= MAX_WORDS) return
    words.set(word, maskOf(word))
  }
  const masked = (text: string): string =>
    text.replace(WORD, (found, word: string | undefined) => {
      const replacement = word === undefined ? undefined : words.get(decoded(word).toLowerCase())
      return replacement === undefined ? found : spelledLike(found, replacement)
    })
  return {
    learn(name) {
      const parts = [...withoutEncodedWords(name).matchAll(WORD)].flatMap(([, word]) =>
        word === undefined ? [] : decoded(word).toLowerCase(),
      )
      for (const part of parts) note(part)
      if (parts.length > 1) note(parts.join(''))
    },
    keep(key) {
      for (const word of key.toLowerCase().split(/[^a-z]+/)) {
        kept.add(word)
        words.delete(word)
      }
    },
    mask: (text) =>
      masked(
        text.replace(ENCODED_WORD, (_, charset: string, kind: string, inner: string) =>
          kind.toLowerCase() === 'b'
            ? `${charset}${kind}?${base64(masked(Buffer.from(inner, 'base64').toString('latin1')), inner)}?=`
            : `${charset}${kind}?${masked(inner.replaceAll('=', '%')).replaceAll('%', '=')}?=`,
        ),
      ),
  }
}

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
