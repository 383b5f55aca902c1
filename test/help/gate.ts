import { connect, createServer, type Socket } from 'node:net'

/** A port that takes connections and keeps them until it is opened: then they go on to the port that `open` gets. */
export async function startGate() {
  const early: Socket[] = []
  let target: number | undefined
  const through = (socket: Socket) => {
    const onward = connect(target ?? 0, '127.0.0.1')
    const end = () => {
      socket.destroy()
      onward.destroy()
    }
    for (const one of [socket, onward]) one.on('error', end).on('close', end)
    socket.pipe(onward)
    onward.pipe(socket)
  }
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    if (target === undefined) early.push(socket)
    else through(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    open(port: number): void {
      target = port
      for (const socket of early.splice(0)) if (!socket.destroyed) through(socket)
    },
    stop(): void {
      server.close()
      for (const socket of early) socket.destroy()
    },
  }
}
