import { checkServerIdentity } from 'node:tls'
import type { Socket } from 'bun'
import { readCertificates } from '../../lib/certificate-file.ts'
import { PBX_PROTOCOLS } from '../source/pbx-facts.ts'
import { hostAndPort, type PbxSource } from '../source/pbx-url.ts'

/** A TCP or TLS connection to a PBX. Closing it twice, or writing after the end, has no effect. */
export type PbxSocket = {
  /** Resolves with `true` once connected (over TLS with a valid certificate), with `false` if that failed. */
  readonly opened: Promise<boolean>
  /** Resolves with the reason when either side has closed it. No chunk follows. */
  readonly closed: Promise<string>
  /**
   * Passes on each chunk from now on, beginning with those that have arrived. The handler must not wait: a PBX drops a
   * client that does not read.
   */
  read(handle: (chunk: Uint8Array) => void): void
  /** Stops reading until `resume`: further bytes wait at the PBX. */
  pause(): void
  resume(): void
  write(text: string): void
  close(): void
}

export type SocketAddress = {
  readonly host: string
  readonly port: number
  /** Use TLS; `caFile` has certificates (PEM) to trust instead of the system's. */
  readonly tls: { readonly caFile?: string | undefined } | undefined
}

export const addressOf = ({ host, port, protocol, caFile }: PbxSource): SocketAddress => ({
  host,
  port,
  tls: PBX_PROTOCOLS[protocol].isOverTls ? { caFile } : undefined,
})

/** Opens a connection; a failure to connect closes it. */
export function openSocket({ host, port, tls }: SocketAddress, connectMs: number): PbxSocket {
  const opening = Promise.withResolvers<boolean>()
  const closing = Promise.withResolvers<string>()
  const where = hostAndPort({ host, port })
  let socket: Socket | undefined
  let isClosed = false
  let unsent = Buffer.alloc(0)
  let unread: Uint8Array[] = []
  let handle = (chunk: Uint8Array): void => void unread.push(chunk)

  const finish = (reason: string): void => {
    if (isClosed) return
    isClosed = true
    clearTimeout(timer)
    socket?.terminate()
    opening.resolve(false)
    closing.resolve(reason)
  }
  const timer = setTimeout(() => finish(`${where} does not answer`), connectMs)
  const connected = (): void => {
    clearTimeout(timer)
    opening.resolve(!isClosed)
  }
  const flush = (): void => {
    if (isClosed || socket === undefined || unsent.length === 0) return
    const sent = socket.write(unsent)
    if (sent > 0) unsent = unsent.subarray(sent)
  }
  connect(
    { host, port, tls },
    {
      open(opened) {
        socket = opened
        if (isClosed) opened.terminate()
      },
      connected,
      data(chunk) {
        if (!isClosed) handle(chunk)
      },
      drain: flush,
      finish,
    },
  ).catch((error) => finish(`cannot connect to ${where}: ${reasonOf(error)}`))

  return {
    opened: opening.promise,
    closed: closing.promise,
    read(handler) {
      handle = handler
      const arrived = unread
      unread = []
      for (const chunk of arrived) handler(chunk)
    },
    pause: () => void socket?.pause(),
    resume: () => void socket?.resume(),
    write(text) {
      unsent = Buffer.concat([unsent, Buffer.from(text)])
      flush()
    },
    close: () => finish('closed by Hookswitch'),
  }
}

type Handlers = {
  open(socket: Socket): void
  /** Called once connected, over TLS with a valid certificate. */
  connected(): void
  data(chunk: Uint8Array): void
  drain(): void
  finish(reason: string): void
}

async function connect({ host, port, tls }: SocketAddress, handlers: Handlers): Promise<void> {
  const { open, connected, data, drain, finish } = handlers
  const where = hostAndPort({ host, port })
  await Bun.connect({
    hostname: host,
    port,
    ...(tls === undefined ? {} : { tls: trust(host, tls.caFile) }),
    socket: {
      open(socket) {
        open(socket)
        socket.setKeepAlive(true, 30_000)
        socket.setNoDelay(true)
        if (tls === undefined) connected()
      },
      handshake(socket, success, problem) {
        const wrong = problem ?? checkServerIdentity(host, socket.getPeerCertificate())
        if (!success || wrong) finish(`the certificate of ${where} is refused: ${wrong?.message ?? 'no handshake'}`)
        else connected()
      },
      data: (_, chunk) => data(chunk),
      drain,
      end: () => finish(`${where} closed the connection`),
      close: () => finish(`${where} closed the connection`),
      error: (_, error) => finish(`the connection to ${where} broke: ${error.message}`),
      connectError: (_, error) => finish(`cannot connect to ${where}: ${reasonOf(error)}`),
    },
  })
}

/** Reads the file at each connection, so that a renewed certificate needs no restart. */
function trust(host: string, caFile: string | undefined) {
  const ca = caFile === undefined ? {} : { ca: readCertificates(caFile) }
  return { serverName: host, rejectUnauthorized: true, ...ca }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ECONNREFUSED') return 'connection refused'
  if (code === 'ENOTFOUND') return 'no such host'
  return error instanceof Error ? error.message : String(error)
}
