import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { emptyFolder, type RunningApp, run, startServe } from '../../help/app.ts'
import { acts, startAsterisk } from '../../help/asterisk-load.ts'
import { ask, logIn, newToken, webhook } from '../../help/client.ts'
import { migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { startReceiver, until } from '../../help/receiver.ts'

/** Two nodes of the executable on one database: a request to one takes effect at the other, which sends. */

const EMAIL = 'a@example.com'
const EVENTS_A_CALL = 6
/** Down for so long that nothing but a person brings it back while a test lasts. */
const DOWN = () => new Response('no', { status: 503, headers: { 'retry-after': '3600' } })
const UP = () => new Response('ok')

describe.skipIf(POSTGRES_MISSING !== undefined)('with two nodes', () => {
  const folder = emptyFolder()
  const stops: (() => unknown)[] = [() => folder[Symbol.dispose]()]
  const receiver = startReceiver()
  const second = startReceiver()
  const pbx = startAsterisk()
  stops.unshift(receiver.stop, second.stop, pbx.stop)
  let nodes: RunningApp[] = []
  let url = ''
  let calls = 0

  beforeAll(async () => {
    const database = await migratedDatabase()
    stops.unshift(() => database[Symbol.asyncDispose]())
    url = database.url
    const store = ['--database-url', url]
    const args = ['--allow-net', 'loopback', '--log-level', 'warn', ...store]
    const pbxArgs = ['--pbx', `ami://any:any@127.0.0.1:${pbx.port}?name=office`]
    nodes = [
      await startServe({ cwd: folder.path, args: [...args, ...pbxArgs] }),
      await startServe({ cwd: folder.path, args: [...args, ...pbxArgs] }),
    ]
    for (const node of nodes) stops.unshift(() => node.stop())
    const [first] = nodes
    if (first === undefined) throw new Error('there is no node')
    await newToken(first, EMAIL, { store })
    await pbx.ready
  })
  afterAll(async () => {
    for (const stop of stops) await stop()
  })

  /** Returns the node that sends for the account, and the other one. */
  async function roles(): Promise<{ owner: RunningApp; other: RunningApp }> {
    for (;;) {
      const { stdout } = await run(['nodes', '--json', '--database-url', url], { cwd: folder.path })
      const list: { address: string; accounts: string[] }[] = JSON.parse(stdout)
      const address = list.find(({ accounts }) => accounts.includes('default'))?.address
      const owner = nodes.find((node) => node.url === address)
      const other = nodes.find((node) => node.url !== address)
      if (owner !== undefined && other !== undefined) return { owner, other }
    }
  }
  const call = () => {
    const bytes = acts(calls).map((act) => act.bytes)
    calls += 1
    pbx.send(bytes.join(''))
  }
  const put = async (urls: readonly string[]) => {
    const { other } = await roles()
    const token = await logIn(other, EMAIL)
    const { status } = await ask(other, 'PUT', '/integration/webhook', { token, body: urls.map((one) => webhook(one)) })
    expect(status).toBe(200)
    return { other, token }
  }
  /** Makes calls until the receiver has refused five times and is down; leaves events that were never tried. */
  const breakDown = async () => {
    receiver.answerWith(DOWN)
    const before = receiver.received.length
    for (let made = 0; receiver.received.length < before + 5; made += 1) {
      if (made < 2) call()
      await Bun.sleep(20)
    }
    call()
    receiver.answerWith(UP)
  }
  const pendingOf = async (node: RunningApp, token: string): Promise<{ id: string; attempts_made: number }[]> => {
    const { body } = await ask(node, 'GET', '/integration/delivery?state=pending&limit=200', { token })
    const { result } = body
    return typeof result === 'object' && result !== null && 'items' in result && Array.isArray(result.items)
      ? result.items
      : []
  }
  const untriedAreSent = (node: RunningApp, token: string) =>
    until('what was never tried is sent', async () =>
      (await pendingOf(node, token)).every(({ attempts_made }) => attempts_made > 0),
    )

  test('a list that one node replaces is used by the other', async () => {
    await put([`${receiver.url}/one`])
    await until('events come', async () => {
      if (receiver.received.length < EVENTS_A_CALL) call()
      await Bun.sleep(100)
      return receiver.received.length >= EVENTS_A_CALL
    })
    await put([`${second.url}/two`])
    await until('they come to the new URL', async () => {
      if (second.received.length < EVENTS_A_CALL) call()
      await Bun.sleep(100)
      return second.received.length >= EVENTS_A_CALL
    })
  })

  test('a token that was revoked at one is refused at the other', async () => {
    const { owner, other } = await roles()
    const token = await logIn(owner, EMAIL)
    expect((await ask(other, 'GET', '/auth/me', { token })).status).toBe(200)
    expect((await ask(owner, 'POST', '/auth/logout', { token })).status).toBe(200)
    await until('it is refused', async () => (await ask(other, 'GET', '/auth/me', { token })).status === 401)
    const again = await logIn(other, EMAIL)
    expect((await ask(owner, 'GET', '/auth/me', { token: again })).status).toBe(200)
  })

  test('a webhook that was paused at one is not sent to by the other, and later gets all', async () => {
    const { other, token } = await put([`${receiver.url}/one`, `${second.url}/two`])
    const pause = async (paused: boolean) => {
      const body = { url: `${receiver.url}/one`, paused }
      expect((await ask(other, 'PUT', '/integration/webhook/options', { token, body })).status).toBe(200)
    }
    await pause(true)
    await until('a call comes to the other webhook only', async () => {
      const [before, beside] = [receiver.received.length, second.received.length]
      call()
      await until('it comes', () => second.received.length >= beside + EVENTS_A_CALL)
      return receiver.received.length === before
    })
    await pause(false)
    await until('all is sent', async () => (await pendingOf(other, token)).length === 0)
    const ids = new Set(receiver.received.map(({ id }) => id))
    const late = second.received.slice(-EVENTS_A_CALL).map(({ id }) => id)
    expect(late.filter((id) => !ids.has(id))).toEqual([])
  })

  test('a test at one closes the circuit breaker of the other', async () => {
    const { other, token } = await put([`${receiver.url}/down`])
    await breakDown()
    await until('some are not tried', async () =>
      (await pendingOf(other, token)).some(({ attempts_made }) => attempts_made === 0),
    )
    const { body } = await ask(other, 'POST', '/integration/webhook/test', {
      token,
      body: { url: `${receiver.url}/down` },
    })
    expect(body.result).toMatchObject({ status: 200 })
    await untriedAreSent(other, token)
  })

  test.each(['the API of the other node', 'the command line'])(
    'a retry by hand with %s is sent at once, as the probe',
    async (how) => {
      const { other, token } = await put([`${receiver.url}/down`])
      await breakDown()
      const tried = (await pendingOf(other, token)).find(({ attempts_made }) => attempts_made > 0)?.id ?? ''
      if (how === 'the command line')
        expect(await run(['delivery', 'retry', tried, '--database-url', url], { cwd: folder.path })).toMatchObject({
          code: 0,
        })
      else expect((await ask(other, 'POST', `/integration/delivery/${tried}/retry`, { token })).status).toBe(200)
      await until('it is delivered', async () => {
        const { body } = await ask(other, 'GET', `/integration/delivery/${tried}`, { token })
        return Reflect.get(Object(body.result), 'state') === 'delivered'
      })
      await untriedAreSent(other, token)
    },
  )
})
