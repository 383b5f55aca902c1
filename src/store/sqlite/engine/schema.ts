import { Database as Sqlite } from 'bun:sqlite'
import { migrationsBetween } from './migrations.ts'

type SchemaObject = {
  readonly type: string
  readonly name: string
  readonly tbl_name: string
  readonly sql: string | null
}

/** The tables of statistics that `ANALYZE` makes. */
const STATISTICS = ['CREATE TABLE sqlite_stat1(tbl,idx,stat)', 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)']

/** Names in messages are cut: a file that somebody else made may hold names of any length. */
const MAX_NAME = 80

/**
 * Compares the schema of a file with the schema that the migrations up to `version` make. Returns what differs and what
 * to do, or `undefined`. Only the catalog is read: a view in the place of a table may never end, and triggers run with
 * the first write.
 */
export function schemaDifference(sqlite: Sqlite, version: number): string | undefined {
  const made = new Sqlite(':memory:', { strict: true })
  try {
    for (const { text } of migrationsBetween(0, version)) made.run(text)
    const missing = new Map(objectsOf(made).map((object) => [definitionOf(object), object]))
    const foreign = objectsOf(sqlite).find(
      (object) => !missing.delete(definitionOf(object)) && !STATISTICS.includes(object.sql ?? ''),
    )
    if (foreign !== undefined) return describeForeign(foreign, objectsOf(made))
    const [absent] = missing.values()
    return absent && `its ${absent.type} ${absent.name} is missing: restore a backup that has it`
  } finally {
    made.close()
  }
}

function describeForeign({ type, name }: SchemaObject, known: readonly SchemaObject[]): string {
  const shown = `${type} ${JSON.stringify(name.slice(0, MAX_NAME))}`
  return known.some((object) => object.type === type && object.name === name)
    ? `its ${shown} differs from the one that hookswitch makes: restore a backup with the right one`
    : `it has the ${shown}, which hookswitch does not make: remove it if you trust the file, or restore a backup without it`
}

const objectsOf = (sqlite: Sqlite): SchemaObject[] =>
  sqlite.query<SchemaObject, []>('SELECT type, name, tbl_name, sql FROM sqlite_schema').all()

/** Returns the text by which an object is compared: comments and white space of a migration may have changed. */
const definitionOf = ({ type, name, tbl_name: table, sql }: SchemaObject): string =>
  JSON.stringify([type, name, table, sql === null ? null : tokensOf(sql)])

/** A quoted text, a comment, white space, a word, or one character. */
const TOKEN =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\s+|[\w$]+|[\s\S]/g

const tokensOf = (sql: string): string[] => (sql.match(TOKEN) ?? []).filter((token) => !/^(--|\/\*|\s)/.test(token))
