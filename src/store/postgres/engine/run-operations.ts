import type { SQL } from 'drizzle-orm'
import type { Declaration, Declarations } from '../../sql/operation.ts'
import { compile, type List, type Row, type SqlDialect, type Work } from '../../sql/statement.ts'
import { arrayOf, type Query, type Value } from './client.ts'
import type { Database } from './database.ts'
import { requireLeases } from './fence.ts'

const typeOf = ({ type }: List) => `${type.toLowerCase()}[]`

const listOf = ({ type, items }: List): Value => arrayOf(type, items)

const dialectOf = (node: string): SqlDialect<Value> => ({
  engine: 'postgres',
  place: (number) => `$${number}`,
  value: (item) => item,
  list: listOf,
  node: () => node,
  among: (place, list) => `= ANY(${place}::${typeOf(list)})`,
  table({ name, columns }, bind) {
    const arrays = Object.values(columns).map((list) => `${bind(listOf(list))}::${typeOf(list)}`)
    const names = Object.keys(columns).map((column) => `"${column}"`)
    return `unnest(${arrays.join(', ')}) AS "${name}" (${names.join(', ')})`
  },
})

type Runner = Pick<Database, 'node'>

async function rowsOf(query: Query, statement: SQL, { node }: Runner): Promise<readonly Row[]> {
  const { text, values } = compile(statement, dialectOf(node))
  return text.trim() === '' ? [] : await query<Row>(text, values)
}

/** Runs work to its end. */
export async function runWork<Result>(db: Runner, query: Query, work: Work<Result>): Promise<Result> {
  for (let step = work.next([]); ; step = work.next(await rowsOf(query, step.value, db)))
    if (step.done) return step.value
}

/** Makes all statements of a transaction see the database at one moment. */
const SNAPSHOT = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY'

type RunDatabase = Pick<Database, 'node' | 'read' | 'change' | 'transaction' | 'maintenance'>

export function runOperations<Group extends object>(db: RunDatabase, declarations: Declarations<Group>): Group {
  const { maintenance } = db
  function run(declaration: Declaration, args: never[]): Promise<unknown> {
    if (declaration.access === 'read') {
      const { work, isSlow, isSnapshot } = declaration
      if (!isSnapshot) return runWork(db, isSlow ? maintenance.read : db.read, work(...args))
      return maintenance.transaction(async (query) => {
        await query(SNAPSHOT)
        return runWork(db, query, work(...args))
      })
    }
    const { work, isSlow, isQuiet } = declaration
    const fence = declaration.fence?.(...args)
    const transaction = isSlow ? maintenance.transaction : isQuiet ? db.transaction : db.change
    return transaction(async (query) => {
      if (fence !== undefined) await requireLeases(query, fence)
      return runWork(db, query, work(...args))
    })
  }
  const start =
    (declaration: Declaration) =>
    async (...args: never[]) => {
      const onlyIf = declaration.access === 'write' ? declaration.onlyIf : undefined
      if (onlyIf !== undefined && !(await runWork(db, db.read, onlyIf.work()))) return onlyIf.otherwise
      return await run(declaration, args)
    }
  const entries = Object.entries<Declaration>(declarations).map(([name, one]) => [name, start(one)])
  // fromEntries loses the names, which are the names of the group's declarations.
  return Object.fromEntries(entries) as Group
}
