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
        let unsent = Buffer.alloc(0)
        const flush = (): void => {
          if (unsent.length > 0) unsent = unsent.subarray(Math.max(0, socket.write(unsent)))
        }
        const conversation = meet({
          write(bytes) {
            unsent = unsent.length === 0 ? Buffer.from(bytes) : Buffer.concat([unsent, Buffer.from(bytes)])
            flush()
          },
          close: () => void socket.end(),
          unsent: () => unsent,
        })
        const flushed = (): void => {
          flush()
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
