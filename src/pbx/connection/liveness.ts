type Options = {
  /** Silence after which the PBX is probed. */
  readonly idleMs: number
  /** Returns the milliseconds since the last bytes arrived. */
  readonly silentMs: () => number
  /** Resolves with whether the PBX still answers. */
  readonly probe: () => Promise<boolean>
  /** Called once, when it does not. */
  readonly dead: () => void
}

/** Checks several times per `idleMs` how long a connection has been silent. */
export function watchLiveness({ idleMs, silentMs, probe, dead }: Options): { stop(): void } {
  let isProbing = false
  let isStopped = false
  const check = async (): Promise<void> => {
    isProbing = true
    const isAlive = await probe()
    isProbing = false
    if (isAlive || isStopped) return
    stop()
    dead()
  }
  const timer = setInterval(() => {
    if (!isProbing && silentMs() >= idleMs) void check()
  }, idleMs / 4)
  const stop = (): void => {
    isStopped = true
    clearInterval(timer)
  }
  return { stop }
}
