import { offeredPresets } from '../../cluster/cluster.ts'
import { nowUs } from '../../lib/time.ts'
import type { DatabaseSource } from '../../store/database-url.ts'
import { newClient } from '../../store/postgres/engine/client.ts'
import { readServerFacts, type ServerFacts } from '../../store/postgres/engine/server-facts.ts'
import { createStatusStore } from '../../store/postgres/statuses.ts'
import { openClusterStore, openPostgresStore } from '../../store/postgres/store.ts'
import type { Store } from '../../store/store.ts'
import { createHealthReader, readReportedStatuses } from '../../web/server/webhook-health.ts'
import { diagnoseServer } from './database-server.ts'
import { type Diagnosis, wrong } from './diagnosis.ts'
import { diagnoseNodes } from './nodes.ts'
import { diagnoseContents, type HealthOf, NO_STORE, type StoreFound } from './store.ts'

/** Checks a Postgres database: its server, its settings for durability, and the data in it. */
export async function diagnoseDatabase(source: DatabaseSource, copies?: string): Promise<StoreFound> {
  try {
    const facts = await readServerFacts(source)
    const server = diagnoseServer(facts, source)
    if (!facts.hasStore || facts.isStandby) return { ...NO_STORE, diagnoses: [...server, missing(facts)] }
    const store = await openPostgresStore(source)
    try {
      await store.maintenance.writeProbe()
      const nodes = await readNodes(source)
      const found = await withReportedHealth(source, store, (healthOf) =>
        diagnoseContents(store, { dataPath: '', database: source }, { copies, healthOf, presets: nodes.presets }),
      )
      const faults = (await store.maintenance.fileFaults('brief')).map((text) =>
        wrong('database', text, 'restore a backup to another server, and check the disk of this one'),
      )
      return { ...found, diagnoses: [...server, ...faults, ...nodes.diagnoses, ...found.diagnoses] }
    } finally {
      await store.stop()
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return {
      ...NO_STORE,
      diagnoses: [
        wrong('database', why, `psql -h ${source.host} -p ${source.port} -U ${source.user} ${source.database}`),
      ],
    }
  }
}

const missing = ({ isStandby }: ServerFacts): Diagnosis =>
  isStandby
    ? wrong('database', 'it is a standby, which cannot be written', 'give the URL of the primary in --database-url')
    : wrong('database', 'it has no store yet', 'hookswitch serve --database-url …   creates it')

const STATEMENT_MS = 5_000

/** Reads how webhooks do as the nodes report it in the database. */
async function withReportedHealth<Result>(
  source: DatabaseSource,
  store: Pick<Store, 'webhooks'>,
  work: (healthOf: HealthOf) => Promise<Result>,
): Promise<Result> {
  const cluster = openClusterStore(source)
  const client = newClient(source, { role: 'status', connections: 1, statementMs: STATEMENT_MS })
  try {
    const statuses = readReportedStatuses(createStatusStore(client, { listen: () => async () => undefined }))
    const aheadUs = nowUs() - (await cluster.clockGet())
    const read = createHealthReader({ store, statuses, steadyUs: () => nowUs() - aheadUs, nowUs }, 'moment')
    return await work(async ({ id }) => (await read(id)).map(({ health }) => health))
  } finally {
    await client.stop()
    await cluster.stop()
  }
}

async function readNodes(source: DatabaseSource) {
  const cluster = openClusterStore(source)
  try {
    const nodes = await cluster.nodeList()
    const databaseUs = await cluster.clockGet()
    return { diagnoses: diagnoseNodes(nodes, databaseUs), presets: offeredPresets(nodes, databaseUs) }
  } finally {
    await cluster.stop()
  }
}
