import { afterEach, expect, test } from 'bun:test'
import { watchLiveness } from '../../../src/pbx/connection/liveness.ts'
import { until } from '../../help/receiver.ts'

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

/** Watches a connection; the test decides how long it has been silent and whether it answers. */
function watch({ silentMs, answers }: { silentMs: () => number; answers: readonly boolean[] }) {
  const seen = { checks: 0, probes: 0, deaths: 0 }
  const liveness = watchLiveness({
    idleMs: 4,
    silentMs() {
      seen.checks += 1
      return silentMs()
    },
    probe: async () => answers[Math.min(seen.probes++, answers.length - 1)] ?? false,
    dead() {
      seen.deaths += 1
    },
  })
  stops.push(liveness.stop)
  return { seen, stop: liveness.stop }
}

test('a connection on which something arrives is not probed', async () => {
  const { seen } = watch({ silentMs: () => 3, answers: [false] })
  await until('it was checked', () => seen.checks > 5)
  expect([seen.probes, seen.deaths]).toEqual([0, 0])
})

test('a silent one is probed as long as it answers, and dead when it does not', async () => {
  const { seen } = watch({ silentMs: () => 5, answers: [true, true, false] })
  await until('it is dead', () => seen.deaths > 0)
  expect(seen.probes).toBe(3)
})

test('nobody learns of a death once it was stopped', async () => {
  const probing = Promise.withResolvers<boolean>()
  let probes = 0
  let deaths = 0
  const liveness = watchLiveness({
    idleMs: 4,
    silentMs: () => 5,
    probe() {
      probes += 1
      return probing.promise
    },
    dead() {
      deaths += 1
    },
  })
  await until('it is probed', () => probes === 1)
  liveness.stop()
  probing.resolve(false)
  await probing.promise
  await Promise.resolve()
  expect([probes, deaths]).toEqual([1, 0])
})
