import type { Socket } from 'bun'

/** A client of a PBX. Bytes that it has not taken are kept, and sent when it reads again. */
export type PbxClient = {
  write(bytes: string | Buffer): void
  close(): void
  /** Returns the bytes that the client has not taken yet. */
  unsent(): Buffer
}

/** The PBX's side of a connection: handles the client's bytes, and learns when the client has taken all of its own. */
type PbxConversation = { data(bytes: Buffer): void; drained?(): void; closed?(): void }

export type PbxServer = { readonly port: number; connections(): number; stop(): void }

/** Starts the server of a PBX; `meet` begins the conversation with each client that connects. */
export function startPbx(meet: (client: PbxClient) => PbxConversation): PbxServer {
  let connections = 0
  const clients = new Map<Socket<undefined>, { flush(): void; conversation: PbxConversation }>()
  const server = Bun.listen<undefined>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        connections += 1
        let unsent: Buffer[] = []
        const flush = (): void => {
          const bytes = Buffer.concat(unsent)
          const rest = bytes.subarray(Math.max(0, socket.write(bytes)))
          unsent = rest.length === 0 ? [] : [rest]
        }
        const conversation = meet({
          write(bytes) {
            unsent.push(Buffer.from(bytes))
            // Others are sent when the client reads again: thousands of them are not copied each time.
            if (unsent.length === 1) flush()
          },
          close: () => void socket.end(),
          unsent: () => Buffer.concat(unsent),
        })
        const flushed = (): void => {
          if (unsent.length > 0) flush()
          if (unsent.length === 0) conversation.drained?.()
        }
        clients.set(socket, { flush: flushed, conversation })
      },
      data: (socket, bytes) => clients.get(socket)?.conversation.data(bytes),
      drain: (socket) => clients.get(socket)?.flush(),
      close(socket) {
        clients.get(socket)?.conversation.closed?.()
        clients.delete(socket)
      },
    },
  })
  return { port: server.port, connections: () => connections, stop: () => server.stop(true) }
}
