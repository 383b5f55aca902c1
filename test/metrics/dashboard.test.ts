import { expect, test } from 'bun:test'
import { METRICS, type MetricDefinition } from '../../src/metrics/catalog.ts'
import { grafanaDashboard } from '../../src/metrics/dashboard.ts'
import { createMetrics } from '../../src/metrics/measurement.ts'
import { newRig } from '../deliveries/run/rig.ts'
import { emptyFolder, run } from '../help/app.ts'
import { GUIDE_TEXT } from '../help/guides.ts'

const definitions: readonly MetricDefinition[] = Object.values(METRICS)

/** The metrics of a running service with their types, as its own scrape declares them. */
async function scraped(): Promise<Map<string, string>> {
  const metrics = createMetrics()
  await using rig = await newRig({ observer: metrics.observer })
  const { store, dispatcher } = rig
  const disk = { freeBytes: () => 1, nearlyFull: () => false, stop: async () => {} }
  metrics.watch({
    store,
    dispatcher,
    refusals: { refusing: () => [] },
    contacts: { outcomes: () => new Map([['found', 2]]), openBreakers: () => 0 },
    disk,
    states: () => new Map(),
    pbxs: () => [],
    unstored: () => 0,
    steadyUs: rig.clock.steadyUs,
  })
  const types = [...(await metrics.text()).matchAll(/^# TYPE (\w+) (\w+)$/gm)]
  return new Map(types.map(([, name = '', type = '']) => [name, type]))
}

/** Returns the metrics of a query, each with the labels that the query selects or sums by. */
function asked(expr: string): { name: string; labels: string[] }[] {
  const by = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(',').map((one) => one.trim()))
  return [...expr.matchAll(/\b(hookswitch_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', selected = '']) => ({
    name,
    labels: [...[...selected.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']) => label), ...by],
  }))
}

/** The metric behind a name: a histogram is asked for by its buckets, its sum and its count. */
const behind = (name: string): MetricDefinition | undefined =>
  definitions.find((one) =>
    one.type === 'histogram'
      ? name.replace(/_(bucket|sum|count)$/, '') === one.name && name !== one.name
      : name === one.name,
  )

/** Labels that Prometheus adds, and the label of a histogram's buckets. */
const OWN = ['job', 'instance', 'le']

function expectKnown(expr: string): void {
  const metrics = asked(expr)
  expect(metrics.length).toBeGreaterThan(0)
  for (const { name, labels } of metrics) {
    const found = behind(name)
    expect({ expr, name, known: found !== undefined }).toEqual({ expr, name, known: true })
    for (const label of labels) expect([...OWN, ...(found?.labels ?? [])]).toContain(label)
  }
}

test('the catalog has the metrics that a service has, with their types, and no other', async () => {
  const declared = new Map(definitions.map(({ name, type }) => [name as string, type as string]))
  expect(await scraped()).toEqual(declared)
})

const targets = grafanaDashboard().panels.flatMap((panel) => ('targets' in panel ? panel.targets : []))

test.each(targets.map(({ expr }) => expr))('the dashboard asks for metrics and labels that there are: %s', expectKnown)

test('every metric is on the dashboard', () => {
  const shown = new Set(targets.flatMap(({ expr }) => asked(expr).map(({ name }) => behind(name)?.name)))
  expect(definitions.map(({ name }) => name).filter((name) => !shown.has(name))).toEqual([])
})

test('its panels lie beside and below each other, each with an id and a place of its own', () => {
  const { panels } = grafanaDashboard()
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos }) => {
    const { x = 0, y = 0, w = 0, h = 0 } = gridPos as Record<string, number>
    expect(x + w).toBeLessThanOrEqual(24)
    return Array.from({ length: w * h }, (_, n) => `${x + (n % w)} ${y + Math.floor(n / w)}`)
  })
  expect(new Set(cells).size).toBe(cells.length)
})

const rules = [...GUIDE_TEXT.matchAll(/^ +expr: (.*hookswitch_.*)$/gm)].map(([, expr = '']) => expr)

test.each(rules)('the guide alerts on metrics and labels that there are: %s', expectKnown)

test('the command prints the dashboard', async () => {
  using folder = emptyFolder()
  const { code, stdout, stderr } = await run(['metrics', 'dashboard'], { cwd: folder.path })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify(grafanaDashboard())))
})
