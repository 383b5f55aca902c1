import mqtt, { type IConnackPacket, type IPubackPacket, type IPublishPacket, type Packet } from 'mqtt-packet'
import { MQTT5_DISCONNECT_CODES, MQTT5_PUBACK_PUBREC_CODES } from 'mqtt-packet/constants'
import { harmless } from '../../lib/terminal-text.ts'
import { ALL_FAILURES, describeReason, isFailure, reasonCodeOf, UNSUPPORTED_VERSION } from './reason-codes.ts'

/**
 * One MQTT session of a publisher, over any stream of bytes. No clock, no socket.
 *
 *   connecting ── CONNACK ──→ ready ── DISCONNECT, a malformed packet, `end` ──→ ended
 *
 * Invariants: a message is sent only while ready; at most as many are unacknowledged as the broker allows, in the order
 * of `publish`; each `publish` gets exactly one answer; nothing is written after the end.
 */
export type MqttSession = {
  /** Takes bytes from the broker. */
  read(chunk: Uint8Array): void
  /** Sends a message with QoS 1; resolves with the answer. Never rejects. */
  publish(message: Message): Promise<Published>
  /**
   * Asks for the messages of these topics, with QoS 0; resolves with whether the broker gives them. Never rejects. Only
   * for a session with `onMessage`.
   */
  subscribe(topics: readonly string[]): Promise<boolean>
  /** Ends the subscription to these topics. */
  unsubscribe(topics: readonly string[]): void
  /** Sends a ping. */
  ping(): void
  /** Returns whether a ping has no answer yet. */
  isPinging(): boolean
  /** Ends the session: unanswered messages are `lost` for this reason. */
  end(reason: string): void
  /** Sends a DISCONNECT packet and ends the session. */
  disconnect(): void
}

export type Message = {
  readonly topic: string
  readonly body: string
  readonly contentType: string
  readonly userProperties: Readonly<Record<string, string>>
  readonly retain: boolean
}

/** The message that the broker publishes for a client whose connection breaks. */
export type Will = Pick<Message, 'topic' | 'body' | 'retain'>

/** A message of a topic that was asked for. */
export type Incoming = { readonly topic: string; readonly body: string }

/**
 * The answer to a message. `acknowledged`: a PUBACK came; its code may still refuse the message. `unacceptable`: it was
 * not sent, since the broker has announced that it takes no such message. `lost`: the session ended before a PUBACK.
 */
export type Published =
  | { readonly kind: 'acknowledged'; readonly code: number; readonly text: string | undefined }
  | { readonly kind: 'unacceptable'; readonly reason: string }
  | { readonly kind: 'lost'; readonly reason: string }

/** MQTT 5, or MQTT 3.1.1, whose number is 4. */
export type Version = 5 | 4

type SessionOptions = {
  readonly version: Version
  readonly clientId: string
  readonly user: string | undefined
  readonly password: string | undefined
  readonly keepAliveS: number
  readonly will?: Will | undefined
  /** Called with each message of a topic that was asked for; absent: such a message ends the session. */
  readonly onMessage?: ((message: Incoming) => void) | undefined
  /** Writes a packet to the broker. */
  readonly write: (packet: Uint8Array) => void
  /** Called once when the broker has accepted the connection. */
  readonly onReady: (limits: { readonly keepAliveS: number }) => void
  /** Called once when the session has ended. `isVersion`: the broker may accept an older version. */
  readonly onEnd: (reason: string, isVersion: boolean) => void
}

/** A publisher receives a few bytes per packet: a server that sends a longer one is no broker. */
const MAX_PACKET_BYTES = 16_384
/** A subscriber gets messages; the messages that it reads are short. */
const MAX_MESSAGE_BYTES = 262_144
/** The lowest return code of a topic that a broker does not give. */
const FIRST_FAILURE = 128
/** The bytes read at a time, so that bytes after the end of a session cost nothing. */
const SLICE_BYTES = 4_096
/** The most unexpected answers: a broker that continues with them takes the time of all other webhooks. */
const MAX_UNASKED = 64
/** The characters of a broker's reason that are kept. */
const MAX_REASON_CHARACTERS = 500
const MAX_PACKET_ID = 65_535
/** The longest text in a packet (MQTT 5.0, 1.5.4). */
const MAX_TEXT_BYTES = 65_535
/** The most unacknowledged messages if the broker names no limit (MQTT 5.0, 3.2.2.3.3). */
const DEFAULT_RECEIVE_MAXIMUM = 65_535

// The library would keep a buffer for each of 65,536 numbers: 10 MB.
mqtt.writeToStream.cacheNumbers = false
// The library rejects codes that the standard does not list: Mosquitto answers a message that is too large with 149 in
// a PUBACK.
for (const codes of [MQTT5_PUBACK_PUBREC_CODES, MQTT5_DISCONNECT_CODES])
  for (const code of ALL_FAILURES) codes[code] ??= `reason code ${code}`

/** The limits that the broker announces as it accepts a connection. */
type Limits = NonNullable<IConnackPacket['properties']>

type Unsent = { readonly packet: (id: number) => Uint8Array; readonly resolve: (answer: Published) => void }

/** Opens a session: writes the CONNECT packet at once. */
export function openSession(options: SessionOptions): MqttSession {
  const { version, clientId, user, password, keepAliveS, will, onMessage, write, onReady, onEnd } = options
  const protocol = { protocolVersion: version }
  const parser = mqtt.parser(protocol)
  let state: 'connecting' | 'ready' | 'ended' = 'connecting'
  let limits: Limits = {}
  const unacknowledged = new Map<number, (answer: Published) => void>()
  const unsent: Unsent[] = []
  const subscribing = new Map<number, (isGranted: boolean) => void>()
  const maxPacketBytes = onMessage === undefined ? MAX_PACKET_BYTES : MAX_MESSAGE_BYTES
  let lastId = 0
  let isPinging = false
  let unasked = 0

  function send(packet: Packet): void {
    write(mqtt.generate(packet, protocol))
  }

  function end(reason: string, isVersion = false): void {
    if (state === 'ended') return
    state = 'ended'
    const waiting = [...unacknowledged.values(), ...unsent.map(({ resolve }) => resolve)]
    unacknowledged.clear()
    unsent.length = 0
    for (const resolve of waiting) resolve({ kind: 'lost', reason })
    for (const resolve of subscribing.values()) resolve(false)
    subscribing.clear()
    onEnd(reason, isVersion)
  }

  function receive(packet: Packet): void {
    if (packet.cmd === 'connack') accept(packet)
    else if (packet.cmd === 'puback') acknowledge(packet)
    else if (packet.cmd === 'pingresp') {
      if (!isPinging) noteUnasked()
      isPinging = false
    } else if (packet.cmd === 'publish' && onMessage !== undefined && packet.qos < 2) {
      // Some brokers send a retained message with the quality of service with which it was published.
      if (packet.qos === 1) send({ cmd: 'puback', messageId: packet.messageId ?? 0 })
      onMessage({ topic: packet.topic, body: packet.payload.toString() })
    } else if (packet.cmd === 'suback' && subscribing.has(packet.messageId ?? 0)) {
      subscribing.get(packet.messageId ?? 0)?.(packet.granted.every((code) => Number(code) < FIRST_FAILURE))
      subscribing.delete(packet.messageId ?? 0)
    } else if (packet.cmd === 'unsuback' && onMessage !== undefined) return
    else if (packet.cmd === 'disconnect') {
      const { reasonCode = 0, properties } = packet
      end(`the broker closed the connection: ${describeReason(reasonCode, textOf(properties))}`)
    } else end(`the broker sent a ${packet.cmd} packet, which is not for a publisher`)
  }

  function acknowledge({ messageId = 0, reasonCode = 0, properties }: IPubackPacket): void {
    const resolve = unacknowledged.get(messageId)
    if (resolve === undefined) noteUnasked()
    unacknowledged.delete(messageId)
    resolve?.({ kind: 'acknowledged', code: reasonCode, text: textOf(properties) })
    sendNext()
  }

  function noteUnasked(): void {
    unasked += 1
    if (unasked > MAX_UNASKED) end('the broker sent too many answers to nothing')
  }

  function accept({ reasonCode, returnCode = 0, properties = {} }: IConnackPacket): void {
    const refusal = refusalOf(reasonCode ?? returnCode, properties)
    if (state !== 'connecting') end('the broker accepted the connection twice')
    else if (refusal !== undefined) end(refusal.reason, refusal.isVersion)
    else {
      state = 'ready'
      limits = properties
      onReady({ keepAliveS: properties.serverKeepAlive ?? keepAliveS })
      sendNext()
    }
  }

  function sendNext(): void {
    const most = limits.receiveMaximum ?? DEFAULT_RECEIVE_MAXIMUM
    while (state === 'ready' && unacknowledged.size < most) {
      const next = unsent.shift()
      if (next === undefined) return
      const id = freeId()
      const bytes = next.packet(id)
      if (bytes.length === 0) {
        next.resolve({ kind: 'unacceptable', reason: 'the message cannot be encoded as an MQTT packet' })
        continue
      }
      if (limits.maximumPacketSize !== undefined && bytes.length > limits.maximumPacketSize) {
        const reason = `the message has ${bytes.length} bytes, and the broker takes ${limits.maximumPacketSize} at most`
        next.resolve({ kind: 'unacceptable', reason })
        continue
      }
      unacknowledged.set(id, next.resolve)
      write(bytes)
    }
  }

  function freeId(): number {
    do lastId = (lastId % MAX_PACKET_ID) + 1
    while (unacknowledged.has(lastId) || subscribing.has(lastId))
    return lastId
  }

  parser.on('packet', (packet) => {
    if (state !== 'ended') receive(packet)
  })
  // A broker of MQTT 3.1.1 may refuse MQTT 5 with a packet that is malformed in MQTT 5.
  const malformed = (error: unknown) => {
    const text = error instanceof Error ? error.message : String(error)
    end(`the broker sent what is not MQTT: ${text}`, state === 'connecting')
  }
  parser.on('error', malformed)
  send({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: version,
    clean: true,
    clientId,
    keepalive: keepAliveS,
    ...(user === undefined ? {} : { username: user }),
    ...(password === undefined ? {} : { password: Buffer.from(password) }),
    ...(will === undefined
      ? {}
      : { will: { topic: will.topic, payload: Buffer.from(will.body), qos: 1, retain: will.retain } as const }),
    ...(version === 5 ? { properties: { maximumPacketSize: maxPacketBytes } } : {}),
  })

  return {
    read(chunk) {
      try {
        for (let at = 0; at < chunk.length && state !== 'ended'; at += SLICE_BYTES) {
          const buffered = parser.parse(Buffer.from(chunk.subarray(at, at + SLICE_BYTES)))
          if (buffered > maxPacketBytes) end('the broker sent a packet that is too large for a publisher')
        }
      } catch (error) {
        malformed(error)
      }
    },
    publish(message) {
      if (state === 'ended') return Promise.resolve({ kind: 'lost', reason: 'the connection to the broker was closed' })
      if (message.retain && limits.retainAvailable === false)
        return Promise.resolve({ kind: 'unacceptable', reason: 'the broker keeps no retained messages' })
      const topicBytes = Buffer.byteLength(message.topic)
      if (topicBytes > MAX_TEXT_BYTES) {
        const reason = `the topic has ${topicBytes} bytes, and MQTT allows ${MAX_TEXT_BYTES}: use fewer names in braces in the URL`
        return Promise.resolve({ kind: 'unacceptable', reason })
      }
      const { promise, resolve } = Promise.withResolvers<Published>()
      const packet = packetOf(message, version)
      unsent.push({ packet: (messageId) => bytesOf({ ...packet, messageId }, version), resolve })
      sendNext()
      return promise
    },
    subscribe(topics) {
      if (state !== 'ready') return Promise.resolve(false)
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const messageId = freeId()
      subscribing.set(messageId, resolve)
      send({ cmd: 'subscribe', messageId, subscriptions: topics.map((topic) => ({ topic, qos: 0 })) })
      return promise
    },
    unsubscribe(topics) {
      if (state === 'ready') send({ cmd: 'unsubscribe', messageId: freeId(), unsubscriptions: [...topics] })
    },
    ping() {
      if (state !== 'ready') return
      isPinging = true
      send({ cmd: 'pingreq' })
    },
    isPinging: () => isPinging,
    end,
    disconnect() {
      if (state === 'ready') send({ cmd: 'disconnect', ...(version === 5 ? { reasonCode: 0 } : {}) })
      end('the connection to the broker was closed')
    },
  }
}

/** Returns the text of a broker, which may be anything, up to the limit. */
function textOf(properties: { readonly reasonString?: string } | undefined): string | undefined {
  const text = properties?.reasonString
  return text === undefined ? undefined : harmless(text.slice(0, MAX_REASON_CHARACTERS).toWellFormed())
}

/** Returns why a broker does not accept a connection; `undefined` if it does. */
function refusalOf(given: number, limits: Limits) {
  // A broker of MQTT 3.1.1 answers with a code of its own version.
  const code = isFailure(given) ? given : reasonCodeOf(given)
  if (isFailure(code)) {
    const reason = `the broker refused the connection: ${describeReason(code, textOf(limits))}`
    return { reason, isVersion: code === UNSUPPORTED_VERSION }
  }
  if (limits.maximumQoS !== 0) return undefined
  return { reason: 'the broker acknowledges no messages: it supports quality of service 0 alone', isVersion: false }
}

/** Returns the bytes of a packet, none if no packet can hold it: the library throws then, or writes nothing. */
function bytesOf(packet: IPublishPacket, protocolVersion: Version): Uint8Array {
  try {
    return mqtt.generate(packet, { protocolVersion })
  } catch {
    return new Uint8Array()
  }
}

function packetOf({ topic, body, contentType, userProperties, retain }: Message, version: Version): IPublishPacket {
  const packet = { cmd: 'publish', qos: 1, dup: false, retain, topic, payload: body } as const
  if (version !== 5) return packet
  const properties = { payloadFormatIndicator: true, contentType }
  // The library writes nothing for a message without properties.
  if (Object.keys(userProperties).length === 0) return { ...packet, properties }
  return { ...packet, properties: { ...properties, userProperties: { ...userProperties } } }
}
