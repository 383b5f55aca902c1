import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { faults } from '../../src/http/fault-handler.ts'
import { healthRoutes } from '../../src/http/health.ts'
import { createLog } from '../../src/lib/log.ts'
import { emptyFolder } from '../help/app.ts'
import { openStore } from '../help/store.ts'

test('/health is 503 from the first commit that fails to the first that succeeds, even if one row can be written', async () => {
  using folder = emptyFolder()
  const { maintenance, stop } = openStore(`${folder.path}/hookswitch.db`)
  let areFailing = false
  const root = new Elysia({ normalize: false, encodeSchema: false })
  root
    .use(faults({ log: createLog('silent'), routes: () => root.routes }))
    .use(healthRoutes({ maintenance, areCommitsFailing: () => areFailing }))
  const ask = async () => (await root.handle(new Request('http://localhost/health'))).status
  const seen: number[] = [await ask()]
  areFailing = true
  seen.push(await ask())
  areFailing = false
  seen.push(await ask())
  expect(seen).toEqual([200, 503, 200])
  await stop()
})
