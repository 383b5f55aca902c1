import type { CallEvent } from '../../src/events/bodies.ts'
import { startServe } from './app.ts'
import { ask, newToken, webhook } from './client.ts'
import { startReceiver } from './receiver.ts'

/**
 * `serve` of the compiled file that gets its PBXs after its one webhook is set, so that the receiver misses nothing.
 * `store`: the flags that name another store than a file in `cwd`.
 */
export async function startWatched(cwd: string, pbxUrls: readonly string[], store: readonly string[] = []) {
  const receiver = startReceiver()
  const allow = ['--allow-net', 'loopback', '--log-level', 'warn', ...store]
  const first = await startServe({ cwd, args: allow })
  const token = await newToken(first, 'proof@example.com', { store })
  const put = await ask(first, 'PUT', '/integration/webhook', { token, body: [webhook(`${receiver.url}/calls`)] })
  if (put.status !== 200) throw new Error(put.body.message)
  const { body } = await ask(first, 'GET', '/integration/webhook/secret', { token })
  const [signing] = Array.isArray(body.result) ? body.result : []
  await first.stop()

  const start = () => startServe({ cwd, args: [...allow, ...pbxUrls.flatMap((url) => ['--pbx', url])] })
  let app = await start()
  return {
    receiver,
    token,
    url: () => app.url,
    pid: () => app.pid,
    output: () => app.output(),
    /** Returns the events that the receiver got, each once, in the order of their arrival. */
    bodies: (): CallEvent['body'][] => {
      const byId = new Map(receiver.received.map(({ id, body }) => [id, body] as const))
      return [...byId.values()].map((text) => JSON.parse(text))
    },
    faults: (): string[] => receiver.faults(String(signing?.secret)),
    /** Ends it without a warning, and starts it again. */
    async kill(): Promise<void> {
      await app.stop('SIGKILL')
      app = await start()
    },
    async stop(): Promise<void> {
      await app.stop()
      await receiver.stop()
    },
  }
}
