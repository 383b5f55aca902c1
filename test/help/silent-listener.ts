import { dlopen, FFIType } from 'bun:ffi'
import { connect, type Socket } from 'node:net'

/**
 * Makes an address of this machine swallow packets, like a firewall: a listening socket that accepts nobody and whose
 * queue is full, so that Linux drops further packets.
 */
export async function listenSilently(address: string, port: number): Promise<{ stop(): void }> {
  const { i32, ptr } = FFIType
  const { symbols, close } = dlopen('libc.so.6', {
    socket: { args: [i32, i32, i32], returns: i32 },
    bind: { args: [i32, ptr, i32], returns: i32 },
    listen: { args: [i32, i32], returns: i32 },
    close: { args: [i32], returns: i32 },
  })
  const [AF_INET, SOCK_STREAM] = [2, 1]
  const listener = symbols.socket(AF_INET, SOCK_STREAM, 0)
  const name = new Uint8Array([
    AF_INET,
    0,
    port >> 8,
    port & 255,
    ...address.split('.').map(Number),
    ...Array(8).fill(0),
  ])
  if (symbols.bind(listener, name, name.length) !== 0) throw new Error(`cannot bind ${address}:${port}`)
  if (symbols.listen(listener, 0) !== 0) throw new Error(`cannot listen on ${address}:${port}`)
  // A queue for none holds one; those behind it are not answered.
  const waiting: Socket[] = []
  const fill = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, address, () => resolve(true))
      waiting.push(socket)
      socket.on('error', () => resolve(false))
      setTimeout(() => resolve(false), 300)
    })
  while (await fill());
  return {
    stop() {
      for (const socket of waiting) socket.destroy()
      symbols.close(listener)
      close()
    },
  }
}
