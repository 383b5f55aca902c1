/** Ports below those that Linux gives to whoever asks for any (from 32768), and above those of usual services. */
const [FIRST, LAST] = [20_000, 32_000]

/**
 * Returns a port of this machine for a program that is told its port. It stays the caller's until this process ends: no
 * listener on port 0 gets one of this range, and a Unix socket without a file keeps the port from other test processes.
 * Throws if none is free.
 */
export function reservePort(): number {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST))
    if (keepsSocket({ unix: `\0hookswitch-test-port-${port}` }) && isFree(port)) return port
  }
  throw new Error(`no port from ${FIRST} to ${LAST} is free`)
}

function keepsSocket({ unix }: { unix: string }): boolean {
  try {
    Bun.listen({ unix, socket: { data() {} } }).unref()
    return true
  } catch {
    return false
  }
}

function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: '0.0.0.0', port, socket: { data() {} } }).stop(true)
    return true
  } catch {
    return false
  }
}
