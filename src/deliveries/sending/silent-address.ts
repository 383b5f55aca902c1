import type { Socket } from 'bun'
import { NoConnection } from './attempt-failure.ts'
import type { Place, Target } from './target.ts'

/** Watches one request. `signal` ends it when its address takes no connection, or when `given` does. */
type Watch = { readonly signal: AbortSignal; end(): void }

/** How long an address that took no connection is tried after the others. */
const LAST_FOR_MS = 60_000
const MAX_SILENT = 1_024
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/**
 * Finds the addresses that swallow packets. `fetch` does not say whether it has connected yet, and a receiver may take its time to answer:
 * so when nothing came for half of `nextAddressMs`, it is looked whether the address takes a connection at all.
 */
export function watchConnecting(nextAddressMs: number) {
  /** When an address was silent last, by its origin. */
  const silentMs = new Map<string, number>()

  const isSilent = (origin: string): boolean => {
    const atMs = silentMs.get(origin)
    return atMs !== undefined && performance.now() - atMs < LAST_FOR_MS
  }
  const note = (origin: string) => {
    silentMs.delete(origin)
    silentMs.set(origin, performance.now())
    const [oldest] = silentMs.keys()
    if (silentMs.size > MAX_SILENT && oldest !== undefined) silentMs.delete(oldest)
  }

  return {
    /** Returns a name's addresses with those that were silent lately last. */
    sorted(target: Target, addresses: readonly string[]): readonly string[] {
      if (silentMs.size === 0 || addresses.length === 1) return addresses
      const [silent, others] = [[] as string[], [] as string[]]
      for (const one of addresses) (isSilent(target.at(one).origin) ? silent : others).push(one)
      return [...others, ...silent]
    },

    begin({ url, origin, address }: Place, given: AbortSignal): Watch {
      const own = new AbortController()
      const { protocol, port } = new URL(url)
      const at = { hostname: address ?? '', port: Number(port === '' ? DEFAULT_PORTS[protocol] : port) }
      let look: ReturnType<typeof lookForConnection> | undefined
      let timer = setTimeout(() => {
        look = lookForConnection(at)
        timer = setTimeout(() => {
          if (look?.state !== 'none yet') return
          note(origin)
          own.abort(new NoConnection(`no connection within ${nextAddressMs / 1_000} s`))
        }, nextAddressMs / 2)
      }, nextAddressMs / 2)
      return {
        signal: AbortSignal.any([given, own.signal]),
        end() {
          clearTimeout(timer)
          look?.end()
        },
      }
    },
  }
}

/** Opens a connection and sends nothing. An address that refuses one is not silent. */
function lookForConnection(at: { readonly hostname: string; readonly port: number }) {
  let opened: Socket | undefined
  const look = {
    state: 'none yet' as 'none yet' | 'answered',
    ended: false,
    end() {
      look.ended = true
      opened?.terminate()
    },
  }
  const answered = () => {
    look.state = 'answered'
  }
  Bun.connect({
    ...at,
    socket: {
      open(socket) {
        answered()
        opened = socket
        if (look.ended) socket.terminate()
      },
      data() {},
      connectError: answered,
    },
  }).catch(answered)
  return look
}
