import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { createAttempts } from '../../../src/deliveries/mqtt/attempts.ts'
import type { ClientTls } from '../../../src/outbound/client-tls.ts'
import { targetOf } from '../../../src/outbound/target.ts'
import { type Certified, certify, newAuthority } from '../../help/certificate.ts'
import { startBroker } from '../../help/mqtt-broker.ts'
import { startTlsReceiver } from '../../help/tls-receiver.ts'
import { allowing } from '../run/rig.ts'

/** Receivers that ask for a client certificate, and have a certificate of an authority of their own. */

const ours = newAuthority('The authority of the receiver')
const server = certify(['127.0.0.1'], ours)
const ANNA = certify(['anna'], ours)
const BEN = certify(['ben'], ours)
const tlsOf = ({ cert, key }: Certified, ca = ours.pem): ClientTls => ({
  id: Bun.hash(cert + ca).toString(),
  cert,
  key,
  ca,
})

const { attempt, stop } = createAttempts({ allow: allowing('loopback'), timeoutMs: 3_600_000 })
let receiver: Awaited<ReturnType<typeof startTlsReceiver>>

beforeAll(async () => {
  receiver = await startTlsReceiver({ '': server }, ours.pem)
})
afterAll(async () => {
  receiver[Symbol.dispose]()
  await stop()
})

const post = (url: string, tls: ClientTls | undefined, webhookId = 1) =>
  attempt({
    target: targetOf(url),
    id: 'x',
    timestampS: 1,
    signature: 'v1,x',
    traceparent: '',
    body: '{}',
    tls,
    publication: { webhookId, topic: 'x', retain: false },
  })
const urlOf = (port: number) => `https://127.0.0.1:${port}/hook`

test('each request shows the certificate of its webhook, also on connections that are kept', async () => {
  const url = urlOf(receiver.port)
  for (const tls of [ANNA, BEN, ANNA, ANNA, BEN].map((one) => tlsOf(one)))
    expect(await post(url, tls)).toMatchObject({ outcome: { kind: 'delivered' } })
  expect(receiver.requests.map(({ client }) => client)).toEqual(['anna', 'ben', 'anna', 'anna', 'ben'])
  // Nobody else gets one of these connections.
  for (const tls of [undefined, { id: 'ca', ca: ours.pem }])
    expect(await post(url, tls)).toMatchObject({ outcome: { kind: 'unreachable' } })
  expect(receiver.requests).toHaveLength(5)
})

test('a webhook without a certificate is told which option has one', async () => {
  expect(await post(urlOf(receiver.port), { id: 'ca', ca: ours.pem })).toMatchObject({
    outcome: { reason: 'the server wants a client certificate: give the webhook one in its option tls' },
  })
})

test('the authorities of the option are trusted in place of the others', async () => {
  const reason = expect.stringMatching(/^the certificate is of an unknown authority|^the certificate is self-signed/)
  const other = newAuthority('Another').pem
  expect(await post(urlOf(receiver.port), tlsOf(ANNA, other))).toMatchObject({ outcome: { reason } })
})

/** A server that refuses each handshake with this alert. */
async function refusingWith(alert: number) {
  const refusing = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, alert])))
  })
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve))
  const address = refusing.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    [Symbol.dispose]: () => void refusing.close(),
  }
}

test.each([
  ['an unknown authority', 48, 'the server does not know the authority of the client certificate'],
  ['an expired one', 45, 'the server refuses the client certificate: it has expired'],
  ['a bad one', 42, 'the server refuses the client certificate'],
  ['a revoked one', 44, 'the server refuses the client certificate'],
  ['one that may not', 49, 'the server refuses the client certificate'],
])('a refused certificate is explained: %s', async (_, alert, reason) => {
  using refusing = await refusingWith(alert)
  expect(await post(urlOf(refusing.port), tlsOf(ANNA))).toMatchObject({ outcome: { kind: 'unreachable', reason } })
})

describe('a broker', () => {
  test('gets the certificate too, and another connection when it is another one', async () => {
    using broker = await startBroker({ certified: server, clientAuthority: ours.pem })
    for (const tls of [tlsOf(ANNA), tlsOf(ANNA), tlsOf(BEN)])
      expect(await post(`${broker.url}/x`, tls, 7)).toMatchObject({ outcome: { kind: 'delivered' } })
    expect(broker.messages.map(({ connection }) => connection)).toEqual([1, 1, 2])
    expect(await post(`${broker.url}/x`, { id: 'ca', ca: ours.pem }, 8)).toMatchObject({
      outcome: { kind: 'unreachable' },
    })
    expect(broker.messages).toHaveLength(3)
  })
})
