import { checkServerIdentity } from 'node:tls'
import type { Socket } from 'bun'
import { type ClientTls, tlsFieldsOf } from '../../outbound/client-tls.ts'

/** A TCP or TLS connection to a checked address. Nothing is called after `onClose`. */
type BrokerSocket = {
  write(bytes: Uint8Array): void
  close(): void
}

type BrokerSocketOptions = {
  readonly address: string
  readonly port: number
  /** The name that the certificate must have; `undefined`: without TLS. */
  readonly certifiedName: string | undefined
  /** The certificate that it shows, and the authorities that it trusts; `undefined`: none, and the system's. */
  readonly clientTls?: ClientTls | undefined
  /** Called once connected, over TLS with a valid certificate. */
  readonly onOpen: () => void
  readonly onData: (chunk: Uint8Array) => void
  /** Called once when the connection has ended or could not be made. */
  readonly onClose: (error: Error) => void
}

/** Connects to an address; no name is looked up. */
export function openBrokerSocket(options: BrokerSocketOptions): BrokerSocket {
  const { address, port, certifiedName, clientTls, onOpen, onData, onClose } = options
  let socket: Socket | undefined
  let isClosed = false
  let unsent = Buffer.alloc(0)

  const finish = (error: unknown): void => {
    if (isClosed) return
    isClosed = true
    socket?.terminate()
    onClose(error instanceof Error ? error : new Error(String(error)))
  }
  const flush = (): void => {
    if (isClosed || socket === undefined || unsent.length === 0) return
    const sent = socket.write(unsent)
    if (sent > 0) unsent = unsent.subarray(sent)
  }
  const closed = () => finish(new ClosedByBroker())
  const own = clientTls === undefined ? {} : tlsFieldsOf(clientTls)
  const tls = certifiedName === undefined ? {} : { tls: { ...own, ...sni(certifiedName), rejectUnauthorized: true } }
  Bun.connect({
    hostname: address,
    port,
    ...tls,
    socket: {
      open(opened) {
        socket = opened
        if (isClosed) opened.terminate()
        opened.setNoDelay(true)
        if (certifiedName === undefined) onOpen()
      },
      handshake(opened, success, problem) {
        if (isClosed || certifiedName === undefined) return
        const wrong = problem ?? checkServerIdentity(certifiedName, opened.getPeerCertificate())
        if (wrong) finish(wrong)
        else if (success) onOpen()
        else finish(new Error('the TLS handshake failed'))
      },
      data: (_, chunk) => {
        if (!isClosed) onData(chunk)
      },
      drain: flush,
      end: closed,
      close: closed,
      error: (_, error) => finish(error),
      connectError: (_, error) => finish(error),
    },
  }).catch(finish)

  return {
    write(bytes) {
      if (isClosed) return
      if (unsent.length === 0 && socket !== undefined) {
        const sent = Math.max(0, socket.write(bytes))
        if (sent < bytes.length) unsent = Buffer.from(bytes.subarray(sent))
        return
      }
      unsent = Buffer.concat([unsent, bytes])
      flush()
    },
    close() {
      if (isClosed) return
      isClosed = true
      // Sends the written data before it closes.
      socket?.end()
    },
  }
}

/** The other end has closed the connection. */
export class ClosedByBroker extends Error {
  override readonly name = 'ClosedByBroker'
  constructor() {
    super('the broker closed the connection')
  }
}

/** An address has no name to show in the handshake. */
const sni = (name: string) => (/^[\d.]+$|:/.test(name) ? {} : { serverName: name })
