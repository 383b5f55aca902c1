import { afterEach } from 'bun:test'

/**
 * Returns a function that keeps started things: they are stopped when their test is over, the last first. Call it once
 * per test file.
 */
export function keepForTest() {
  const stops: (() => unknown)[] = []
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop()
  })
  return <Started extends { stop(): unknown }>(started: Started): Started => {
    stops.push(() => started.stop())
    return started
  }
}
