import type { ClusterStore } from '../../src/store/operations/cluster.ts'
import { createClusterStore } from '../../src/store/postgres/cluster.ts'
import { type Client, newClient } from '../../src/store/postgres/engine/client.ts'
import { databaseSource, migratedDatabase } from './postgres.ts'

/** Makes a database for a test of nodes, with a client. */
export async function clusterDatabase(): Promise<{
  client: Client
  url: string
  [Symbol.asyncDispose](): Promise<void>
}> {
  const database = await migratedDatabase()
  const client = newClient(databaseSource(database.url), { role: 'test', connections: 8, statementMs: 30_000 })
  return {
    client,
    url: database.url,
    async [Symbol.asyncDispose]() {
      await client.stop()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** A node's way to the store, which a test cuts: then nothing it sends arrives, and it waits for nothing. */
export function cuttableStore(client: Client): ClusterStore & { cut(isCut: boolean): void } {
  let isCutNow = false
  const store = createClusterStore({
    query(text, values) {
      if (isCutNow) return Promise.reject(new Error('the connection is cut'))
      return client.query(text, values)
    },
  })
  return {
    ...store,
    cut(isCut) {
      isCutNow = isCut
    },
  }
}
