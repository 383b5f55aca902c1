import { parseArgs } from 'node:util'
import { buildOnce } from '../help/app.ts'
import { benchClaims, benchDrain, benchStart } from './backlog.ts'
import { benchHandOver, benchReturn, benchTakeover } from './cluster.ts'
import { benchBalance } from './cluster-balance.ts'
import { benchNodes, benchPbxToReceiver } from './cluster-load.ts'
import { benchContacts } from './contacts.ts'
import { benchFilters } from './filters.ts'
import { benchFloods } from './floods.ts'
import { benchFreeswitchCalls } from './freeswitch-calls.ts'
import { benchGrowth } from './growth.ts'
import { benchIsolation } from './isolation.ts'
import { benchKills } from './kills.ts'
import { benchMe } from './me.ts'
import { benchMqtt } from './mqtt.ts'
import { benchOpenPage } from './open-page.ts'
import { benchPage } from './page.ts'
import { benchLatency } from './pbx-to-receiver.ts'
import { benchPostgres } from './postgres.ts'
import { benchReading } from './reading.ts'
import { benchRecordings } from './recordings.ts'
import { benchResync } from './resync.ts'
import { benchSoak } from './soak.ts'
import { benchStalls } from './stalls.ts'
import { benchStateScenes } from './state-scenes.ts'
import { benchStates } from './states.ts'
import { atLeast, atMost, perSecond, print, type Row } from './table.ts'
import { benchThroughput } from './throughput.ts'
import { benchTracker } from './tracker.ts'

const VARIABLE = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
// `serve` does the same: otherwise `fetch` runs at most 256 requests.
if (process.env[VARIABLE] === undefined && process.execve !== undefined)
  process.execve(process.execPath, [process.execPath, ...process.argv.slice(1)], {
    ...process.env,
    [VARIABLE]: '65336',
  })

async function latency(): Promise<Row[]> {
  await buildOnce()
  const { events, p50Ms, p99Ms, maxMs, memoryMb } = await benchLatency()
  const detail = `${events} events, p50 ${p50Ms.toFixed(1)}, max ${maxMs.toFixed(0)} ms, ${Math.round(memoryMb)} MB`
  return [atMost('PBX to receiver at 200 calls/s, p99', 20, p99Ms, ' ms', detail)]
}

async function me(): Promise<Row[]> {
  const { mePerSecond, constantPerSecond, ratio } = await benchMe()
  const detail = `${perSecond(mePerSecond)} of ${perSecond(constantPerSecond)}`
  return [atLeast('GET /auth/me ÷ a constant behind the same hooks', 0.6, ratio, detail)]
}

const { values, positionals: wanted } = parseArgs({
  options: {
    against: { type: 'string', multiple: true, default: [] },
    // Of `stalls`: `--calls 2000 --calls 20000 --engine sqlite --only /call`.
    calls: { type: 'string', multiple: true, default: ['2000', '20000'] },
    engine: { type: 'string', multiple: true, default: ['sqlite', 'postgres'] },
    only: { type: 'string', default: '' },
  },
  allowPositionals: true,
})

const stalls = () =>
  benchStalls({ sizes: values.calls.map(Number), engines: values.engine.map(engineOf), only: values.only })

function engineOf(name: string): 'sqlite' | 'postgres' {
  if (name !== 'sqlite' && name !== 'postgres') throw new Error(`--engine is sqlite or postgres, not ${name}`)
  return name
}

/** The names for the command line: `bun run bench throughput --against COMMIT` runs one alone. */
const BENCHES: Readonly<Record<string, () => Promise<Row[]>>> = {
  throughput: () => benchThroughput(values.against),
  latency,
  postgres: benchPostgres,
  cluster: async () => [
    ...(await benchPbxToReceiver()),
    ...(await benchNodes()),
    ...(await benchHandOver()),
    ...(await benchTakeover()),
    ...(await benchReturn()),
  ],
  isolation: benchIsolation,
  contacts: benchContacts,
  claims: benchClaims,
  drain: benchDrain,
  mqtt: benchMqtt,
  states: benchStates,
  start: benchStart,
  kills: benchKills,
  reading: benchReading,
  filters: async () => benchFilters(),
  floods: benchFloods,
  'freeswitch-calls': benchFreeswitchCalls,
  recordings: benchRecordings,
  resync: benchResync,
  tracker: benchTracker,
  'open-page': benchOpenPage,
  page: benchPage,
  soak: benchSoak,
  stalls,
  me,
}

/** Parts of those, which run alone only when they are named. */
const PARTS: typeof BENCHES = {
  // `bun run bench state-scenes --only frames`; others are trunks, agents and endless.
  'state-scenes': () => benchStateScenes(values.only),
  'cluster-balance': benchBalance,
  'cluster-takeover': benchTakeover,
  'cluster-return': benchReturn,
  'cluster-hand-over': benchHandOver,
  // `bun run bench growth --calls 200000 --engine sqlite`
  growth: () => benchGrowth({ calls: Number(values.calls.at(-1)), engines: values.engine.map(engineOf) }),
  'cluster-latency': benchPbxToReceiver,
  'cluster-nodes': benchNodes,
}

if (values.against.length > 0 && wanted.length === 0) wanted.push('throughput')
const rows: Row[] = []
for (const [name, bench] of Object.entries(wanted.length > 0 ? { ...BENCHES, ...PARTS } : BENCHES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  console.error(`${name} …`)
  rows.push(...(await bench()))
}
print(rows)
process.exit(0)
