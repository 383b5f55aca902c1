import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSource } from '../store/database-url.ts'
import { type NodeStores, openNodeStores, type PostgresOptions } from '../store/postgres/store.ts'
import { makeFolder } from '../store/sqlite/engine/data-folder.ts'
import { holderOf, lockFolder, tryLockFolder } from '../store/sqlite/engine/folder-lock.ts'
import { removeLeftCopies } from '../store/sqlite/engine/restore.ts'
import { openSqliteStore } from '../store/sqlite/store.ts'
import type { Store } from '../store/store.ts'

/** How long a start waits for the database server to come up. */
const DATABASE_WITHIN_MS = 30_000

/** How long a start waits for a command, which takes a moment. */
const COMMAND_WITHIN_MS = 10_000
const AGAIN_MS = 50

type Place = { readonly dataPath: string; readonly database?: DatabaseSource | undefined }

/**
 * Opens the store of a service. Locks the folder until `release`; in a database, `node` names this process. `thread`
 * starts the thread that writes the file, so that a slow disk does not block the event loop.
 * @throws Fault `unavailable` when it cannot be used.
 */
export async function openServiceStore(
  {
    dataPath,
    database,
    node,
    onWaiting,
    onMigrated,
  }: Place & Pick<PostgresOptions, 'node' | 'onWaiting' | 'onMigrated'>,
  thread: () => Worker,
): Promise<{ store: Store; release(): void; nodeStores?: NodeStores }> {
  if (database !== undefined) {
    const nodeStores = await openNodeStores(database, {
      node,
      withinMs: DATABASE_WITHIN_MS,
      onWaiting,
      onMigrated,
      onSilence: onWaiting,
    })
    return { store: nodeStores.store, release: () => undefined, nodeStores }
  }
  makeFolder(dataPath)
  const lock = await lockAfterCommands(join(dataPath, 'lock'))
  try {
    removeLeftCopies(dataPath)
    // Services of earlier versions described themselves in it.
    rmSync(join(dataPath, 'service.json'), { force: true })
    return { store: openSqliteStore(join(dataPath, 'hookswitch.db'), { thread, onMigrated }), release: lock.release }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Locks a folder for a service; waits for a command that uses it. @throws Fault `unavailable` if a service does. */
async function lockAfterCommands(path: string): Promise<ReturnType<typeof lockFolder>> {
  const untilMs = performance.now() + COMMAND_WITHIN_MS
  for (;;) {
    const lock = tryLockFolder(path, 'process')
    if (lock !== undefined) return lock
    // A holder without a name may be a command that has just begun.
    const isService = holderOf(path)?.startsWith('process ') === true
    if (isService || performance.now() > untilMs) return lockFolder(path)
    await Bun.sleep(AGAIN_MS)
  }
}
