import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Column } from 'drizzle-orm'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { newClient } from '../../../src/store/postgres/engine/client.ts'
import * as tables from '../../../src/store/sql/tables.ts'
import { connect, prepareStore } from '../../../src/store/sqlite/engine/open.ts'
import { emptyFolder } from '../../help/app.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { ENGINES } from '../engines.ts'

/**
 * The migrations of both engines must make the same tables. Tables whose whole rows are read are declared once, for both
 * engines: the migrations must make them as declared.
 */

/** A column of a table. `type`: of the declaration, `integer`, `boolean` or `text`. */
type Made = { readonly name: string; readonly type: string; readonly nullable: boolean; readonly key: boolean }

const declared = Object.values(tables)
  .filter((value) => value instanceof SQLiteTable)
  .map((table) => {
    const { name, columns, primaryKeys } = getTableConfig(table)
    const keys = primaryKeys.flatMap((key) => key.columns.map((column) => column.name))
    const made = columns.map((column) => ({
      name: column.name,
      type: typeOf(column),
      nullable: !column.notNull && !column.primary,
      key: column.primary || keys.includes(column.name),
    }))
    return { name, columns: sorted(made) }
  })

function typeOf({ dataType }: Column): string {
  if (dataType === 'boolean') return 'boolean'
  return dataType === 'number' ? 'integer' : 'text'
}

function sorted<Named extends { readonly name: string }>(all: readonly Named[]): Named[] {
  return all.toSorted((one, other) => one.name.localeCompare(other.name))
}

type Info = { name: string; type: string; notnull: number; pk: number }

function tablesOfSqlite(): Map<string, Made[]> {
  using folder = emptyFolder()
  const path = join(folder.path, 'hookswitch.db')
  prepareStore(path)
  const sqlite = connect(path, 'reader')
  try {
    const names = sqlite
      .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .all()
    return new Map(
      names.map(({ name }) => {
        const columns = sqlite.query<Info, []>(`PRAGMA table_xinfo(${name})`).all()
        return [
          name,
          sorted(
            columns.map((column) => ({
              name: column.name,
              type: column.type.toLowerCase(),
              nullable: column.notnull === 0 && column.pk === 0,
              key: column.pk > 0,
            })),
          ),
        ]
      }),
    )
  } finally {
    sqlite.close()
  }
}

const TYPES: Readonly<Record<string, string>> = {
  bigint: 'integer',
  integer: 'integer',
  smallint: 'integer',
  boolean: 'boolean',
  text: 'text',
}

async function tablesOfPostgres(): Promise<Map<string, Made[]>> {
  await using database = await migratedDatabase()
  const client = newClient(databaseSource(database.url), { role: 'test', connections: 1, statementMs: 30_000 })
  const rows = await client.query<Made & { table: string }>(`
    SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
      NOT a.attnotnull AS nullable, coalesce(a.attnum = ANY(i.indkey), false) AS key
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
      LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
    WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped`)
  await client.stop()
  const found = new Map<string, Made[]>()
  for (const [name, columns] of Map.groupBy(rows, ({ table }) => table))
    found.set(name, sorted(columns.map(({ table: _, type, ...column }) => ({ ...column, type: TYPES[type] ?? type }))))
  return found
}

const ofSqlite = tablesOfSqlite()

/** SQLite has no type for booleans. */
const withoutBooleans = (columns: readonly Made[]): Made[] =>
  columns.map((column) => ({ ...column, type: column.type === 'boolean' ? 'integer' : column.type }))

test.each(declared)('$name has the columns, types and keys in SQLite that are declared', ({ name, columns }) => {
  expect(ofSqlite.get(name)).toEqual(withoutBooleans(columns))
})

/** Columns that Postgres alone has, for several nodes. */
const OF_NODES: Readonly<Record<string, readonly string[]>> = {
  clock: ['probed'],
  deliveries: ['account_id'],
  minutes: ['node'],
  quarters: ['node'],
}
/** Columns that SQLite alone has: the attempt that delivered at once. */
const OF_FILES = /^first_/
/** Postgres has pending and ended deliveries apart: of the view of both it knows neither keys nor what may be NULL. */
const VIEWS = ['deliveries']

describe.skipIf(POSTGRES_MISSING !== undefined)('the tables of Postgres', () => {
  const making = POSTGRES_MISSING === undefined ? tablesOfPostgres() : Promise.resolve(new Map<string, Made[]>())
  const columnsOf = async (name: string): Promise<Made[] | undefined> =>
    (await making).get(name)?.filter((column) => !OF_NODES[name]?.includes(column.name))

  test.each(declared)('$name has the columns, types and keys that are declared', async ({ name, columns }) => {
    expect(await columnsOf(name)).toEqual(columns)
  })

  test.each([...ofSqlite])('%s has the columns and keys that it has in SQLite', async (name, columns) => {
    const comparable = (all: readonly Made[]) =>
      VIEWS.includes(name) ? all.map(({ name, type }) => ({ name, type })) : all
    const found = withoutBooleans((await columnsOf(name)) ?? [])
    expect(comparable(found)).toEqual(comparable(columns.filter((column) => !OF_FILES.test(column.name))))
  })

  test('have the further columns of several nodes', async () => {
    for (const [name, columns] of Object.entries(OF_NODES))
      expect((await making).get(name)?.map((column) => column.name)).toEqual(expect.arrayContaining([...columns]))
  })
})

test('every group of operations has its tests', async () => {
  await using opened = await ENGINES[0]?.open()
  const groups = Object.entries(opened?.store ?? {}).flatMap(([name, group]) =>
    typeof group === 'object' ? [name] : [],
  )
  const files = readdirSync(join(import.meta.dir, '../conformance')).filter((name) => name.endsWith('.test.ts'))
  const named = groups.map((name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`))
  expect(files.map((name) => name.replace('.test.ts', '')).toSorted()).toEqual(
    named.filter((name) => name !== 'commits').toSorted(),
  )
})
