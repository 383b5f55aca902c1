import { join } from 'node:path'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { emptyFolder } from '../help/app.ts'
import { databaseSource, migratedDatabase, POSTGRES_MISSING } from '../help/postgres.ts'

/** A store of a test: a second process may be opened on it. */
export type TestStore = { readonly store: Store; another(): Promise<Store>; [Symbol.asyncDispose](): Promise<void> }

type Engine = {
  readonly name: string
  /** Why its tests cannot run here. */
  readonly missing?: string | undefined
  open(): Promise<TestStore>
}

const sqlite: Engine = {
  name: 'SQLite',
  async open() {
    const folder = emptyFolder()
    const path = join(folder.path, 'hookswitch.db')
    const thread = () => new Worker(new URL('../../src/app/writer.ts', import.meta.url).href)
    const store = openSqliteStore(path, { thread })
    const others: Store[] = []
    return {
      store,
      async another() {
        const other = openSqliteStore(path)
        others.push(other)
        return other
      },
      async [Symbol.asyncDispose]() {
        for (const other of others) await other.stop()
        await store.stop()
        folder[Symbol.dispose]()
      },
    }
  },
}

const postgres: Engine = {
  name: 'Postgres',
  missing: POSTGRES_MISSING,
  async open() {
    const database = await migratedDatabase()
    const source = databaseSource(database.url)
    const stores = [await openPostgresStore(source)]
    const [store] = stores
    if (store === undefined) throw new Error('it was just opened')
    return {
      store,
      async another() {
        const other = await openPostgresStore(source)
        stores.push(other)
        return other
      },
      async [Symbol.asyncDispose]() {
        for (const one of stores) await one.stop()
        await database[Symbol.asyncDispose]()
      },
    }
  },
}

/** The engines that the conformance suite runs on. */
export const ENGINES: readonly Engine[] = [sqlite, postgres]

/** The groups of a store's operations. */
export type GroupName = Exclude<
  keyof Store,
  'onForeignChange' | 'outcomeIntervalMs' | 'commits' | 'areCommitsFailing' | 'stop'
>

/** Notes each operation of a group that is called on a store. */
export function watchOperations(store: Store, group: GroupName, called: Set<string>): Store {
  const watched = new Proxy<object>(store[group], {
    get(target, key, receiver) {
      if (typeof key === 'string') called.add(key)
      return Reflect.get(target, key, receiver)
    },
  })
  return { ...store, [group]: watched }
}
