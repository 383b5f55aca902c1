import { join } from 'node:path'
import { type AnyElysia, Elysia } from 'elysia'
import { peopleRoutes } from '../auth/auth.ts'
import { faults } from '../http/fault-handler.ts'
import type { Log } from '../lib/log.ts'
import type { DatabaseSource } from '../store/database-url.ts'
import { openPostgresStore } from '../store/postgres/store.ts'
import { makeFolder } from '../store/sqlite/engine/data-folder.ts'
import { tryLockFolder } from '../store/sqlite/engine/folder-lock.ts'
import { openSqliteStore } from '../store/sqlite/store.ts'
import type { Store } from '../store/store.ts'
import { createAccess } from './access.ts'
import { serviceRoutes } from './service-routes.ts'

/** The API over a store, for a command: the same requests as in the service, without a port. */
type StoreApi = { answer(request: Request): Promise<Response>; stop(): Promise<void> }

type Options = {
  readonly dataPath: string
  readonly database: DatabaseSource | undefined
  readonly publicUrl: string | undefined
  /** Gets what only the log of a service would have: the causes of errors. */
  readonly log: Log
  readonly onWaiting: (message: string) => void
  readonly onSilence: ((message: string) => void) | undefined
}

/**
 * Opens the store of a command on which no service runs, and answers the operator's requests over it. The folder is
 * locked meanwhile: returns `undefined` if another process has it. @throws Fault when the store cannot be used.
 */
export async function openStoreApi({ log, publicUrl, ...place }: Options): Promise<StoreApi | undefined> {
  const opened = await openCommandStore(place)
  if (opened === undefined) return undefined
  const { store, close } = opened
  const { operators, auth, audit, people } = createAccess({ store, log, trustProxies: [] })
  const root: AnyElysia = new Elysia({ name: 'root', normalize: false, encodeSchema: false })
  root
    .use(faults({ log, routes: () => root.routes, isOperators: auth.isOperators }))
    .use(serviceRoutes(auth, { url: null }))
    .use(peopleRoutes({ auth, people, audit, linkBase: () => publicUrl }))
  return {
    async answer(request) {
      operators.admit(request)
      return await root.handle(request)
    },
    stop: close,
  }
}

type Opened = { readonly store: Store; close(): Promise<void> }

async function openCommandStore(place: Omit<Options, 'log' | 'publicUrl'>): Promise<Opened | undefined> {
  const { dataPath, database, onWaiting, onSilence } = place
  if (database !== undefined) {
    const store = await openPostgresStore(database, { onWaiting, onSilence })
    return { store, close: store.stop }
  }
  makeFolder(dataPath)
  const lock = tryLockFolder(join(dataPath, 'lock'), 'command')
  if (lock === undefined) return undefined
  try {
    const store = openSqliteStore(join(dataPath, 'hookswitch.db'))
    return {
      store,
      async close() {
        await store.stop()
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}
