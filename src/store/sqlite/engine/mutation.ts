import type { Database as Sqlite } from 'bun:sqlite'

/** One connection: the writer's, in a transaction, or the reader's. */
export type Tx = Sqlite

/**
 * The failure that a committed write survives. `crash`: the end of this process, because the operating system has the
 * write. `power cut`: the end of the machine too, because the disk has it.
 */
export type Durability = 'power cut' | 'crash'

/**
 * A named piece of a transaction. It runs synchronously in the writer, maybe on another thread, together with others in
 * one commit: `args` and the result must survive a structured clone. If it throws, only its own writes are undone.
 */
export type Mutation<Args, Result> = {
  readonly mutation: true
  readonly name: string
  readonly durability: Durability
  run(tx: Tx, args: Args): Result
}

/**
 * Declares a mutation. The work of a mutation with durability `crash` must be repeatable after a power cut.
 */
export function mutation<Args, Result>(
  name: string,
  run: (tx: Tx, args: Args) => Result,
  durability: Durability = 'power cut',
): Mutation<Args, Result> {
  return { mutation: true, name, durability, run }
}
