import type { Socket } from 'bun'

type Side = { readonly socket: Socket<Link>; unsent: Buffer }
type Link = { other: Side | undefined; own: Side | undefined; early: Buffer[] }

/** A way to a TCP server that a test can make silent: then nothing passes in either direction, and no connection is broken. */
export function startTcpProxy(first: { hostname: string; port: number }, onChunk: () => void = () => {}) {
  let to = first
  let isStalled = false
  let refusing = 0
  const sides = new Set<Side>()

  function flush(side: Side): void {
    if (isStalled || side.unsent.length === 0) return
    const sent = side.socket.write(side.unsent)
    if (sent > 0) side.unsent = side.unsent.subarray(sent)
  }
  const pass = (side: Side, chunk: Uint8Array) => {
    side.unsent = Buffer.concat([side.unsent, chunk])
    flush(side)
  }
  const ended = ({ data }: Socket<Link>) => {
    if (data.own !== undefined) sides.delete(data.own)
    data.other?.socket.end()
  }
  const server = Bun.listen<Link>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(client) {
        if (refusing > 0) {
          refusing -= 1
          client.data = { own: undefined, other: undefined, early: [] }
          client.terminate()
          return
        }
        const own: Side = { socket: client, unsent: Buffer.alloc(0) }
        client.data = { own, other: undefined, early: [] }
        sides.add(own)
        void Bun.connect<Link>({
          ...to,
          data: { own: undefined, other: own, early: [] },
          socket: {
            open(upstream) {
              const far: Side = { socket: upstream, unsent: Buffer.alloc(0) }
              upstream.data.own = far
              sides.add(far)
              client.data.other = far
              for (const chunk of client.data.early.splice(0)) pass(far, chunk)
            },
            data: (upstream, chunk) => upstream.data.other && pass(upstream.data.other, chunk),
            drain: (upstream) => upstream.data.own && flush(upstream.data.own),
            close: ended,
            error: ended,
          },
        }).catch(() => client.end())
      },
      data(client, chunk) {
        onChunk()
        if (client.data.other === undefined) client.data.early.push(Buffer.from(chunk))
        else pass(client.data.other, chunk)
      },
      drain: (client) => client.data.own && flush(client.data.own),
      close: ended,
      error: ended,
    },
  })
  return {
    port: server.port,
    stall(): void {
      isStalled = true
    },
    /** Lets the bytes through that arrived meanwhile. */
    resume(): void {
      isStalled = false
      for (const side of sides) flush(side)
    },
    /** Breaks all connections, and the next `andNext` new ones. */
    breakAll(andNext: number): void {
      refusing = andNext
      for (const { socket } of [...sides]) socket.terminate()
    },
    /** Leads new connections to another server; those that are open stay where they are. */
    leadTo(next: { hostname: string; port: number }): void {
      to = next
    },
    stop: () => server.stop(true),
  }
}
