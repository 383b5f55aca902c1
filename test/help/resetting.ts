import { connect, createServer, type Socket } from 'node:net'

/**
 * When a connection is reset (RST, as by a killed process): never, after half of a request, or after half of its
 * answer.
 */
type Reset = 'never' | 'request' | 'answer'

const half = (chunk: Buffer | string): Buffer => Buffer.from(chunk).subarray(0, chunk.length / 2)

/** Is put before a receiver and resets connections. `tried` are the ids of all requests that came to it, in their order. */
export async function startResetting(target: number) {
  const tried: string[] = []
  const state: { reset: Reset; resets: number } = { reset: 'never', resets: 0 }

  const through = (client: Socket) => {
    const onward = connect(target, '127.0.0.1')
    const end = () => {
      client.destroy()
      onward.destroy()
    }
    const reset = () => {
      state.resets += 1
      client.resetAndDestroy()
      onward.resetAndDestroy()
    }
    for (const one of [client, onward]) one.on('error', end).on('close', end)
    client.on('data', (chunk) => {
      tried.push(...[...chunk.toString().matchAll(/webhook-id: (\S+)/gi)].map(([, id = '']) => id))
      if (state.reset !== 'request') onward.write(chunk)
      else onward.write(half(chunk), reset)
    })
    onward.on('data', (chunk) => {
      if (state.reset !== 'answer') client.write(chunk)
      else client.write(half(chunk), reset)
    })
  }
  const server = createServer(through)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    tried,
    resets: () => state.resets,
    reset(how: Reset): void {
      state.reset = how
    },
    stop: () => void server.close(),
  }
}
