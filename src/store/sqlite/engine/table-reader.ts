import { connect, prepareStore } from './open.ts'

/** A cell as text, or `null`. */
type Cell = string | null

/** A table of a store, read from its beginning to its end. */
type ReadTable = {
  readonly name: string
  readonly columns: readonly string[]
  readonly count: number
  /** Returns the rows in batches; each has an array for every column. */
  batches(): Iterable<readonly (readonly Cell[])[]>
}

const BATCH_ROWS = 1_000
/** Bodies may be large: a batch is sent as one statement. */
const BATCH_CHARS = 4 * 1024 * 1024

/** Opens all tables of a store's file, as they are at this moment. */
export function openTables(path: string): { readonly tables: readonly ReadTable[]; close(): void } {
  prepareStore(path)
  const sqlite = connect(path, 'reader')
  sqlite.run('BEGIN')
  const names = sqlite
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .all()
  const tables = names.map(({ name }): ReadTable => {
    const columns = sqlite
      // With generated columns: in Postgres they are plain ones.
      .query<{ name: string }, []>(`SELECT name FROM pragma_table_xinfo('${name}') WHERE hidden <> 1 ORDER BY cid`)
      .all()
      .map((column) => column.name)
      // Read as a row of attempts, by the view.
      .filter((column) => !(name === 'deliveries' && column.startsWith('first_')))
    const from = name === 'attempts' ? 'all_attempts' : name
    const count = sqlite.query<{ count: number }, []>(`SELECT count(*) AS count FROM ${from}`).get()?.count ?? 0
    const texts = columns.map((column) => `CAST(${column} AS TEXT) AS ${column}`).join(', ')
    function* batches(): Generator<Cell[][]> {
      let batch: Cell[][] = columns.map(() => [])
      let chars = 0
      for (const row of sqlite.query<Record<string, Cell>, []>(`SELECT ${texts} FROM ${from}`).iterate()) {
        for (const [at, column] of columns.entries()) {
          const cell = row[column] ?? null
          chars += cell?.length ?? 0
          batch[at]?.push(cell)
        }
        if ((batch[0]?.length ?? 0) < BATCH_ROWS && chars < BATCH_CHARS) continue
        yield batch
        batch = columns.map(() => [])
        chars = 0
      }
      if ((batch[0]?.length ?? 0) > 0) yield batch
    }
    return { name, columns, count, batches }
  })
  return { tables, close: () => sqlite.close() }
}
