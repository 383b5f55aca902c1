import { Database as Sqlite } from 'bun:sqlite'
import { SQL } from 'bun'
import { DELIVERIES_PER_EVENT } from '../../src/store/operations/queue.ts'

/** Where the statements run: the file of a SQLite store that nobody has open, or a Postgres database. */
export type Statements = {
  readonly engine: 'sqlite' | 'postgres'
  run(text: string): Promise<void>
  number(text: string): Promise<number>
  /** Returns the indexes of the large tables, without those of keys. */
  indexes(): Promise<Index[]>
  stop(): Promise<void>
}
type Index = { readonly name: string; readonly made: string }

const LARGE = `('calls', 'events', 'deliveries', 'ended_deliveries')`

export function sqliteStatements(path: string): Statements {
  const sqlite = new Sqlite(path, { readwrite: true, create: false })
  sqlite.run('PRAGMA synchronous = OFF')
  return {
    engine: 'sqlite',
    run: async (text) => void sqlite.run(text),
    number: async (text) => Number(sqlite.query<{ n: number }, []>(text).get()?.n ?? 0),
    indexes: async () =>
      sqlite
        .query<Index, []>(
          `SELECT name, sql AS made FROM sqlite_master WHERE tbl_name IN ${LARGE} AND sql LIKE 'CREATE INDEX%'`,
        )
        .all(),
    stop: async () => sqlite.close(),
  }
}

export function postgresStatements(url: string): Statements {
  const sql = new SQL({ url, max: 1 })
  return {
    engine: 'postgres',
    run: async (text) => void (await sql.unsafe(text)),
    number: async (text) => Number((await sql.unsafe(text))[0]?.n ?? 0),
    indexes: async () => {
      const found: Index[] = await sql.unsafe(
        `SELECT i.relname AS name, replace(pg_get_indexdef(i.oid), ' ON ONLY ', ' ON ') AS made
         FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
         WHERE t.relname IN ${LARGE} AND NOT x.indisunique`,
      )
      return [...found]
    },
    stop: () => sql.close({ timeout: 0 }),
  }
}

const DELIVERY = ['state', 'tries', 'attempts_made', 'generation', 'webhook_id']
/** What is found in a record: columns that SQLite computes. */
const COMPUTED_ON_SQLITE = ['from_e164', 'to_e164', 'pbx', 'result', 'missed', 'who']
const FIRST = ['first_status', 'first_duration_ms', 'first_address', 'first_response']

/**
 * Copies all saved calls of a store with their events and deliveries, as often as is wanted in all: the database makes
 * the copies, so that no row passes through this process. The copies have ids of their own, and share the time from the
 * first call to the last, so that times grow with the ids. Indexes are made again at the end, which is faster. Returns
 * how long each took.
 */
export async function multiplyCalls(store: Statements, copies: number): Promise<{ name: string; ms: number }[]> {
  const indexes = await store.indexes()
  for (const { name } of indexes) await store.run(`DROP INDEX ${name}`)
  await copyCalls(store, copies)
  const made: { name: string; ms: number }[] = []
  for (const index of indexes) {
    const beginMs = performance.now()
    await store.run(index.made)
    made.push({ name: index.name, ms: performance.now() - beginMs })
  }
  return made
}

async function copyCalls(store: Statements, copies: number): Promise<void> {
  const { engine, run, number } = store
  const [firstUs, lastId] = [
    await number('SELECT min(at) AS n FROM events'),
    await number('SELECT max(id) AS n FROM events'),
  ]
  const spanUs = (await number('SELECT max(at) AS n FROM events')) - firstUs + 1
  const isPostgres = engine === 'postgres'
  const deliveries = isPostgres ? 'ended_deliveries' : 'deliveries'
  const copied = (copy: number) => {
    const prefix = `'${copy.toString(16).padStart(8, '0')}'`
    const ofCall = (id: string) => `${prefix} || substr(${id}, 9)`
    const at = (column: string) => {
      const moved = firstUs + Math.floor((copy * spanUs) / copies)
      return `${moved} + (${column} - ${firstUs}) / ${copies}`
    }
    const same = (names: readonly string[]) => names.map((name) => [name, name] as const)
    const times = (...names: string[]) => names.map((name) => [name, at(name)] as const)
    return [
      [
        'calls',
        [
          ['id', ofCall('id')],
          ...same(['account_id', 'direction', 'from_number', 'to_number']),
          ...same(isPostgres ? COMPUTED_ON_SQLITE : []),
          ...times('saved_at'),
          ['record', `replace(record, id, ${ofCall('id')})`],
        ],
        `id >= '01'`,
      ],
      [
        'events',
        [
          ['id', `id + ${copy * lastId}`],
          ['uuid', ofCall('uuid')],
          ['call_id', ofCall('call_id')],
          ...same(['account_id', 'name', 'sequence']),
          ...times('at'),
          ['body', `replace(body, call_id, ${ofCall('call_id')})`],
        ],
        `id <= ${lastId}`,
      ],
      [
        deliveries,
        [
          ['id', `id + ${copy * lastId * DELIVERIES_PER_EVENT}`],
          ...same([...DELIVERY, ...FIRST, ...(isPostgres ? ['account_id'] : [])]),
          ...times('since', 'created_at', 'ended_at', 'first_at'),
        ],
        `id < ${(lastId + 1) * DELIVERIES_PER_EVENT}`,
      ],
    ] as const
  }
  for (let copy = copies - 1; copy >= 1; copy -= 1) {
    await run('BEGIN')
    for (const [table, columns, base] of copied(copy)) {
      const [names, values] = [columns.map(([name]) => name), columns.map(([, value]) => value)]
      await run(`INSERT INTO ${table} (${names.join()}) SELECT ${values.join()} FROM ${table} WHERE ${base}`)
    }
    await run('COMMIT')
  }
  for (const [table, columns, base] of copied(0)) {
    const moved = columns.filter(([name]) => /_at$|^(at|since)$/.test(name))
    await run(`UPDATE ${table} SET ${moved.map(([name, value]) => `${name} = ${value}`).join()} WHERE ${base}`)
  }
  if (isPostgres) await run(`SELECT setval('event_ids', ${copies * lastId})`)
}
