import { type Column, getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { all, type Row, type Work } from './statement.ts'

/** The parts for reading a declared table, made once. */
type Selection = { readonly columns: SQL; readonly decoded: readonly (readonly [name: string, decode: Decode])[] }
type Decode = (value: unknown) => unknown

const selections = new WeakMap<SQLiteTable, Selection>()

function decoderOf({ dataType }: Column): Decode | undefined {
  if (dataType === 'boolean') return Boolean
  if (dataType === 'json') return (value) => (typeof value === 'string' ? JSON.parse(value) : value)
  return undefined
}

function selectionOf(table: SQLiteTable): Selection {
  const found = selections.get(table)
  if (found !== undefined) return found
  const columns = Object.entries(getTableColumns(table))
  const selection = {
    columns: sql.raw(columns.map(([name, column]) => `${column.name} AS "${name}"`).join(', ')),
    decoded: columns.flatMap(([name, column]) => {
      const decode = decoderOf(column)
      return decode === undefined ? [] : [[name, decode] as const]
    }),
  }
  selections.set(table, selection)
  return selection
}

/**
 * Returns rows of a declared table as it declares them. `rest`: the statement behind the table's name.
 */
export function* select<Table extends SQLiteTable>(table: Table, rest: SQL): Work<Table['$inferSelect'][]> {
  const { columns, decoded } = selectionOf(table)
  const rows = yield* all<Row>(sql`SELECT ${columns} FROM ${table} ${rest}`)
  const read = rows.map((row) => {
    const fields = { ...row }
    for (const [name, decode] of decoded) fields[name] = decode(fields[name])
    return fields
  })
  // The declaration names the columns and their types; a test compares it with the tables of both engines.
  return read as Table['$inferSelect'][]
}

/** Returns the first row that `select` would return. */
export function* selectFirst<Table extends SQLiteTable>(
  table: Table,
  rest: SQL,
): Work<Table['$inferSelect'] | undefined> {
  return (yield* select(table, rest))[0]
}
