import { describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import {
  among,
  compile,
  either,
  forShareOf,
  forUpdate,
  indexedBy,
  integers,
  onPostgres,
  type SqlDialect,
  tableOf,
  texts,
} from '../../../src/store/sql/statement.ts'

const dialect = (engine: 'sqlite' | 'postgres'): SqlDialect<unknown> => ({
  engine,
  place: (number) => (engine === 'sqlite' ? '?' : `$${number}`),
  value: (item) => item,
  list: ({ items }) => items,
  node: () => 'a',
  among: (place) => `IN (${place})`,
  table: ({ name, columns }, bind) => `${bind(Object.values(columns).map(({ items }) => items))} ${name}`,
})
const both = (statement: Parameters<typeof compile>[0]) => ({
  sqlite: compile(statement, dialect('sqlite')),
  postgres: compile(statement, dialect('postgres')),
})

describe('a statement that both engines run', () => {
  test('has its values apart from its text, in order, also the values of its parts', () => {
    const inner = sql`b = ${2}`
    expect(both(sql`SELECT 1 FROM t WHERE a = ${'1'} AND ${inner} AND c = ${true} AND d = ${null}`)).toEqual({
      sqlite: { text: 'SELECT 1 FROM t WHERE a = ? AND b = ? AND c = ? AND d = ?', values: ['1', 2, true, null] },
      postgres: { text: 'SELECT 1 FROM t WHERE a = $1 AND b = $2 AND c = $3 AND d = $4', values: ['1', 2, true, null] },
    })
  })

  test('has row locks on Postgres and hints of indexes on SQLite', () => {
    expect(both(sql`SELECT 1 FROM t ${indexedBy('i')} WHERE a = ${1} ${forUpdate}`)).toEqual({
      sqlite: { text: 'SELECT 1 FROM t INDEXED BY "i" WHERE a = ? ', values: [1] },
      postgres: { text: 'SELECT 1 FROM t  WHERE a = $1 FOR UPDATE', values: [1] },
    })
    expect(both(forShareOf('w')).postgres.text).toBe('FOR SHARE OF "w"')
    expect(both(onPostgres(sql`SELECT ${1}`)).sqlite).toEqual({ text: '', values: [] })
  })

  test('has only the values of the text that an engine takes', () => {
    const part = either({ sqlite: sql`x = ${1}`, postgres: sql`y = ${2} AND z = ${3}` })
    expect(both(sql`SELECT 1 WHERE a = ${0} AND ${part} AND b = ${4}`)).toEqual({
      sqlite: { text: 'SELECT 1 WHERE a = ? AND x = ? AND b = ?', values: [0, 1, 4] },
      postgres: { text: 'SELECT 1 WHERE a = $1 AND y = $2 AND z = $3 AND b = $4', values: [0, 2, 3, 4] },
    })
  })

  test('has a text that does not depend on the length of a list', () => {
    for (const list of [[], [1], [1, 2, 3]]) {
      const { text, values } = compile(sql`DELETE FROM t WHERE a ${among(integers(list))}`, dialect('postgres'))
      expect({ text, values }).toEqual({ text: 'DELETE FROM t WHERE a IN ($1)', values: [list] })
    }
    const table = tableOf('r', { a: integers([1, 2]), b: texts(['x', null]) })
    expect(compile(sql`SELECT a FROM ${table}`, dialect('sqlite'))).toEqual({
      text: 'SELECT a FROM ? r',
      values: [
        [
          [1, 2],
          ['x', null],
        ],
      ],
    })
  })

  test.each([[{ a: 1 }], [1n], [new Date(0)]])('refuses the value %p', (value) => {
    expect(() => compile(sql`SELECT ${value}`, dialect('sqlite'))).toThrow()
  })
})
