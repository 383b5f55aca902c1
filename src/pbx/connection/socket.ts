import { checkServerIdentity } from 'node:tls'
import type { Socket } from 'bun'

/** What a link tells its owner. `data` must not wait for anything: the PBX drops a client that does not read. */
export type LinkHandlers = {
  /** Connected, over TLS its certificate checked too. */
  open(): void
  data(chunk: Uint8Array): void
  /** Called once, whatever happened; nothing is called after it. */
  close(reason: string): void
}

/** A connection to a PBX. Closing it twice is fine; writing to a closed one does nothing. */
export type Link = { write(text: string): void; close(): void }

export type LinkAddress = {
  readonly host: string
  readonly port: number
  /** Over TLS; `caFile` holds certificates (PEM) to trust in place of the system's. */
  readonly tls?: { readonly caFile?: string | undefined } | undefined
}

const CONNECT_TIMEOUT_MS = 10_000

/** Opens a TCP or TLS connection. Failing to connect is a `close` too. */
export function openLink(address: LinkAddress, handlers: LinkHandlers, connectTimeoutMs = CONNECT_TIMEOUT_MS): Link {
  let socket: Socket | undefined
  let closed = false
  let unsent = Buffer.alloc(0)
  const where = `${address.host}:${address.port}`

  const finish = (reason: string): void => {
    clearTimeout(timer)
    if (closed) return
    closed = true
    socket?.terminate()
    handlers.close(reason)
  }
  const timer = setTimeout(() => finish(`${where} does not answer`), connectTimeoutMs)
  const opened = (): void => {
    clearTimeout(timer)
    if (!closed) handlers.open()
  }
  const flush = (): void => {
    if (closed || socket === undefined || unsent.length === 0) return
    const sent = socket.write(unsent)
    if (sent > 0) unsent = unsent.subarray(sent)
  }

  const tls = address.tls
  const start = async (): Promise<unknown> =>
    Bun.connect({
      hostname: address.host,
      port: address.port,
      ...(tls === undefined ? {} : { tls: await trust(address.host, tls.caFile) }),
      socket: {
        open(opening) {
          socket = opening
          if (closed) opening.terminate()
          opening.setKeepAlive(true, 30_000)
          opening.setNoDelay(true)
          if (tls === undefined) opened()
        },
        handshake(shaken, success, problem) {
          const wrong = problem ?? checkServerIdentity(address.host, shaken.getPeerCertificate())
          if (!success || wrong) finish(`the certificate of ${where} is refused: ${wrong?.message ?? 'no handshake'}`)
          else opened()
        },
        data(_, chunk) {
          if (!closed) handlers.data(chunk)
        },
        drain: flush,
        end: () => finish(`${where} closed the connection`),
        close: () => finish(`${where} closed the connection`),
        error: (_, error) => finish(`the connection to ${where} broke: ${error.message}`),
        connectError: (_, error) => finish(`cannot connect to ${where}: ${reasonOf(error)}`),
      },
    })
  // A microtask later, so that the owner has the link before it hears of it.
  void Promise.resolve()
    .then(start)
    .catch((error) => finish(`cannot connect to ${where}: ${reasonOf(error)}`))

  return {
    write(text) {
      unsent = Buffer.concat([unsent, Buffer.from(text)])
      flush()
    },
    close: () => finish('closed by us'),
  }
}

/** The file is read at each connection: a renewed certificate needs no restart. */
async function trust(host: string, caFile: string | undefined) {
  const ca = caFile === undefined ? {} : { ca: await Bun.file(caFile).text() }
  return { serverName: host, rejectUnauthorized: true, ...ca }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ECONNREFUSED') return 'connection refused'
  if (code === 'ENOTFOUND') return 'no such host'
  return error instanceof Error ? error.message : String(error)
}
