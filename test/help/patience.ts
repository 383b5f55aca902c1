import { stopAllAtRunEnd } from './run-end.ts'

/**
 * Loaded by `bun test` before all else (bunfig.toml). No test depends on the speed of the machine: a limit only ends a
 * test that hangs. Bun begins each file with its own limit of 5 s, and has no setting for another: so each file begins
 * by setting it.
 */
const TEST_MS = 900_000

Bun.plugin({
  name: 'patience',
  setup: (build) =>
    void build.onLoad({ filter: /\.test\.ts$/ }, async ({ path }) => ({
      loader: 'ts',
      // On the first line, so that the numbers of all lines stay.
      contents: `import { setDefaultTimeout as patience } from 'bun:test'; patience(${TEST_MS}); ${await Bun.file(path).text()}`,
    })),
})

// `bun run test` sets the other value: test/run.ts.
process.env.HOOKSWITCH_TEST_LANE ??= 'fast'

stopAllAtRunEnd()
