import { type SQL, sql } from 'drizzle-orm'
import { CasingCache } from 'drizzle-orm/casing'

/** A row as an engine returns it, its integers as `number`. SQLite has no booleans: it returns 0 and 1. */
export type Row = Readonly<Record<string, unknown>>

/**
 * The statements of an operation, one after the other; `yield` returns the rows of each. SQLite runs them without a
 * break, Postgres awaits each.
 */
export type Work<Result> = Generator<SQL, Result, readonly Row[]>

type Item = string | number | boolean | null

/** A list that is bound as one value, so that the text of a statement does not depend on the list's length. */
export type List = { readonly type: 'TEXT' | 'BIGINT' | 'BOOLEAN'; readonly items: readonly Item[] }

/** The parts of a statement that the engines write differently. Drizzle passes them on as it does values. */
type Fragment =
  | { readonly part: 'either'; readonly sqlite: SQL; readonly postgres: SQL }
  | { readonly part: 'among'; readonly list: List }
  | { readonly part: 'node' }
  | { readonly part: 'table'; readonly name: string; readonly columns: Readonly<Record<string, List>> }

const part = (fragment: Fragment): SQL => sql`${fragment}`

/** Returns text that differs between the engines. A statement without text is not run. */
export const either = ({ sqlite, postgres }: { readonly sqlite: SQL; readonly postgres: SQL }): SQL =>
  part({ part: 'either', sqlite, postgres })
export const onPostgres = (text: SQL): SQL => either({ sqlite: sql``, postgres: text })
export const onSqlite = (text: SQL): SQL => either({ sqlite: text, postgres: sql`` })

// Locks the found rows until the transaction ends. SQLite has only one writing transaction at a time.
export const forUpdate: SQL = onPostgres(sql`FOR UPDATE`)
export const forShare: SQL = onPostgres(sql`FOR SHARE`)
/** Locks the rows of one table of a join, by its name in the statement. */
export const forUpdateOf = (table: string): SQL => onPostgres(sql`FOR UPDATE OF ${sql.identifier(table)}`)
/** Locks the rows of one table of a join against changes only. */
export const forShareOf = (table: string): SQL => onPostgres(sql`FOR SHARE OF ${sql.identifier(table)}`)

/** Names the index that SQLite has to use; Postgres chooses for itself. */
export const indexedBy = (index: string): SQL => onSqlite(sql`INDEXED BY ${sql.identifier(index)}`)

/** The name of this node, in Postgres. */
export const thisNode: SQL = part({ part: 'node' })

const POSITION = either({ sqlite: sql`instr`, postgres: sql`strpos` })
/** Returns the condition that a text contains another, in the same case. */
export const contains = (text: SQL, inner: string | SQL): SQL => sql`${POSITION}(${text}, ${inner}) > 0`

export const texts = (items: readonly (string | null)[]): List => ({ type: 'TEXT', items })
export const integers = (items: readonly (number | null)[]): List => ({ type: 'BIGINT', items })
export const flags = (items: readonly boolean[]): List => ({ type: 'BOOLEAN', items })

/** Returns `IN (…)` with the items of a list; it follows the compared expression. */
export const among = (list: List): SQL => part({ part: 'among', list })
/** Returns lists of one length as a table of a `FROM` clause: each list is a column. */
export const tableOf = (name: string, columns: Readonly<Record<string, List>>): SQL =>
  part({ part: 'table', name, columns })

/** Runs a statement. Returns its rows, which have the columns of `Found`: the statement has to name them so. */
export function* all<Found>(statement: SQL): Work<Found[]> {
  const rows: unknown = yield statement
  // The statement names the columns: only the caller knows their types.
  return rows as Found[]
}

/** Runs a statement. Returns its first row. */
export function* first<Found>(statement: SQL): Work<Found | undefined> {
  return (yield* all<Found>(statement))[0]
}

/** Runs a statement for its effect. */
export function* run(statement: SQL): Work<void> {
  yield statement
}

/** Runs a statement. Returns the number of rows that it returns. */
export function* count(statement: SQL): Work<number> {
  return (yield statement).length
}

/** Runs a statement. Returns whether it returns a row. */
export function* exists(statement: SQL): Work<boolean> {
  return (yield* count(statement)) > 0
}

/** How an engine writes a value, and the parts that are its own. */
export type SqlDialect<Bound> = {
  readonly engine: 'sqlite' | 'postgres'
  /** Returns the place of the value with this number; the first is 1. */
  place(number: number): string
  value(item: Item): Bound
  list(list: List): Bound
  node(): Bound
  /** Returns `IN (…)` for a list that is bound at a place. */
  among(place: string, list: List): string
  /** Returns a table of lists. `bind` binds a value and returns its place. */
  table(table: Extract<Fragment, { part: 'table' }>, bind: (value: Bound) => string): string
}

const casing = new CasingCache()
const escapeName = (name: string) => `"${name.replaceAll('"', '""')}"`
const escapeString = (): never => {
  throw new Error('a value is bound, not written into the text of a statement')
}

/** Returns a statement's text in a dialect, and its values in the order of their places. */
export function compile<Bound>(statement: SQL, dialect: SqlDialect<Bound>): { text: string; values: Bound[] } {
  const values: Bound[] = []
  const bind = (value: Bound): string => dialect.place(values.push(value))
  function escapeParam(_: number, value: unknown): string {
    if (!isFragment(value)) return bind(dialect.value(itemOf(value)))
    if (value.part === 'either') return render(value[dialect.engine])
    if (value.part === 'among') return dialect.among(bind(dialect.list(value.list)), value.list)
    if (value.part === 'node') return bind(dialect.node())
    return dialect.table(value, bind)
  }
  const render = (text: SQL): string => text.toQuery({ casing, escapeName, escapeString, escapeParam }).sql
  return { text: render(statement), values }
}

const isFragment = (value: unknown): value is Fragment => typeof value === 'object' && value !== null && 'part' in value

function itemOf(value: unknown): Item {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value
  throw new Error(`a statement cannot hold a value of the type ${typeof value}`)
}
