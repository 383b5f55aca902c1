import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../lib/fault.ts'
import { makeFolder } from '../store/sqlite/engine/data-folder.ts'
import { asStoreFault } from '../store/sqlite/engine/store-fault.ts'
import { openSqliteStore } from '../store/sqlite/store.ts'
import type { Store } from '../store/store.ts'

/** Opens the store, beside a running service or alone, for one piece of work; makes it when there is none. */
export async function withStore<Result>(dataPath: string, work: (store: Store) => Promise<Result>): Promise<Result> {
  makeFolder(dataPath)
  const path = join(dataPath, 'hookswitch.db')
  const store = openSqliteStore(path)
  try {
    return await work(store)
  } catch (error) {
    throw asStoreFault(error, path)
  } finally {
    await store.stop()
  }
}

/** As `withStore`, for what has nothing to do without a store. @throws Fault when there is none. */
export async function withExistingStore<Result>(
  dataPath: string,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const path = join(dataPath, 'hookswitch.db')
  if (!existsSync(path)) throw new Fault('not_found', `there is no store at ${path}: name its folder with --data`)
  return withStore(dataPath, work)
}
