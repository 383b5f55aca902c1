import type { AbortGroup } from '../../outbound/abort-group.ts'
import type { AllowList } from '../../outbound/address-guard.ts'
import { isOutOfFiles, reasonOf, wasNotConnected } from '../../outbound/attempt-failure.ts'
import type { ClientTls } from '../../outbound/client-tls.ts'
import { createDeadlines } from '../../outbound/deadlines.ts'
import { OUT_OF_FILES, TIMEOUT_MS, within } from '../../outbound/guarded-request.ts'
import type { Attempted, Outcome } from '../../outbound/outcome.ts'
import { newResolver, type Resolve } from '../../outbound/resolver.ts'
import type { Target } from '../../outbound/target.ts'
import type { Attempt } from '../sending/attempt.ts'
import { createBrokerAddresses, THROUGH_PROXY } from './broker-addresses.ts'
import { type BrokerConnection, connectToBroker, LateConnection } from './broker-connection.ts'
import { describeReason, isAboutTheMessage, isFailure } from './reason-codes.ts'
import type { Message, Published, Version } from './session.ts'

type MqttOptions = {
  readonly allow: AllowList
  /** An egress proxy: MQTT does not go through it, so nothing is sent. */
  readonly proxy?: string
  readonly timeoutMs?: number
  /** How long to wait for a connection to an address before trying the next one. */
  readonly nextAddressMs?: number
  readonly resolve?: Resolve
}

/** The senders of MQTT webhooks, each with its connection. */
export type MqttAttempts = {
  /** Publishes an event; never throws: a failure is an outcome. */
  readonly attempt: Attempt
  /** Closes the connection of a webhook. */
  forget(webhookId: number): void
  /** Closes all connections. */
  stop(): void
}

/** The connection to the broker of one webhook, and the facts about it. */
type Known = {
  connection: BrokerConnection | undefined
  opening: Promise<BrokerConnection> | undefined
  /** The newest version that the broker has not refused. */
  version: Version
  readonly closing: AbortController
  /** How its connections take part in TLS handshakes. */
  readonly tls: ClientTls | undefined
}

const NEXT_ADDRESS_MS = 2_000
const CHECK_MS = 1_000

/** Creates the sender of MQTT webhooks. */
export function createMqttAttempts(options: MqttOptions): MqttAttempts {
  const { allow, proxy, timeoutMs = TIMEOUT_MS, nextAddressMs = NEXT_ADDRESS_MS, resolve = newResolver() } = options
  const addressesOf = createBrokerAddresses(allow, resolve)
  const deadlines = createDeadlines(timeoutMs)
  const known = new Map<number, Known>()
  let timer: Timer | undefined

  function knownOf(webhookId: number, tls: ClientTls | undefined): Known {
    const found = known.get(webhookId)
    if (found !== undefined && found.tls?.id === tls?.id) return found
    // Other certificates need another handshake.
    if (found !== undefined) forget(webhookId)
    const closing = new AbortController()
    const added: Known = { connection: undefined, opening: undefined, version: 5, closing, tls }
    known.set(webhookId, added)
    timer ??= setInterval(check, CHECK_MS)
    return added
  }

  function check(): void {
    const nowMs = performance.now()
    for (const { connection } of known.values()) connection?.check(nowMs)
    if (Array.from(known.values()).some(({ connection, opening }) => connection?.isOpen() || opening !== undefined))
      return
    clearInterval(timer)
    timer = undefined
  }

  /** Returns the open connection of a webhook, or the one that is being opened, or opens one. */
  function connectionOf(entry: Known, target: Target, group: AbortGroup | undefined) {
    if (entry.connection?.isOpen()) return { connection: entry.connection, isNew: false }
    const isNew = entry.opening === undefined
    entry.opening ??= open(entry, target, group).finally(() => {
      entry.opening = undefined
    })
    return { connection: entry.opening, isNew }
  }

  async function open(entry: Known, target: Target, group: AbortGroup | undefined): Promise<BrokerConnection> {
    const addresses = await addressesOf(target)
    timer ??= setInterval(check, CHECK_MS)
    for (const [index, address] of addresses.entries()) {
      try {
        entry.connection = await connect(address, index + 1 === addresses.length)
        entry.version = entry.connection.version
        return entry.connection
      } catch (error) {
        if (!wasNotConnected(error) || index + 1 === addresses.length) throw error
      }
    }
    throw new Error('no address is left')

    async function connect(address: string, isLast: boolean): Promise<BrokerConnection> {
      const { broker, literal, name } = target
      if (broker === undefined) throw new Error('an HTTP webhook has no broker')
      const own = new AbortController()
      const abort = () => own.abort()
      const forgetConnection = () => {
        entry.closing.signal.removeEventListener('abort', abort)
        group?.remove(own)
      }
      if (entry.closing.signal.aborted || group?.isAborted) abort()
      entry.closing.signal.addEventListener('abort', abort)
      group?.add(own)
      try {
        return await connectToBroker({
          broker,
          address,
          name: literal ?? name,
          tls: entry.tls,
          version: entry.version,
          withinMs: timeoutMs,
          connectMs: isLast ? timeoutMs : nextAddressMs,
          signal: own.signal,
          onClosed: forgetConnection,
        })
      } catch (error) {
        forgetConnection()
        throw error
      }
    }
  }

  const attempt: Attempt = async (request) => {
    const startedMs = performance.now()
    const { target, group, publication } = request
    if (group?.isAborted) return failed({ kind: 'aborted' }, null, startedMs)
    if (publication === undefined) throw new Error('a request to a broker has no topic')
    if (proxy !== undefined) return failed({ kind: 'unreachable', reason: THROUGH_PROXY }, null, startedMs)
    const entry = knownOf(publication.webhookId, request.tls)
    const message: Message = {
      topic: publication.topic,
      body: request.body,
      contentType: request.contentType ?? 'application/json',
      userProperties: userPropertiesOf(request),
      retain: publication.retain,
    }
    const deadline = deadlines.begin(startedMs, group)
    let used: BrokerConnection | undefined
    try {
      for (let mayResend = true; ; ) {
        deadline.signal.throwIfAborted()
        const { connection, isNew } = connectionOf(entry, target, group)
        try {
          used = connection instanceof Promise ? await within(connection, deadline.signal) : connection
        } catch (error) {
          // Others have waited for it for longer.
          if (error instanceof LateConnection && !isNew) continue
          throw error
        }
        deadline.signal.throwIfAborted()
        const published = await within(used.publish(message), deadline.signal)
        // A kept connection may be closed by the broker just as the message is sent: that is no failure.
        if (published.kind === 'lost' && !isNew && mayResend && !group?.isAborted) {
          mayResend = false
          continue
        }
        if (published.kind === 'lost' && group?.isAborted) return failed({ kind: 'aborted' }, used.address, startedMs)
        const durationMs = Math.round(performance.now() - startedMs)
        const { address, version } = used
        const response =
          published.kind === 'acknowledged' ? describeAnswer(published.code, message.topic, version) : null
        return { outcome: outcomeOf(published), durationMs, address, response }
      }
    } catch (error) {
      const address = used?.address ?? null
      if (group?.isAborted) return failed({ kind: 'aborted' }, address, startedMs)
      if (isOutOfFiles(error)) return failed({ kind: 'unsent', reason: OUT_OF_FILES }, address, startedMs)
      // Later messages must not wait for a broker that has become silent.
      if (deadline.signal.aborted) used?.retire()
      return failed({ kind: 'unreachable', reason: reasonOf(error, timeoutMs) }, address, startedMs)
    } finally {
      deadline.end()
    }
  }

  function forget(webhookId: number): void {
    const entry = known.get(webhookId)
    known.delete(webhookId)
    entry?.closing.abort()
    entry?.connection?.close()
  }

  return {
    attempt,
    forget,
    stop() {
      for (const webhookId of [...known.keys()]) forget(webhookId)
      clearInterval(timer)
      timer = undefined
    },
  }
}

/** Returns an attempt without an answer, which ends now. */
const failed = (outcome: Outcome, address: string | null, startedMs: number): Attempted => ({
  outcome,
  durationMs: Math.round(performance.now() - startedMs),
  address,
  response: null,
})

/** The headers of an HTTP request that are not about HTTP. */
function userPropertiesOf(request: Parameters<Attempt>[0]): Readonly<Record<string, string>> {
  const { id, timestampS, signature, traceparent, headers } = request
  return {
    ...headers,
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signature,
    traceparent,
  }
}

function outcomeOf(published: Published): Outcome {
  switch (published.kind) {
    case 'lost':
      return { kind: 'unreachable', reason: published.reason }
    case 'unacceptable':
      return { kind: 'rejected', reason: published.reason }
    case 'acknowledged': {
      const { code, text } = published
      if (!isFailure(code)) return { kind: 'delivered', status: null }
      const reason = `the broker refused the message: ${describeReason(code, text)}`
      return { kind: isAboutTheMessage(code) ? 'rejected' : 'unreachable', reason }
    }
    default:
      return published satisfies never
  }
}

const NO_SUBSCRIBERS = 16

function describeAnswer(code: number, topic: string, version: Version): string | null {
  if (isFailure(code)) return null
  const protocol = version === 5 ? 'MQTT 5' : 'MQTT 3.1.1'
  return `acknowledged (${protocol}), topic ${topic}${code === NO_SUBSCRIBERS ? ', without a subscriber at present' : ''}`
}
