import { METRICS } from './catalog.ts'

// The Grafana dashboard, as Grafana imports it. Its queries use the names in the catalog, so that a renamed metric is
// renamed here too.

type Target = { readonly expr: string; readonly legend: string }
type PanelOptions = {
  readonly title: string
  readonly description?: string
  /** A unit as Grafana names it; counts are `short`. */
  readonly unit: string
  readonly targets: readonly Target[]
}
type Row = { readonly title: string; readonly panels: readonly PanelOptions[] }

const JOB = 'job=~"$job"'
// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana puts the data source there
const SOURCE = { type: 'prometheus', uid: '${datasource}' } as const

type Metric = (typeof METRICS)[keyof typeof METRICS]
const selectorOf = ({ name }: Metric, more = ''): string => `${name}{${JOB}${more === '' ? '' : `, ${more}`}}`
const rate = (metric: Metric, by: string): Target => ({
  expr: `sum by (${by}) (rate(${selectorOf(metric)}[$__rate_interval]))`,
  legend: `{{${by}}}`,
})
const perSecond = (metric: Metric, legend: string): Target => ({
  expr: `sum(rate(${selectorOf(metric)}[$__rate_interval]))`,
  legend,
})
const sum = (metric: Metric, legend: string): Target => ({ expr: `sum(${selectorOf(metric)})`, legend })
const highest = (metric: Metric, legend: string): Target => ({ expr: `max(${selectorOf(metric)})`, legend })
const quantile = ({ name }: Metric, share: number, legend: string): Target => ({
  expr: `histogram_quantile(${share}, sum by (le) (rate(${name}_bucket{${JOB}}[$__rate_interval])))`,
  legend,
})

const ROWS: readonly Row[] = [
  {
    title: 'PBXs',
    panels: [
      {
        title: 'Connected',
        description: '1: connected and logged in',
        unit: 'short',
        targets: [{ expr: `max by (pbx) (${selectorOf(METRICS.pbxState, 'state="up"')})`, legend: '{{pbx}}' }],
      },
      { title: 'Events per second', unit: 'short', targets: [rate(METRICS.pbxEvents, 'pbx')] },
      {
        title: 'Events skipped per second',
        description:
          'Untrusted: a caller may have forged part of the event. Failed: processing the event failed. Long lines: a line of the event was left out.',
        unit: 'short',
        targets: [
          perSecond(METRICS.pbxUntrusted, 'untrusted'),
          perSecond(METRICS.pbxFailed, 'failed'),
          perSecond(METRICS.pbxLongLines, 'long lines'),
        ],
      },
      {
        title: 'Phones, by state',
        unit: 'short',
        targets: [{ expr: `sum by (state) (${selectorOf(METRICS.phones)})`, legend: '{{state}}' }],
      },
      {
        title: 'Trunks, by state',
        unit: 'short',
        targets: [{ expr: `sum by (pbx, state) (${selectorOf(METRICS.trunks)})`, legend: '{{pbx}} {{state}}' }],
      },
      {
        title: 'Agents and waiting callers',
        unit: 'short',
        targets: [
          { expr: `sum by (state) (${selectorOf(METRICS.agents)})`, legend: '{{state}}' },
          sum(METRICS.callersWaiting, 'callers waiting'),
        ],
      },
      {
        title: 'Calls without an account per second',
        description: 'Calls on a PBX with tenants that show a name for which there is no account',
        unit: 'short',
        targets: [rate(METRICS.callsWithoutAccount, 'pbx')],
      },
      {
        title: 'Calls not followed, or ended early, per second',
        description:
          'More calls or channels were up on the PBX than are kept (--max-calls): it may not report their ends',
        unit: 'short',
        targets: [rate(METRICS.callsNotFollowed, 'pbx'), rate(METRICS.callsEndedEarly, 'pbx')],
      },
    ],
  },
  {
    title: 'Deliveries',
    panels: [
      {
        title: 'Attempts per second, by outcome',
        description:
          'Interrupted, begun again: after an internal error of hookswitch; what was in flight is sent again.',
        unit: 'short',
        targets: [
          rate(METRICS.attempts, 'outcome'),
          perSecond(METRICS.interrupted, 'interrupted'),
          perSecond(METRICS.sendingRestarts, 'sending begun again'),
        ],
      },
      { title: 'Finished deliveries per second, by state', unit: 'short', targets: [rate(METRICS.finished, 'state')] },
      {
        title: 'Pending',
        unit: 'short',
        targets: [highest(METRICS.pending, 'pending'), sum(METRICS.inFlight, 'in flight')],
      },
      { title: 'Age of the oldest pending delivery', unit: 's', targets: [highest(METRICS.oldestPending, 'oldest')] },
      {
        title: 'Latency to the first attempt',
        unit: 's',
        targets: [quantile(METRICS.firstAttempt, 0.5, 'p50'), quantile(METRICS.firstAttempt, 0.99, 'p99')],
      },
      {
        title: 'Latency to the accepted delivery',
        unit: 's',
        targets: [quantile(METRICS.delivered, 0.5, 'p50'), quantile(METRICS.delivered, 0.99, 'p99')],
      },
      {
        title: 'Duration of attempts',
        unit: 's',
        targets: [quantile(METRICS.attemptDuration, 0.5, 'p50'), quantile(METRICS.attemptDuration, 0.99, 'p99')],
      },
      {
        title: 'Webhooks that are down',
        unit: 'short',
        targets: [
          sum(METRICS.webhooksDown, 'down'),
          sum(METRICS.webhooksDownLong, 'for at least 5 minutes'),
          sum(METRICS.webhooksRefusing, 'refuse'),
        ],
      },
      {
        title: 'Look-ups of contacts per second',
        unit: 'short',
        targets: [rate(METRICS.contactLookUps, 'outcome'), sum(METRICS.contactBreakers, 'accounts that are down')],
      },
    ],
  },
  {
    title: 'Store and process',
    panels: [
      {
        title: 'Commits and writes per second',
        unit: 'short',
        targets: [
          perSecond(METRICS.commits, 'commits'),
          perSecond(METRICS.commitWrites, 'writes'),
          perSecond(METRICS.commitFailures, 'failed writes'),
        ],
      },
      { title: 'Duration of the last commit', unit: 's', targets: [highest(METRICS.commitDuration, 'commit')] },
      {
        title: 'Waiting to be stored',
        unit: 'short',
        targets: [sum(METRICS.commitQueued, 'writes'), sum(METRICS.unstored, 'events')],
      },
      {
        title: 'Free disk space',
        unit: 'bytes',
        targets: [{ expr: `min(${selectorOf(METRICS.diskFree)})`, legend: 'free' }],
      },
      {
        title: 'Disk nearly full',
        description: '1: free some disk space',
        unit: 'short',
        targets: [highest(METRICS.diskNearlyFull, 'nearly full')],
      },
      {
        title: 'Recordings',
        description: 'pending: their file is awaited or not copied yet; failed: given up after a day',
        unit: 'short',
        targets: [{ expr: `max by (state) (${selectorOf(METRICS.recordings)})`, legend: '{{state}}' }],
      },
      { title: 'Resident memory', unit: 'bytes', targets: [sum(METRICS.memory, 'memory')] },
      {
        title: 'Owned by each node',
        description: 'Where several nodes share a database: how many accounts and PBXs each node has.',
        unit: 'short',
        targets: [{ expr: `sum by (instance, kind) (${selectorOf(METRICS.owned)})`, legend: '{{instance}} {{kind}}' }],
      },
      {
        title: 'Nodes that the database answers',
        unit: 'short',
        targets: [{ expr: `min by (instance) (${selectorOf(METRICS.databaseAnswers)})`, legend: '{{instance}}' }],
      },
    ],
  },
]

/** Returns the dashboard as the object that Grafana imports. */
export function grafanaDashboard() {
  let y = 0
  let id = 0
  const panels = ROWS.flatMap((row) => {
    const heading = { id: ++id, type: 'row', title: row.title, gridPos: { x: 0, y: y++, w: 24, h: 1 }, panels: [] }
    const placed = row.panels.map((panel, index) => {
      const gridPos = {
        x: (index % PER_LINE) * WIDTH,
        y: y + Math.floor(index / PER_LINE) * HEIGHT,
        w: WIDTH,
        h: HEIGHT,
      }
      return panelOf(panel, ++id, gridPos)
    })
    y += Math.ceil(row.panels.length / PER_LINE) * HEIGHT
    return [heading, ...placed]
  })
  return { ...FRAME, panels }
}

const PER_LINE = 3
const WIDTH = 8
const HEIGHT = 8

function panelOf({ title, description = '', unit, targets }: PanelOptions, id: number, gridPos: object) {
  return {
    id,
    type: 'timeseries',
    title,
    description,
    datasource: SOURCE,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: targets.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: SOURCE,
      expr,
      legendFormat: legend,
    })),
  }
}

/** The dashboard without its panels. The data source and the job are chosen at the top of the page. */
const FRAME = {
  uid: 'hookswitch',
  title: 'Hookswitch',
  tags: ['hookswitch'],
  schemaVersion: 39,
  editable: true,
  refresh: '30s',
  time: { from: 'now-6h', to: 'now' },
  templating: {
    list: [
      { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
      {
        name: 'job',
        label: 'Job',
        type: 'query',
        datasource: SOURCE,
        query: `label_values(${METRICS.memory.name}, job)`,
        includeAll: true,
        multi: true,
        refresh: 2,
      },
    ],
  },
}
