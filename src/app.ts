import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Elysia } from 'elysia'
import type { Config } from './config.ts'
import { openDatabase } from './db/database.ts'
import { faults } from './http/faults.ts'
import { healthRoutes } from './http/health.ts'
import { startServer } from './http/server.ts'
import type { Log } from './lib/log.ts'

export type App = { url: string; stop(): Promise<void> }

/** Opens, wires and starts the whole service; `stop` undoes it in reverse, and waits for what is in flight. */
export async function startApp(config: Config, { log }: { log: Log }): Promise<App> {
  mkdirSync(config.dataPath, { recursive: true })
  const db = openDatabase(join(config.dataPath, 'hookswitch.db'))
  let draining = false

  const root = new Elysia({ name: 'root', normalize: false, handler: { standardHostname: false } })
  root.use(faults({ log, routes: () => root.routes, draining: () => draining })).use(healthRoutes(async () => true))

  const server = startServer(root, config.listen)
  return {
    url: server.url,
    async stop() {
      draining = true
      await server.stop()
      await db.stop()
    },
  }
}
