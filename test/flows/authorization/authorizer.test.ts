import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createAuthorizer, type LoginRenderer } from '../../../src/flows/authorization/authorizer.ts'
import type { Authorized, AuthorizedWebhook } from '../../../src/flows/authorizer.ts'
import { type Authorization, STEP_DEFAULTS } from '../../../src/flows/model.ts'
import { SECOND } from '../../../src/lib/time.ts'
import type { Exchange } from '../../../src/outbound/exchange.ts'
import type { AuthorizationStore } from '../../../src/store/operations/authorizations.ts'
import { emptyFolder } from '../../help/app.ts'
import { playCase, seedsOf } from '../../help/seed.ts'
import { openStore } from '../../help/store.ts'
import { createTokenServer, randomMove } from '../../help/token-server.ts'

const folder = emptyFolder()
const store = openStore(join(folder.path, 'hookswitch.db'))
afterAll(async () => {
  await store.stop()
  folder[Symbol.dispose]()
})

const SECRET = 'the-client-secret'
const oauth2 = (refreshToken: string | null = 'refresh-0'): Authorization => ({
  kind: 'oauth2',
  tokenUrl: 'https://crm.example/token',
  clientId: 'id',
  clientSecret: SECRET,
  refreshToken,
  scope: null,
})
const login: LoginRenderer = {
  request: async (_, { request: { body } }) => ({
    request: { url: 'https://crm.example/login', method: 'POST', headers: {}, body, maxAnswerBytes: 1_000 },
  }),
  header: async (_, { header }, token) => ({ header: header.replace('{{ token }}', token) }),
}

let owners = 0
/** Each test has another webhook in the one store. */
function rig(
  authorization: Authorization = oauth2(),
  more: { exchange?: Exchange; authorizations?: AuthorizationStore } = {},
) {
  const server = createTokenServer()
  const clock = { us: 1_795_213_000 * SECOND }
  const said: string[] = []
  const problems: (string | null)[] = []
  const note = (...line: readonly unknown[]) => void said.push(JSON.stringify(line))
  const log = { debug: note, info: note, warn: note, error: note }
  const webhook: AuthorizedWebhook = {
    accountId: 1,
    url: `https://crm.example/${++owners}`,
    authorization,
    origins: [],
    parameters: {},
  }
  const start = (own: { exchange?: Exchange; authorizations?: AuthorizationStore } = more) =>
    createAuthorizer({
      store: own.authorizations ?? store.authorizations,
      exchange: own.exchange ?? server.exchange(),
      login,
      nowUs: () => clock.us,
      steadyUs: () => clock.us,
      log,
      onProblem: (_, problem) => problems.push(problem),
      sleep: async (ms) => {
        clock.us += ms * 1_000
        await Bun.sleep(0)
      },
    })
  const pass = (seconds: number) => {
    clock.us += seconds * SECOND
  }
  return { server, clock, said, problems, webhook, authorizer: start(), start, pass }
}

describe('a token', () => {
  test('is obtained if the store has none, and used until a minute is left', async () => {
    const { server, webhook, authorizer, pass } = rig()
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-1' })
    pass(3_539)
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-1' })
    expect(server.requests).toHaveLength(1)
    pass(1)
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-2' })
    expect(server.requests).toHaveLength(2)
  })

  test('is shared by all that ask at the same time, also of another node', async () => {
    const { server, webhook, authorizer, start } = rig()
    const other = start()
    server.moves = ['rotate']
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? authorizer : other).authorize(webhook)),
    )
    expect(new Set(all.map((one) => JSON.stringify(one)))).toEqual(new Set(['{"header":"Bearer access-1"}']))
    expect(server.requests).toHaveLength(1)
  })

  test('is known to the next process', async () => {
    const { server, webhook, authorizer, start } = rig()
    server.moves = ['rotate', 'rotate']
    await authorizer.authorize(webhook)
    const next = start()
    expect(await next.authorize(webhook)).toEqual({ header: 'Bearer access-1' })
    expect(server.requests).toHaveLength(1)
  })

  test('is renewed after a 401, once, with the refresh token that was given in exchange', async () => {
    const { server, webhook, authorizer, start, pass } = rig()
    server.moves = ['rotate', 'rotate']
    await authorizer.authorize(webhook)
    pass(10)
    const both = [authorizer, start()].map((one) => one.renew(webhook, 'Bearer access-1'))
    expect(await Promise.all(both)).toEqual([{ header: 'Bearer access-2' }, { header: 'Bearer access-2' }])
    expect(server.requests.map((form) => form.get('refresh_token'))).toEqual(['refresh-0', 'refresh-1'])
    expect(await authorizer.renew(webhook, 'Bearer access-1')).toEqual({ header: 'Bearer access-2' })
    expect(server.requests).toHaveLength(2)
  })

  test('is renewed at once if it is refused while it is new, but not for every request', async () => {
    const { server, webhook, authorizer, pass } = rig()
    await authorizer.authorize(webhook)
    for (const count of [1, 2, 3])
      expect(await authorizer.renew(webhook, `Bearer access-${count}`)).toEqual({
        header: `Bearer access-${count + 1}`,
      })
    const pause = { reason: 'the server refused new tokens', retryAfterMs: 5_000 }
    expect(await authorizer.renew(webhook, 'Bearer access-4')).toEqual(pause)
    // Nobody sends the refused token meanwhile, and the first request afterwards renews it.
    expect(await authorizer.authorize(webhook)).toEqual(pause)
    expect(server.requests).toHaveLength(4)
    pass(5)
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-5' })
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-5' })
    expect(server.requests).toHaveLength(5)
  })

  test('is renewed without a pause if each is refused after some seconds', async () => {
    const { webhook, authorizer, pass } = rig()
    await authorizer.authorize(webhook)
    for (let count = 1; count < 20; count += 1) {
      pass(5)
      expect(await authorizer.renew(webhook, `Bearer access-${count}`)).toEqual({
        header: `Bearer access-${count + 1}`,
      })
    }
  })

  test('is not used for other settings', async () => {
    const { server, webhook, authorizer } = rig()
    server.moves = ['rotate']
    await authorizer.authorize(webhook)
    const reconnected = { ...webhook, authorization: oauth2(server.reconnect()) }
    expect(await authorizer.authorize(reconnected)).toEqual({ header: 'Bearer access-3' })
    expect(server.requests.at(-1)?.get('refresh_token')).toBe('refresh-2')
  })

  test('needs no refresh token if it comes from client credentials', async () => {
    const { server, webhook, authorizer } = rig(oauth2(null))
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-1' })
    expect(server.requests[0]?.get('grant_type')).toBe('client_credentials')
  })

  test('comes from the answer to a log-in, at the pointer, for its time, and goes into the header of the settings', async () => {
    const authorization: Authorization = {
      kind: 'login',
      request: { ...STEP_DEFAULTS, body: '{"password":"hunter22"}' },
      token: '/session/key',
      expiresIn: 600,
      header: 'Session {{ token }}',
    }
    const asked: string[] = []
    const exchange: Exchange = async ({ url, body }) => {
      asked.push(`${url} ${body}`)
      const text = JSON.stringify({ session: { key: `k${asked.length}` } })
      return { status: 200, failure: null, text, retryAfterMs: null, durationMs: 1 }
    }
    const { webhook, authorizer, pass } = rig(authorization, { exchange })
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Session k1' })
    pass(539)
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Session k1' })
    pass(1)
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Session k2' })
    expect(asked[0]).toBe('https://crm.example/login {"password":"hunter22"}')
  })

  test.each([
    [60, 30],
    [3_600, 3_540],
  ])('of %i s is renewed after %i s: half its time, or a minute before its end', async (lifetimeS, renewedS) => {
    const server = createTokenServer(lifetimeS)
    const { webhook, authorizer, pass } = rig(oauth2(), { exchange: server.exchange() })
    await authorizer.authorize(webhook)
    pass(renewedS - 1)
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-1' })
    pass(1)
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-2' })
  })

  test('is never renewed if it has no lifetime', async () => {
    const server = createTokenServer(null)
    const { webhook, authorizer, pass } = rig(oauth2(), { exchange: server.exchange() })
    await authorizer.authorize(webhook)
    pass(10 * 365 * 86_400)
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-1' })
  })
})

test('a server that knows the client in the header alone is asked so, and from then on', async () => {
  const asked: boolean[] = []
  const exchange: Exchange = async ({ headers }) => {
    const isBasic = headers.authorization !== undefined
    asked.push(isBasic)
    const text = JSON.stringify(isBasic ? { access_token: `a${asked.length}` } : { error: 'invalid_client' })
    return { status: isBasic ? 200 : 401, failure: null, text, retryAfterMs: null, durationMs: 1 }
  }
  const { webhook, authorizer, pass } = rig(oauth2(), { exchange })
  expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer a2' })
  pass(10)
  expect(await authorizer.renew(webhook, 'Bearer a2')).toEqual({ header: 'Bearer a3' })
  expect(asked).toEqual([false, true, true])
})

describe('a renewal that is refused', () => {
  test('is a problem since its first time, alerted once, tried again with longer pauses, until one succeeds', async () => {
    const { server, webhook, authorizer, problems, clock, pass } = rig()
    server.moves = Array.from({ length: 9 }, () => 'refuse' as const)
    const beganUs = clock.us
    const reason = 'the token cannot be renewed: status 400: invalid_scope'
    const pauses: number[] = []
    for (let refused = 1; refused <= 9; refused++) {
      const found = await authorizer.authorize(webhook)
      if (!('reason' in found)) throw new Error('it was not refused')
      expect(found.reason).toBe(reason)
      expect(await authorizer.authorize(webhook)).toEqual(found)
      expect(server.requests).toHaveLength(refused)
      pauses.push(found.retryAfterMs / 1_000)
      pass(found.retryAfterMs / 1_000)
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
    const list = await store.authorizations.authorizationProblemList(1)
    expect(list.filter(({ url }) => url === webhook.url)).toEqual([
      { url: webhook.url, message: 'status 400: invalid_scope', sinceUs: beganUs },
    ])
    expect(problems).toEqual(['status 400: invalid_scope'])
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-1' })
    expect(problems).toEqual(['status 400: invalid_scope', null])
    expect((await store.authorizations.authorizationGet(webhook))?.problem).toBeNull()
  })

  test('says nothing that is secret', async () => {
    const { server, webhook, authorizer, said, problems } = rig(oauth2('refresh-wrong'))
    const found = await authorizer.authorize(webhook)
    expect(found).toEqual({
      reason: 'the token cannot be renewed: status 400: invalid_grant: *** is not valid',
      retryAfterMs: 1_000,
    })
    expect(server.requests[0]?.get('client_secret')).toBe(SECRET)
    const all = JSON.stringify([found, said, problems, await store.authorizations.authorizationProblemList(1)])
    expect(all).not.toContain(SECRET)
    expect(all).not.toContain('refresh-wrong')
    expect(said).toHaveLength(1)
  })
})

test('a server in trouble is no problem of the owner, and a token that is still valid is used meanwhile', async () => {
  const { server, webhook, authorizer, problems, pass } = rig()
  server.moves = ['answer', 'hang', 'fail']
  await authorizer.authorize(webhook)
  pass(3_540)
  expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-1' })
  pass(30)
  expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-1' })
  expect(server.requests).toHaveLength(3)
  expect(await authorizer.renew(webhook, 'Bearer access-1')).toMatchObject({
    reason: 'the token cannot be renewed: status 503: busy',
  })
  expect(problems).toEqual([])
})

test('a token is not used before it is stored', async () => {
  let failing = 3
  const authorizations: AuthorizationStore = {
    ...store.authorizations,
    async renewalStore(renewed) {
      failing -= 1
      if (failing >= 0) throw new Error('the disk is full')
      return await store.authorizations.renewalStore(renewed)
    },
  }
  const { server, webhook, authorizer, start, said } = rig(oauth2(), { authorizations })
  server.moves = ['rotate']
  expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-1' })
  expect(failing).toBe(-1)
  expect(said.filter((one) => one.includes('cannot store a renewed token'))).toHaveLength(1)
  expect(await start({}).authorize(webhook)).toEqual({ header: 'Bearer access-1' })
})

/** A process that may die: from then on nothing that it called comes back. */
function createProcess(die: () => boolean) {
  const state = { isDead: false }
  const never = new Promise<never>(() => {})
  async function step<Result>(work: () => Promise<Result>): Promise<Result> {
    if (die()) state.isDead = true
    if (state.isDead) return await never
    const result = await work()
    return state.isDead ? await never : result
  }
  return { state, step }
}

/** Lets pending work proceed for a while. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Bun.sleep(0)
}

describe('a trial of settings', () => {
  test('keeps its token apart until they are saved: no refresh token is lost', async () => {
    const { server, webhook, authorizer, start, pass } = rig()
    server.moves = ['rotate']
    expect(await authorizer.authorizeTrial(webhook, null)).toEqual({ header: 'Bearer access-1' })
    expect(await start().authorizeTrial(webhook, null)).toEqual({ header: 'Bearer access-1' })
    expect(await store.authorizations.authorizationGet(webhook)).toBeUndefined()
    // The token is saved: the webhook continues with it, also in another process.
    const next = start()
    expect(await next.authorize(webhook)).toEqual({ header: 'Bearer access-1' })
    expect(server.requests).toHaveLength(1)
    server.moves = ['rotate']
    pass(3_600)
    expect(await next.authorize(webhook)).toEqual({ header: 'Bearer access-2' })
    expect(server.requests.map((form) => form.get('refresh_token'))).toEqual(['refresh-0', 'refresh-1'])
  })

  test('leaves the token of the saved ones, and settings that come back have theirs', async () => {
    const { server, webhook, authorizer, start, pass } = rig()
    server.moves = ['rotate', 'refuse', 'rotate', 'rotate']
    await authorizer.authorize(webhook)
    const other = { ...webhook, authorization: { ...oauth2(), clientId: 'other' } as Authorization }
    expect(await authorizer.authorizeTrial(other, null)).toEqual({
      reason: 'the token cannot be obtained: status 400: invalid_scope',
      retryAfterMs: 0,
    })
    expect(await store.authorizations.authorizationProblemList(1)).not.toContainEqual(
      expect.objectContaining({ url: webhook.url }),
    )
    pass(3_600)
    expect(await authorizer.authorize(webhook)).toEqual({ header: 'Bearer access-2' })
    const third = { ...webhook, authorization: oauth2(server.refreshToken()) }
    expect(await authorizer.authorize(third)).toEqual({ header: 'Bearer access-3' })
    const last = server.requests.length
    expect(await start().authorize(webhook)).toEqual({ header: 'Bearer access-2' })
    expect(server.requests).toHaveLength(last)
  })

  test('uses the token of the saved settings, and renews it once for all after a 401', async () => {
    const { server, webhook, authorizer, pass } = rig()
    server.moves = ['rotate', 'rotate']
    await authorizer.authorize(webhook)
    expect(await authorizer.authorizeTrial(webhook, null)).toEqual({ header: 'Bearer access-1' })
    pass(10)
    const both = [authorizer.authorizeTrial(webhook, 'Bearer access-1'), authorizer.renew(webhook, 'Bearer access-1')]
    expect(await Promise.all(both)).toEqual([{ header: 'Bearer access-2' }, { header: 'Bearer access-2' }])
    expect(server.requests).toHaveLength(2)
  })

  test('waits for another one of the same settings', async () => {
    const { server, webhook, authorizer } = rig()
    server.moves = ['rotate', 'rotate']
    const both = await Promise.all([authorizer.authorizeTrial(webhook, null), authorizer.authorizeTrial(webhook, null)])
    expect(both).toEqual([{ header: 'Bearer access-1' }, { header: 'Bearer access-1' }])
  })
})

describe('random games', () => {
  for (const seed of seedsOf(61, 16))
    test(`seed ${seed}`, () =>
      playCase(seed, async (random) => {
        const { server, webhook: first, start, pass, said } = rig()
        const mayDie = random.chance(0.5)
        let webhook = first
        /** The headers that were committed before they were given out. */
        const committed = new Set<string>()
        const uncommitted: string[] = []
        const noteUncommitted = (found: Authorized) => {
          if ('header' in found && !committed.has(found.header)) uncommitted.push(found.header)
        }
        /** A process died after the server had answered with another refresh token, and before that was stored. */
        let isLost = false
        const launch = () => {
          let hasRotated = false
          const process = createProcess(() => {
            const dies = mayDie && random.chance(0.06)
            if (dies && hasRotated) isLost = true
            return dies
          })
          const exchange = server.exchange(async () => {
            await turns(random.int(3))
          })
          const { authorizations } = store
          const authorizer = start({
            exchange: (request) =>
              process.step(async () => {
                const before = server.refreshToken()
                const answer = await exchange(request)
                hasRotated = server.refreshToken() !== before
                return answer
              }),
            authorizations: {
              ...authorizations,
              renewalClaim: (claim) => process.step(() => authorizations.renewalClaim(claim)),
              renewalFail: (failed) => process.step(() => authorizations.renewalFail(failed)),
              renewalStore: (renewed) =>
                process.step(async () => {
                  const stored = await authorizations.renewalStore(renewed)
                  if (stored !== undefined && renewed.header !== null) committed.add(renewed.header)
                  if (stored !== undefined) hasRotated = false
                  return stored
                }),
            },
          })
          return { authorizer, process }
        }
        let nodes = [launch(), launch()]
        for (let round = 0; round < 15; round++) {
          server.moves.push(randomMove(random))
          const asked = nodes.flatMap(({ authorizer, process }) =>
            Array.from({ length: 1 + random.int(3) }, () => {
              const header = `Bearer ${server.access ?? 'none'}`
              const asks = () =>
                random.chance(0.5) ? authorizer.authorize(webhook) : authorizer.renew(webhook, header)
              const found = turns(random.int(6)).then(asks).then(noteUncommitted)
              return { found, process }
            }),
          )
          const isOver = async ({ found, process }: (typeof asked)[number]) => {
            for (;;) {
              const isDone = await Promise.race([found.then(() => true), Bun.sleep(1)])
              if (isDone || process.state.isDead) return
            }
          }
          await Promise.all(asked.map(isOver))
          expect(uncommitted).toEqual([])
          if (nodes.some(({ process }) => process.state.isDead)) {
            // A dead process cannot have made two requests at a time.
            server.inFlight = 0
            nodes = nodes.map((node) => (node.process.state.isDead ? launch() : node))
          }
          // Only what no program could store is lost to a server as strict as this.
          if (server.isRevoked()) {
            expect(isLost).toBe(true)
            isLost = false
            webhook = { ...webhook, authorization: oauth2(server.reconnect()) }
          }
          if (random.chance(0.5)) pass(random.int(4_000))
        }
        expect(server.mostInFlight).toBe(1)
        // When all is well again there is a token.
        server.moves = []
        pass(7_200)
        const [{ authorizer } = launch()] = nodes
        let last = await authorizer.authorize(webhook)
        if (server.isRevoked()) {
          expect(isLost).toBe(true)
          last = await authorizer.authorize({ ...webhook, authorization: oauth2(server.reconnect()) })
        }
        if (!mayDie) expect(last).toEqual({ header: `Bearer ${server.access}` })
        expect(said.join()).not.toContain(SECRET)
      }))
})
