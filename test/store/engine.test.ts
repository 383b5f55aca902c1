import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'
import * as schema from '../../src/store/sql/tables.ts'
import type { Tx } from '../../src/store/sqlite/engine/mutation.ts'
import { connect, prepareStore } from '../../src/store/sqlite/engine/open.ts'
import { prepared } from '../../src/store/sqlite/engine/prepared.ts'
import { registryOf } from '../../src/store/sqlite/engine/writer.ts'
import { emptyFolder } from '../help/app.ts'

const ENGINE = resolve(import.meta.dir, '../../src/store/sqlite')

type Column = { name: string; type: string; notnull: number; pk: number; dflt_value: string | null }

function migrated<Result>(read: (tx: Tx) => Result): Result {
  using folder = emptyFolder()
  const path = join(folder.path, 'hookswitch.db')
  prepareStore(path)
  const { sqlite, tx } = connect(path, 'reader')
  try {
    return read(tx)
  } finally {
    sqlite.close()
  }
}

const tables = Object.values(schema).filter((value) => value instanceof SQLiteTable)

test.each(tables.map((table) => [getTableConfig(table).name, table] as const))(
  'the table %s is what Drizzle declares: columns, types, what may be null, keys',
  (name, table) => {
    const found = migrated((tx) => prepared<Column, []>(tx, `PRAGMA table_info(${name})`).all())
    const keys = getTableConfig(table).primaryKeys.flatMap(({ columns }) => columns.map((column) => column.name))
    const declared = getTableConfig(table).columns.map((column) => ({
      name: column.name,
      type: column.getSQLType().toUpperCase(),
      nullable: !column.notNull && !column.primary,
      key: column.primary || keys.includes(column.name),
    }))
    const made = found.map((column) => ({
      name: column.name,
      type: column.type,
      nullable: column.notnull === 0 && column.pk === 0,
      key: column.pk > 0,
    }))
    const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name)
    expect(made.toSorted(byName)).toEqual(declared.toSorted(byName))
  },
)

test('every table is declared', () => {
  const found = migrated((tx) =>
    prepared<{ name: string }, []>(
      tx,
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    ).all(),
  )
  expect(found.map(({ name }) => name)).toEqual(tables.map((table) => getTableConfig(table).name).toSorted())
})

test('every mutation of the engine is known to the thread that writes', async () => {
  const files = readdirSync(ENGINE, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.d.ts'),
  )
  const modules: object[] = await Promise.all(files.map((name) => import(join(ENGINE, name))))
  const text = await Bun.file(resolve(ENGINE, '../../writer.ts')).text()
  const registered: object[] = await Promise.all(
    [...text.matchAll(/from '\.\/store\/sqlite\/([\w/-]+\.ts)'/g)].map(([, name = '']) => import(join(ENGINE, name))),
  )
  const all = [...registryOf(modules).keys()]
  expect(all.length).toBeGreaterThan(10)
  expect([...registryOf(registered).keys()].toSorted()).toEqual(all.toSorted())
  for (const [, name = ''] of text.matchAll(/import \* as (\w+)/g)) expect(text).toContain(name)
  const [, listed = ''] = /registryOf\(\[([^\]]*)\]\)/.exec(text) ?? []
  expect(listed.split(',').filter((name) => name.trim() !== '')).toHaveLength(text.match(/import \* as/g)?.length ?? 0)
})
