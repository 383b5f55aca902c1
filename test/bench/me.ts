import { Elysia } from 'elysia'
import { createClientOf } from '../../src/auth/client-address.ts'
import { authRoutes } from '../../src/auth/routes.ts'
import { createAuthService } from '../../src/auth/service.ts'
import { newToken, tokenHash } from '../../src/auth/token.ts'
import { faults } from '../../src/http/fault-handler.ts'
import { openPort } from '../../src/http/server.ts'
import { createLog } from '../../src/lib/log.ts'
import { nowUs } from '../../src/lib/time.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { emptyFolder } from '../help/app.ts'

const AT_ONCE = 64

type Rates = { mePerSecond: number; constantPerSecond: number; ratio: number }

/**
 * `GET /auth/me` beside a constant of Elysia's behind the same hooks (request id, faults), over loopback, in turns so that both
 * see the same machine.
 */
export async function benchMe(roundMs = 1_000, rounds = 4): Promise<Rates> {
  using folder = emptyFolder()
  const store = openSqliteStore(`${folder.path}/hookswitch.db`)
  const user = await store.accounts.userCreate({
    account: 'default',
    type: 1,
    name: 'Bench',
    email: 'bench@example.com',
    passwordHash: '',
    atUs: nowUs(),
  })
  const token = newToken()
  const hash = tokenHash(token) ?? ''
  await store.accounts.tokenAddIfPasswordUnchanged({
    userId: user?.id ?? 0,
    passwordHash: '',
    tokenHash: hash,
    atUs: nowUs(),
  })
  const root = new Elysia({ normalize: false })
  root
    .use(faults({ log: createLog('silent'), routes: () => root.routes }))
    .get('/constant', () => ({ status: 'success', code: 200, result: [], message: 'A constant.' }))
    .use(authRoutes(createAuthService({ accounts: store.accounts }), createClientOf([])))
  const server = openPort({ host: '127.0.0.1', port: 0 })
  server.serve(root)
  const headers = { authorization: `Bearer ${token}` }
  let me = 0
  let constant = 0
  for (let round = 0; round < rounds; round += 1) {
    constant += await requests(`${server.url}/constant`, headers, roundMs)
    me += await requests(`${server.url}/auth/me`, headers, roundMs)
  }
  await server.stop()
  await store.stop()
  const seconds = (roundMs * rounds) / 1_000
  return { mePerSecond: me / seconds, constantPerSecond: constant / seconds, ratio: me / constant }
}

/** How many requests are answered in a time. */
async function requests(url: string, headers: Record<string, string>, forMs: number): Promise<number> {
  const endMs = performance.now() + forMs
  let answered = 0
  const one = async () => {
    while (performance.now() < endMs) {
      const response = await fetch(url, { headers })
      if (response.status !== 200) throw new Error(`${url} answered ${response.status}`)
      await response.arrayBuffer()
      answered += 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
  return answered
}

if (import.meta.main) console.log(await benchMe())
