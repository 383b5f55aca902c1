import type { BrokerConnection } from '../../deliveries/deliveries.ts'
import { OFFLINE, type Place, statusTopic, topicsOf } from './entities.ts'

/**
 * Keeps the retained messages of an account at a broker: as they should be, and no others of the account. What the
 * broker has is read from it after connecting, so that what was published before a restart is taken back too.
 */
export type Publisher = {
  /**
   * Publishes the messages that differ, connecting first where needed. @throws Error when the broker is away or
   * refuses.
   */
  publish(wanted: ReadonlyMap<string, string>): Promise<void>
  /** Looks after the connection: a broker that has become silent is left. To be called once a second or so. */
  check(): void
  /** Closes the connection; the broker then says that this program is away. */
  close(): Promise<void>
}

/** A message of the broker, or for it. */
type Retained = { readonly topic: string; readonly body: string }

/** Connects to the broker of a webhook. @throws Error when that is not possible. */
export type Connect = (options: {
  readonly will: Retained & { readonly retain: boolean }
  readonly onMessage: (message: Retained) => void
}) => Promise<BrokerConnection>

/** Messages that are under way at a time. */
const AT_ONCE = 100
/** The time for the broker to send its retained messages: a message that comes later is not removed. */
const READ_WITHIN_MS = 10_000
/** How long the broker may take to hear that this program goes. */
const CLOSE_WITHIN_MS = 2_000
/** A broker that sends more than this, which is not ours, is left. */
const MAX_READ_BYTES = 32 * 1_024 * 1_024
/** A connection that is not used for a minute is closed. */
const USED_EVERY_MS = 30_000

/** Creates the publisher of one account; nothing is connected yet. */
export function createPublisher(place: Place, connect: Connect): Publisher {
  const status = statusTopic(place)
  let connection: BrokerConnection | undefined
  /** The messages that the broker retains. */
  let kept = new Map<string, string>()
  let usedMs = performance.now()
  /** The broker retains messages of ours. */
  let hasPublished = false

  async function open(): Promise<BrokerConnection> {
    const found = new Map<string, string>()
    let readBytes = 0
    const marker = `${status}/${crypto.randomUUID()}`
    const isRead = Promise.withResolvers<void>()
    connection = await connect({
      will: { topic: status, body: OFFLINE, retain: true },
      onMessage({ topic, body }) {
        readBytes += topic.length + body.length
        if (readBytes > MAX_READ_BYTES) connection?.close()
        else if (topic === marker) isRead.resolve()
        else if (body !== '') found.set(topic, body)
      },
    })
    const topics = topicsOf(place)
    const opened = connection
    // A broker may let nobody read: messages from before a restart stay there then.
    if (await opened.subscribe(topics)) {
      // Retained messages come before this one.
      await send(opened, { topic: marker, body: '', retain: false })
      await Promise.race([isRead.promise, Bun.sleep(READ_WITHIN_MS)])
      opened.unsubscribe(topics)
    }
    kept = found
    return opened
  }

  async function sendAll(broker: BrokerConnection, messages: readonly (readonly [string, string])[]): Promise<void> {
    for (let at = 0; at < messages.length; at += AT_ONCE)
      await Promise.all(
        messages.slice(at, at + AT_ONCE).map(async ([topic, body]) => {
          await send(broker, { topic, body, retain: true })
          if (body === '') kept.delete(topic)
          else kept.set(topic, body)
        }),
      )
  }

  return {
    async publish(wanted) {
      const broker = connection?.isOpen() === true ? connection : await open()
      const nowMs = performance.now()
      hasPublished = wanted.size > 0
      const own = wanted.get(status)
      if (own !== undefined && nowMs - usedMs > USED_EVERY_MS) kept.delete(status)
      const gone = [...kept.keys()].filter((topic) => !wanted.has(topic)).map((topic) => [topic, ''] as const)
      const changed = [...wanted].filter(([topic, body]) => kept.get(topic) !== body)
      if (gone.length + changed.length > 0) usedMs = nowMs
      await sendAll(broker, [...gone, ...changed])
    },
    check: () => connection?.check(performance.now()),
    async close() {
      const closing = connection
      connection = undefined
      if (closing?.isOpen() !== true) return
      const published = hasPublished
        ? send(closing, { topic: status, body: OFFLINE, retain: true }).catch(() => undefined)
        : undefined
      await Promise.race([published, Bun.sleep(CLOSE_WITHIN_MS)])
      closing.close()
    },
  }
}

/** @throws Error when the broker does not take the message. */
async function send(broker: BrokerConnection, message: Retained & { readonly retain: boolean }): Promise<void> {
  const published = await broker.publish({ ...message, contentType: 'application/json', userProperties: {} })
  if (published.kind !== 'acknowledged') throw new Error(published.reason)
  if (published.code >= FIRST_FAILURE)
    throw new Error(`the broker refuses the topic ${message.topic} (reason code ${published.code})`)
}
const FIRST_FAILURE = 128
