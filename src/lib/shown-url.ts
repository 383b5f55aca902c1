import { textProblem } from './text.ts'

/** A word, such as `hooks`, `api` or `v2`, which is no token. */
const WORD = /^[a-z][a-z._-]{0,19}\d{0,2}$/i
/** A name in a topic, whose value comes from the event. */
const PLACEHOLDER = /^\{\w+\}$/

/**
 * Returns a URL as people who may see it read it: without its user and password, and the topic of an MQTT URL without
 * percent-encoding where it stays the same topic.
 */
export function shownUrl(url: string): string {
  const masked = url.replace(/^(\w+:\/\/)[^/?#]*@/, '$1***@')
  return /^mqtts?:/i.test(masked) ? readable(masked) : masked
}

/** Decodes all but the characters that make the structure of a URL: `/`, `?`, `#` and `%` stay encoded. */
function readable(url: string): string {
  try {
    const decoded = decodeURI(url.replaceAll('%25', '%2525'))
    return textProblem(decoded) === undefined && !/\s/.test(decoded) ? decoded : url
  } catch {
    return url
  }
}

/**
 * Returns a redacted URL for logs, alerts and diagnoses, which others than its owner read: its origin, and the first
 * part of its path if that is a word; of an MQTT topic also further words and names in braces. The rest, the query and
 * the user often have a token: `https://hooks.slack.com/services/…`.
 */
export function loggedUrl({
  protocol,
  host,
  pathname,
  search,
}: Pick<URL, 'protocol' | 'host' | 'pathname' | 'search'>): string {
  const isTopic = protocol.startsWith('mqtt')
  const parts = (isTopic ? readable(pathname) : pathname).slice(1).split('/')
  const isPlain = (part: string) => WORD.test(part) || (isTopic && PLACEHOLDER.test(part))
  const hidden = parts.findIndex((part, at) => part !== '' && (!isPlain(part) || (at > 0 && !isTopic)))
  const end = parts.indexOf('', 1)
  const ends = isTopic ? [hidden] : [hidden, end]
  const count = ends.reduce((least, at) => (at >= 0 && at < least ? at : least), parts.length)
  const isWhole = count === parts.length && search === ''
  const shown = parts.slice(0, count).join('/')
  return `${protocol}//${host}/${shown}${shown !== '' && count < parts.length ? '/' : ''}${isWhole ? '' : '…'}`
}
