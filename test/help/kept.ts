import { afterEach } from 'bun:test'

/** Returns what stops all that a test has started when that test is over, the last first. To be called once in a file of tests. */
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
