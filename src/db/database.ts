import { Database as Sqlite } from 'bun:sqlite'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import initial from './migrations/001.sql' with { type: 'text' }
import type { Mutation, Tx } from './mutation.ts'
import { bindConnection } from './prepared.ts'
import * as schema from './schema.ts'

/** The store. Reads see all that was committed; a write resolves once it is on disk. */
export type Database = {
  readonly read: Tx
  /**
   * Queues a mutation for the next group commit and resolves with its result when that commit is durable.
   * @throws Fault whatever the mutation threw, or `unavailable` when the store cannot be written: then nothing of it was kept.
   */
  commit<Args, Result>(mutation: Mutation<Args, Result>, args: Args): Promise<Result>
  stop(): Promise<void>
}

const MIGRATIONS = [initial]

export function openDatabase(path: string): Database {
  const connection = new Sqlite(path, { create: true, strict: true })
  connection.run('PRAGMA journal_mode = WAL')
  connection.run('PRAGMA synchronous = FULL')
  connection.run('PRAGMA busy_timeout = 5000')
  connection.run('PRAGMA foreign_keys = ON')
  const version = connection.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0
  MIGRATIONS.slice(version).forEach((sql, index) => {
    connection.transaction(() => {
      connection.run(sql)
      connection.run(`PRAGMA user_version = ${version + index + 1}`)
    })()
  })
  const tx = drizzle(connection, { schema })
  bindConnection(tx, connection)
  return {
    read: tx,
    async commit(mutation, args) {
      return connection.transaction(() => mutation.run(tx, args))()
    },
    async stop() {
      connection.close()
    },
  }
}
