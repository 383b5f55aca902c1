import { afterAll } from 'bun:test'

/** Stops are on the global object, since modules are loaded again for each test file. */
const STOPS = Symbol.for('hookswitch.test.stops')
const holder: { [STOPS]?: (() => unknown)[] } & object = Object(globalThis)

/** Stops something that several test files share, at the end of the run. */
export function atRunEnd(stop: () => unknown): void {
  holder[STOPS] ??= []
  holder[STOPS].push(stop)
}

/** Call it once, in the file that is loaded before all tests. */
export function stopAllAtRunEnd(): void {
  afterAll(async () => {
    for (const stop of holder[STOPS]?.splice(0) ?? []) await stop()
  })
}
