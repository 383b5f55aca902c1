import { NoConnection } from '../../outbound/attempt-failure.ts'
import type { ClientTls } from '../../outbound/client-tls.ts'
import type { MqttUrl } from '../../outbound/mqtt-url.ts'
import { ClosedByBroker, openBrokerSocket } from './broker-socket.ts'
import {
  type Incoming,
  type Message,
  type MqttSession,
  openSession,
  type Published,
  type Version,
  type Will,
} from './session.ts'

/** A connection to a broker that has accepted it. */
export type BrokerConnection = {
  readonly address: string
  readonly version: Version
  /** Sends a message; resolves with the answer. Never rejects. */
  publish(message: Message): Promise<Published>
  /** Asks for the messages of topics; resolves with whether the broker gives them. Never rejects. */
  subscribe(topics: readonly string[]): Promise<boolean>
  unsubscribe(topics: readonly string[]): void
  /** Returns whether messages can be sent. */
  isOpen(): boolean
  /** Accepts no further messages, and closes when all have their answers: for a connection that has become silent. */
  retire(): void
  /** Sends a ping if nothing was sent for a while; closes a connection that is idle, or whose pings have no answer. */
  check(nowMs: number): void
  close(): void
}

type ConnectOptions = {
  readonly broker: MqttUrl
  readonly address: string
  /** The name that the certificate must have. */
  readonly name: string
  /** How it takes part in the TLS handshake. */
  readonly tls?: ClientTls | undefined
  readonly will?: Will | undefined
  /** Called with each message of a topic that was asked for. */
  readonly onMessage?: ((message: Incoming) => void) | undefined
  /** The version to begin with. */
  readonly version: Version
  /** How long connecting may take, and how long until the TCP connection is made. */
  readonly withinMs: number
  readonly connectMs: number
  /** Closes the connection. */
  readonly signal: AbortSignal
  /** Called when a connection that the broker had accepted is closed. */
  readonly onClosed?: () => void
}

/** A connection is kept for this long after its last use. */
const KEPT_MS = 60_000
const KEEP_ALIVE_S = 60
/** The broker must answer a ping within this time. */
const PING_MS = 10_000
/** The time limit for messages on a connection that has become silent. */
const RETIRED_MS = 10_000
/** Letters and digits, 22 of them: what each broker of MQTT 3.1.1 must accept. */
const newClientId = (): string => `hookswitch${crypto.randomUUID().replaceAll('-', '').slice(0, 12)}`

/** The broker has answered, but not accepted the connection. `isVersion`: it may accept an older version. */
class ConnectionRefusal extends Error {
  override readonly name = 'ConnectionRefusal'
  readonly isVersion: boolean
  constructor(message: string, isVersion: boolean) {
    super(message)
    this.isVersion = isVersion
  }
}

/** The broker did not accept the connection in time. */
export class LateConnection extends Error {
  override readonly name = 'LateConnection'
}

/**
 * Connects to a broker at a checked address, with MQTT 3.1.1 if it does not know MQTT 5.
 * @throws Error, also `ConnectionRefusal` or `LateConnection`.
 */
export async function connectToBroker(options: ConnectOptions): Promise<BrokerConnection> {
  try {
    return await connect(options)
  } catch (error) {
    if (options.version !== 5 || !(error instanceof ConnectionRefusal) || !error.isVersion) throw error
    return await connect({ ...options, version: 4 })
  }
}

function connect(options: ConnectOptions): Promise<BrokerConnection> {
  const { broker, address, name, tls, version, withinMs, connectMs, signal, onClosed = () => {} } = options
  const { promise, resolve, reject } = Promise.withResolvers<BrokerConnection>()
  let session: MqttSession | undefined
  let lost: Error | undefined
  let isAccepted = false

  const socket = openBrokerSocket({
    address,
    port: broker.port,
    certifiedName: broker.isTls ? name : undefined,
    clientTls: tls,
    onOpen,
    onData: (chunk) => session?.read(chunk),
    onClose(error) {
      lost = error
      const reason = reasonOfEnd(error)
      session?.end(reason)
      finish(error instanceof ClosedByBroker ? new Error(reason) : error)
    },
  })
  /** Describes why the connection has ended; its state so far shows the most likely mistake. */
  function reasonOfEnd(error: Error): string {
    if (!(error instanceof ClosedByBroker)) return `the connection to the broker broke: ${error.message}`
    if (session === undefined) return 'the TLS handshake failed: does the broker speak TLS on this port?'
    if (isAccepted) return 'the broker closed the connection without a reason'
    const why = broker.isTls ? '' : ': does this port want TLS (mqtts)?'
    return `the broker closed the connection before it accepted it${why}`
  }
  const give = (error: Error): void => {
    socket.close()
    session?.end(error.message)
    finish(error)
  }
  const connecting = setTimeout(() => give(new NoConnection(`no connection within ${connectMs / 1_000} s`)), connectMs)
  const accepting = setTimeout(() => give(new LateConnection(`no connection within ${withinMs / 1_000} s`)), withinMs)
  const onAbort = () => {
    session?.disconnect()
    give(new DOMException('the connection to the broker was closed', 'AbortError'))
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort)

  function finish(error: Error): void {
    clearTimeout(connecting)
    clearTimeout(accepting)
    signal.removeEventListener('abort', onAbort)
    reject(error)
    if (isAccepted) onClosed()
    isAccepted = false
  }

  function onOpen(): void {
    clearTimeout(connecting)
    session = openSession({
      version,
      clientId: newClientId(),
      user: broker.user,
      password: broker.password,
      keepAliveS: KEEP_ALIVE_S,
      will: options.will,
      onMessage: options.onMessage,
      write: socket.write,
      onReady({ keepAliveS }) {
        clearTimeout(accepting)
        isAccepted = true
        if (session !== undefined) resolve(newConnection({ session, address, version, keepAliveS, close }))
      },
      onEnd(reason, isVersion) {
        socket.close()
        // A broker that knows no MQTT 5 may also just close the connection.
        finish(new ConnectionRefusal(reason, isVersion || lost instanceof ClosedByBroker))
      },
    })
  }
  function close(): void {
    session?.disconnect()
    socket.close()
  }
  return promise
}

type ConnectionParts = {
  readonly session: MqttSession
  readonly address: string
  readonly version: Version
  readonly keepAliveS: number
  readonly close: () => void
}

function newConnection({ session, address, version, keepAliveS, close }: ConnectionParts): BrokerConnection {
  let inUse = 0
  let isRetired = false
  let isOpen = true
  let usedMs = performance.now()
  let sentMs = usedMs
  let pingedMs = usedMs

  const shut = () => {
    isOpen = false
    close()
  }
  return {
    address,
    version,
    isOpen: () => isOpen && !isRetired,
    async publish(message) {
      inUse += 1
      sentMs = performance.now()
      const published = await session.publish(message)
      inUse -= 1
      usedMs = performance.now()
      if (published.kind === 'lost') isOpen = false
      else if (isRetired && inUse === 0) shut()
      return published
    },
    subscribe: session.subscribe,
    unsubscribe: session.unsubscribe,
    retire() {
      if (isRetired) return
      isRetired = true
      if (inUse === 0) shut()
      else setTimeout(shut, RETIRED_MS)
    },
    check(nowMs) {
      if (!isOpen) return
      if (inUse === 0 && nowMs - usedMs >= KEPT_MS) return shut()
      if (session.isPinging()) {
        if (nowMs - pingedMs >= PING_MS) shut()
        return
      }
      // A broker closes a connection that is silent for longer than the time agreed on.
      if (keepAliveS === 0 || nowMs - sentMs < (keepAliveS * 1_000) / 2) return
      sentMs = nowMs
      pingedMs = nowMs
      session.ping()
    },
    close: shut,
  }
}
