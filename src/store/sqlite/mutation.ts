import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite'
import type * as schema from './schema.ts'

/** Drizzle over one connection: the writer's transaction, or the reader. */
export type Tx = BunSQLiteDatabase<typeof schema>

/**
 * A named piece of a transaction. It runs synchronously in the writer, maybe on another thread, together with others in one
 * commit: `args` and the result must survive a structured clone. If it throws, only its own writes are undone.
 */
export type Mutation<Args, Result> = {
  readonly mutation: true
  readonly name: string
  run(tx: Tx, args: Args): Result
}

export function mutation<Args, Result>(name: string, run: (tx: Tx, args: Args) => Result): Mutation<Args, Result> {
  return { mutation: true, name, run }
}
