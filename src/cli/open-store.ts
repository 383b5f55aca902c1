import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../lib/fault.ts'
import { makeFolder } from '../store/sqlite/engine/data-folder.ts'
import { asStoreFault } from '../store/sqlite/engine/store-fault.ts'
import { openSqliteStore } from '../store/sqlite/store.ts'
import type { Store } from '../store/store.ts'

/** Opens the store for one piece of work, also beside a running service; creates it if it does not exist. */
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

/** Opens a store that must exist for one piece of work. @throws Fault `not_found` if it does not. */
export async function withExistingStore<Result>(
  dataPath: string,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const path = join(dataPath, 'hookswitch.db')
  if (!existsSync(path)) throw new Fault('not_found', `there is no store at ${path}: give its folder with --data`)
  return withStore(dataPath, work)
}
