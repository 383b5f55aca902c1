import type { SQL } from 'drizzle-orm'
import { runInSlices } from '../../../lib/slices.ts'
import type { Declaration, Declarations } from '../../sql/operation.ts'
import { compile, type Row, type SqlDialect, type Work } from '../../sql/statement.ts'
import type { Database } from './database.ts'
import { type Mutation, mutation, type Tx } from './mutation.ts'
import { prepared } from './prepared.ts'

type Bound = string | number | null

const SQLITE: SqlDialect<Bound> = {
  engine: 'sqlite',
  place: () => '?',
  value: (item) => (typeof item === 'boolean' ? Number(item) : item),
  list: ({ items }) => JSON.stringify(items),
  node() {
    throw new Error('a file is the store of one node, which has no name in it')
  },
  among: (place) => `IN (SELECT value FROM json_each(${place}))`,
  table({ name, columns }, bind) {
    const lists = Object.values(columns)
    const rows = (lists[0]?.items ?? []).map((_, at) => lists.map(({ items }) => items[at]))
    const fields = Object.keys(columns).map((column, at) => `value ->> ${at} AS "${column}"`)
    // The limit makes SQLite read the list once and index it. It would parse the JSON again for each row of a join.
    return `(SELECT ${fields.join(', ')} FROM json_each(${bind(JSON.stringify(rows))}) LIMIT -1) AS "${name}"`
  },
}

function rowsOf(tx: Tx, statement: SQL): readonly Row[] {
  const { text, values } = compile(statement, SQLITE)
  return text.trim() === '' ? [] : prepared<Row, Bound[]>(tx, text).all(...values)
}

function* steps<Result>(tx: Tx, work: Work<Result>): Generator<void, Result> {
  for (let step = work.next([]); ; step = work.next(rowsOf(tx, step.value))) {
    if (step.done) return step.value
    yield
  }
}

/** Runs work to its end. */
export function runWork<Result>(tx: Tx, work: Work<Result>): Result {
  const running = steps(tx, work)
  for (;;) {
    const { done, value } = running.next()
    if (done) return value
  }
}

type AnyMutation = Mutation<never[], unknown>

const mutationOf = (group: string, name: string, { work }: Declaration): AnyMutation =>
  mutation(`${group}.${name}`, (tx: Tx, args: never[]) => runWork(tx, work(...args)))

/** Returns the mutations of a group's declared writes, named after them. */
export const mutationsOf = (group: string, declarations: Readonly<Record<string, Declaration>>): AnyMutation[] =>
  Object.entries(declarations).flatMap(([name, declaration]) =>
    declaration.access === 'write' ? [mutationOf(group, name, declaration)] : [],
  )

export function runOperations<Group extends object>(
  { read, commit }: Pick<Database, 'read' | 'commit'>,
  group: string,
  declarations: Declarations<Group>,
): Group {
  function start(name: string, declaration: Declaration): (...args: never[]) => Promise<unknown> {
    const { access, work } = declaration
    if (access === 'read') {
      const { isSnapshot, isSliced } = declaration
      if (isSliced) return (...args) => runInSlices(steps(read, work(...args)))
      if (isSnapshot) return async (...args) => read.transaction(() => runWork(read, work(...args)))()
      // Runs without a break, so that a change's follow-up, such as reading the webhook list again, precedes all other
      // work.
      return async (...args) => runWork(read, work(...args))
    }
    const { onlyIf } = declaration
    const mutation = mutationOf(group, name, declaration)
    return async (...args) => {
      if (onlyIf !== undefined && !runWork(read, onlyIf.work())) return onlyIf.otherwise
      return await commit(mutation, args)
    }
  }
  const entries = Object.entries<Declaration>(declarations).map(([name, one]) => [name, start(name, one)])
  // fromEntries forgets the names, but they are the names of the group's declarations.
  return Object.fromEntries(entries) as Group
}
