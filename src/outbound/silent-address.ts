import type { Socket } from 'bun'
import { NoConnection } from './attempt-failure.ts'
import type { Destination, Target } from './target.ts'

/** Watches one request. `signal` ends it when its address accepts no connection, or when `given` fires. */
type Watch = { readonly signal: AbortSignal; end(): void }

/** How long an address that accepted no connection is tried last. */
const LAST_FOR_MS = 60_000
const MAX_SILENT = 1_024

/**
 * Watches for addresses that never answer a connection. `fetch` does not report whether it has connected yet, and a
 * receiver may answer slowly: so after half of `nextAddressMs` without an answer, a connection of our own shows whether
 * the address accepts any.
 */
export function watchConnecting(nextAddressMs: number) {
  /** The time at which an address was last silent, by origin. */
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
    /** Returns the addresses of a name, those that were silent lately last. */
    sorted(target: Target, addresses: readonly string[]): readonly string[] {
      if (silentMs.size === 0 || addresses.length === 1) return addresses
      const [silent, others] = [[] as string[], [] as string[]]
      for (const one of addresses) (isSilent(target.at(one).origin) ? silent : others).push(one)
      return [...others, ...silent]
    },

    /** Begins to watch a request. */
    begin({ origin, address, port }: Destination, given: AbortSignal): Watch {
      const own = new AbortController()
      const at = { hostname: address ?? '', port }
      let probe: ReturnType<typeof probeConnection> | undefined
      let timer = setTimeout(() => {
        probe = probeConnection(at)
        timer = setTimeout(() => {
          if (probe?.state !== 'none yet') return
          note(origin)
          own.abort(new NoConnection(`no connection within ${nextAddressMs / 1_000} s`))
        }, nextAddressMs / 2)
      }, nextAddressMs / 2)
      return {
        signal: AbortSignal.any([given, own.signal]),
        end() {
          clearTimeout(timer)
          probe?.end()
        },
      }
    },
  }
}

/** Opens a connection and sends nothing. An address that refuses one is not silent. */
function probeConnection(at: { readonly hostname: string; readonly port: number }) {
  let opened: Socket | undefined
  const probe = {
    state: 'none yet' as 'none yet' | 'answered',
    ended: false,
    end() {
      probe.ended = true
      opened?.terminate()
    },
  }
  const answered = () => {
    probe.state = 'answered'
  }
  Bun.connect({
    ...at,
    socket: {
      open(socket) {
        answered()
        opened = socket
        if (probe.ended) socket.terminate()
      },
      data() {},
      connectError: answered,
    },
  }).catch(answered)
  return probe
}
