import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, openDatabase } from '../db/database.ts'
import { makeFolder } from '../db/folder.ts'
import { asStoreFault } from '../db/store-fault.ts'
import { Fault } from '../lib/fault.ts'

/** Opens the store, beside a running service or alone, for one piece of work; makes it when there is none. */
export async function withStore<Result>(dataPath: string, work: (db: Database) => Promise<Result>): Promise<Result> {
  makeFolder(dataPath)
  const path = join(dataPath, 'hookswitch.db')
  const db = openDatabase(path)
  try {
    return await work(db)
  } catch (error) {
    throw asStoreFault(error, path)
  } finally {
    await db.stop()
  }
}

/** As `withStore`, for what has nothing to do without a store. @throws Fault when there is none. */
export async function withExistingStore<Result>(
  dataPath: string,
  work: (db: Database) => Promise<Result>,
): Promise<Result> {
  const path = join(dataPath, 'hookswitch.db')
  if (!existsSync(path)) throw new Fault('not_found', `there is no store at ${path}: name its folder with --data`)
  return withStore(dataPath, work)
}
