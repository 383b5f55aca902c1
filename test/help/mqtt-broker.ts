import { connect as connectSocket, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import mqtt, { type IConnackPacket, type IConnectPacket, type IPublishPacket, type Packet } from 'mqtt-packet'
import type { Certified } from './certificate.ts'

/** A message as the broker got it, with its connection. */
type PublishedMessage = {
  readonly connection: number
  readonly topic: string
  readonly body: string
  readonly retain: boolean
  readonly properties: IPublishPacket['properties']
  readonly atMs: number
}

type Answer = { readonly code?: number; readonly text?: string } | 'silent' | 'close' | Packet

export type BrokerOptions = {
  /** The newest version of MQTT that it speaks. `closes`: it refuses a newer one by closing the connection. */
  readonly version?: 4 | 5
  readonly closes?: boolean
  readonly connack?: Omit<IConnackPacket, 'cmd' | 'sessionPresent'>
  readonly accept?: (packet: IConnectPacket) => number
  readonly certified?: Certified
  /** The authority of the client certificates that it asks for. */
  readonly clientAuthority?: string
  readonly port?: number
  readonly host?: string
  /** It does not answer pings. */
  readonly mute?: boolean
}

/** Starts a broker of MQTT 5 or 3.1.1 that treats each message as the test says. It has no subscribers. */
export async function startBroker(options: BrokerOptions = {}) {
  const {
    version = 5,
    connack = {},
    accept = () => 0,
    certified,
    clientAuthority,
    closes = false,
    mute = false,
    host = '127.0.0.1',
  } = options
  const messages: PublishedMessage[] = []
  const connects: IConnectPacket[] = []
  const packets: Packet['cmd'][] = []
  const sockets = new Set<Socket>()
  const state: { answer: (message: PublishedMessage) => Answer } = { answer: () => ({}) }
  let connections = 0

  function serve(socket: Socket): void {
    connections += 1
    const connection = connections
    let spoken: 4 | 5 = version
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    const send = (packet: Packet) => {
      if (!socket.destroyed) socket.write(mqtt.generate(packet, { protocolVersion: spoken }))
    }
    const parser = mqtt.parser()
    parser.on('error', () => socket.destroy())
    parser.on('packet', (packet) => {
      packets.push(packet.cmd)
      if (packet.cmd === 'connect') {
        connects.push(packet)
        if (packet.protocolVersion === 5 && version === 4) {
          if (!closes) send({ cmd: 'connack', sessionPresent: false, returnCode: 1 })
          socket.end()
          return
        }
        spoken = packet.protocolVersion === 4 ? 4 : 5
        const code = accept(packet)
        send({ cmd: 'connack', sessionPresent: false, returnCode: code, reasonCode: code, ...connack })
        if (code !== 0) socket.end()
      } else if (packet.cmd === 'pingreq' && !mute) send({ cmd: 'pingresp' })
      else if (packet.cmd === 'publish') take(packet)
    })
    socket.on('data', (chunk) => parser.parse(Buffer.from(chunk)))

    function take({ topic, payload, retain, properties, messageId = 0 }: IPublishPacket): void {
      const message = { connection, topic, body: payload.toString(), retain, properties, atMs: performance.now() }
      messages.push(message)
      const answer = state.answer(message)
      if (answer === 'silent') return
      if (answer === 'close') socket.destroy()
      else if ('cmd' in answer) send(answer)
      else {
        const { code = 0, text } = answer
        const puback = { cmd: 'puback', messageId, reasonCode: code } as const
        send(text === undefined ? puback : { ...puback, properties: { reasonString: text } })
      }
    }
  }

  const demanding =
    clientAuthority === undefined ? {} : { ca: clientAuthority, requestCert: true, rejectUnauthorized: true }
  const server: Server =
    certified === undefined ? createServer(serve) : createTlsServer({ ...certified, ...demanding }, serve)
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, host, resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    port,
    url: `${certified === undefined ? 'mqtt' : 'mqtts'}://127.0.0.1:${port}`,
    messages,
    connects,
    packets,
    connections: () => connections,
    open: () => sockets.size,
    answerWith(answer: (message: PublishedMessage) => Answer): void {
      state.answer = answer
    },
    /** Breaks all connections, as a broker that is killed does. */
    kill(): void {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    [Symbol.dispose](): void {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** A server that says these bytes to everybody who connects, and reads nothing. */
export async function startTalker(bytes: Uint8Array) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', () => {})
    socket.write(bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `mqtt://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    [Symbol.dispose](): void {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** Resolves when a port accepts connections. */
export async function untilListening(port: number): Promise<void> {
  for (;;) {
    const connected = await new Promise<boolean>((resolve) => {
      const socket = connectSocket(port, '127.0.0.1', () => {
        socket.destroy()
        resolve(true)
      })
      socket.on('error', () => resolve(false))
    })
    if (connected) return
    await Bun.sleep(20)
  }
}
