import type { Dialogue } from './actions.ts'

/** Pings a connection on which nothing has come for a while; calls `dead` when two pings in a row are not answered. */
export function startPings(
  dialogue: Dialogue,
  idleMs: number,
  { silentMs, dead }: { silentMs: () => number; dead: () => void },
): () => void {
  let pinging = false
  let stopped = false
  const ping = async (): Promise<void> => {
    pinging = true
    const answered = (await dialogue.ask({ Action: 'Ping' })).kind !== 'silent'
    if (!answered && !stopped && (await dialogue.ask({ Action: 'Ping' })).kind === 'silent' && !stopped) dead()
    pinging = false
  }
  const timer = setInterval(() => {
    if (!pinging && silentMs() >= idleMs) void ping()
  }, idleMs / 4)
  return () => {
    stopped = true
    clearInterval(timer)
  }
}
