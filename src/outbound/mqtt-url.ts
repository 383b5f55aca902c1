import { HIDDEN_CHARACTERS, textProblem } from '../lib/text.ts'

// The URL of an MQTT webhook: `mqtts://user:password@broker.example/calls/{account}/{event}`. Pure.

/** The broker and the topic of an MQTT URL. */
export type MqttUrl = {
  readonly isTls: boolean
  /** The host, normalized as in an HTTP URL: `literalAddress` and `literalRefusal` read it. */
  readonly host: URL
  readonly port: number
  readonly user: string | undefined
  readonly password: string | undefined
  readonly topic: Topic
}

/** The names that a topic may have in braces; their values come from the event. */
export const TOPIC_NAMES = ['account', 'pbx', 'event', 'call_id', 'extension', 'queue', 'trunk'] as const
type TopicName = (typeof TOPIC_NAMES)[number]
type TopicValues = Readonly<Record<TopicName, string | null>>

/** A topic in pieces: text, and names whose values are put in. */
export type Topic = readonly (string | { readonly name: TopicName })[]

const PORT = 1_883
const TLS_PORT = 8_883

/** Returns whether a text begins as an MQTT URL does. */
export const isMqttUrl = (text: string): boolean => /^mqtts?:/i.test(text)

/**
 * Parses an MQTT URL, or returns why it is invalid. The path is read from the text: URL would resolve `..`, which may
 * be part of a topic.
 */
export function parseMqttUrl(text: string): MqttUrl | { readonly problem: string } {
  const [whole, scheme = '', authority = '', path] = /^(mqtts?):\/\/([^/\\?#\s]+)(?:\/(.*))?$/is.exec(text) ?? []
  const isTls = scheme.toLowerCase() === 'mqtts'
  const address = `${isTls ? 'https' : 'http'}://${authority}`
  if (whole === undefined || !URL.canParse(address))
    return { problem: 'must be mqtt://host/topic or mqtts://host/topic, with user:password@ and :port where needed' }
  if (path === undefined || path === '') return { problem: 'must have a topic, as in mqtt://host/calls/{event}' }
  const host = new URL(address)
  const [, port = ''] = /:(\d+)$/.exec(authority) ?? []
  const [user, password] = [decode(host.username), decode(host.password)]
  if (user === undefined || password === undefined) return { problem: 'has percent-encoding that is not UTF-8 text' }
  if (user === '' && password !== '') return { problem: 'has a password without a user' }
  const topic = parseTopic(path)
  if ('problem' in topic) return topic
  return {
    isTls,
    host,
    port: port === '' ? (isTls ? TLS_PORT : PORT) : Number(port),
    user: user === '' ? undefined : user,
    password: password === '' ? undefined : password,
    topic: topic.pieces,
  }
}

function parseTopic(path: string): { readonly pieces: Topic } | { readonly problem: string } {
  if (path.includes('?')) return { problem: 'has a query, but a topic has none: write %3F for a question mark' }
  const text = decode(path)
  if (text === undefined) return { problem: 'has a topic whose percent-encoding is not UTF-8 text' }
  const [wildcard] = /[#+]/.exec(text) ?? []
  if (wildcard !== undefined) return { problem: `has ${wildcard} in its topic: events are sent to one topic each` }
  const hidden = textProblem(text)
  if (hidden !== undefined) return { problem: `cannot be used: its topic ${hidden}` }
  const pieces: (string | { readonly name: TopicName })[] = []
  for (const part of text.split(/(\{[^{}]*\})/)) {
    if (!/[{}]/.test(part)) {
      if (part !== '') pieces.push(part)
      continue
    }
    const name = TOPIC_NAMES.find((one) => part === `{${one}}`)
    if (name === undefined)
      return { problem: `has ${part} in its topic: it may have ${TOPIC_NAMES.map((one) => `{${one}}`).join(', ')}` }
    pieces.push({ name })
  }
  return { pieces }
}

/** Names whose topics see only some events of a call: what they keep is never replaced. */
const NEVER_REPLACED = ['event', 'call_id'] as const

/** Returns what to know about retained messages of a URL; `undefined`: the newest replaces the one before it. */
export function retainWarning({ url, retain }: { readonly url: string; readonly retain: boolean }): string | undefined {
  const parsed = retain && isMqttUrl(url) ? parseMqttUrl(url) : undefined
  if (parsed === undefined || 'problem' in parsed) return undefined
  const names = NEVER_REPLACED.filter((one) =>
    parsed.topic.some((piece) => typeof piece !== 'string' && piece.name === one),
  )
  if (names.length === 0) return undefined
  const shown = names.map((one) => `{${one}}`).join(' and ')
  return `with retain and ${shown} in the topic the broker keeps messages of calls that are over, such as dial_started: leave ${shown} out of the topic, or switch retain off`
}

const NOT_IN_VALUES = new RegExp(`[/+#${HIDDEN_CHARACTERS}]`, 'g')

/** Returns the topic of an event. A value can neither add a level nor be a wildcard; `-` replaces a missing one. */
export function topicOf(topic: Topic, values: TopicValues): string {
  return topic
    .map((piece) => {
      if (typeof piece === 'string') return piece
      return topicLevel(values[piece.name] ?? '')
    })
    .join('')
}

/** Returns a value as one level of a topic. */
export const topicLevel = (value: string): string =>
  value === '' ? '-' : value.toWellFormed().replace(NOT_IN_VALUES, '_')

/** Returns the levels of a topic that all events have: up to its first name in braces, without a `/` at the end. */
export const topicRoot = ([first = '']: Topic): string => (typeof first === 'string' ? first.replace(/\/+$/, '') : '')

/** Decodes percent-encoding once; `undefined` if it is malformed or no UTF-8. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
