import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { mayCall } from '../../../src/auth/call-right.ts'
import { tokenRoutes } from '../../../src/auth/token-routes.ts'
import { createTokenService } from '../../../src/auth/token-service.ts'
import type { AccountDirectory } from '../../../src/calls/ingest/account-directory.ts'
import { requestChannel } from '../../../src/calls/request-channel.ts'
import type { RequestedCall } from '../../../src/calls/tracker/state/requested-calls.ts'
import { createLog } from '../../../src/lib/log.ts'
import { nowUs } from '../../../src/lib/time.ts'
import { startCallOwner } from '../../../src/pbx/originate/call-owner.ts'
import { createCallService } from '../../../src/pbx/originate/call-service.ts'
import { originateRoutes } from '../../../src/pbx/originate/routes.ts'
import { type PbxSource, parsePbxUrl } from '../../../src/pbx/source/pbx-url.ts'
import { USER_TYPES } from '../../../src/store/operations/accounts.ts'
import type { AuditFacts } from '../../../src/store/operations/audit.ts'
import { SILENT_AUDIT, startApi } from '../../help/api.ts'
import { emptyFolder } from '../../help/app.ts'
import { ask } from '../../help/client.ts'
import { startPbx } from '../../help/pbx-server.ts'
import { until } from '../../help/receiver.ts'
import { type OpenStore, openStore } from '../../help/store.ts'

/** An Asterisk that answers `Originate` as the test wants, and notes what it was asked. */
function startAsterisk() {
  const asked: string[] = []
  const at = { asked, answer: (_: string): string | undefined => 'Response: Success' }
  const pbx = startPbx((client) => {
    let unread = ''
    client.write('Asterisk Call Manager/7.0.3\r\n')
    return {
      data(bytes) {
        unread += bytes.toString()
        for (let end = unread.indexOf('\r\n\r\n'); end >= 0; end = unread.indexOf('\r\n\r\n')) {
          const frame = unread.slice(0, end)
          unread = unread.slice(end + 4)
          const isAsked = /^Action: (Originate|Hangup)/.test(frame)
          if (isAsked) asked.push(frame)
          const line = isAsked ? at.answer(frame) : 'Response: Success\r\nChallenge: 1'
          const id = /^ActionID: (.*?)\r?$/m.exec(frame)?.[1]
          if (line === undefined) client.close()
          else if (line !== '') client.write(`${line}\r\nActionID: ${id}\r\n\r\n`)
        }
      },
    }
  })
  return Object.assign(at, { port: pbx.port, stop: pbx.stop })
}

function sourceOf(url: string): PbxSource {
  const parsed = parsePbxUrl(url)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  return parsed.pbx
}

let folder: ReturnType<typeof emptyFolder>
let store: OpenStore
let asterisk: ReturnType<typeof startAsterisk>
let api: Awaited<ReturnType<typeof startApi>>
let owner: ReturnType<typeof startCallOwner>
/** The call of each request, as the events of the PBX show it. */
const calls = new Map<string, RequestedCall>()
const live = new Map<string, string>()
let isConnected = true
let usersMayCall = true
const audited: { event: string; facts: AuditFacts | undefined }[] = []
const accountIds = new Map<string, number>()
/** The extensions that call in live calls. */
const extensions = new Map<string, string>()
const callOf = (id: string) => ({
  from: { extension: extensions.get(id) ?? null },
  to: { extension: null },
  answered_by: null,
  handled_by: [],
  missed_by: [],
})

const PHONES: Readonly<Record<string, readonly string[]>> = {
  office: ['101', '102', '103', '104'],
  branch: ['101', '201'],
  silent: ['301'],
}

/** Shows the call of each request to the owner as soon as the Asterisk has it. */
const shown = (requestId: string): RequestedCall | undefined => {
  const isMade = asterisk.asked.some((frame) => frame.includes(requestChannel(requestId)))
  if (!isMade || asterisk.answer('') !== 'Response: Success') return undefined
  const known = calls.get(requestId) ?? { callId: crypto.randomUUID(), account: 'mine', isPhoneUp: true }
  calls.set(requestId, known)
  live.set(known.callId, 'office')
  return known
}

beforeAll(async () => {
  folder = emptyFolder()
  store = openStore(join(folder.path, 'hookswitch.db'))
  asterisk = startAsterisk()
  const url = (name: string, query = '') =>
    sourceOf(`ami://u:s@127.0.0.1:${asterisk.port}?name=${name}&account=mine${query}`)
  const sources = [
    url('office', '&calls=clicker:c&calls_to=%2B49*,1??'),
    url('branch', '&calls=clicker:c'),
    url('silent'),
    { ...url('foreign', '&calls=clicker:c'), account: 'other' },
  ]
  const running = sources.map((source) => ({
    source,
    status: () => ({ state: isConnected ? 'up' : 'down' }) as never,
    requestedCall: shown,
    channelsUp: (callId: string) => (live.has(callId) ? ['1795.1', '1795.2'] : []),
    devicesOf: (_: string, extension: string) => [
      { endpoint: `PJSIP/${extension}`, name: null, tenant: null, isRegistered: true },
    ],
  }))
  owner = startCallOwner({
    store,
    ownership: { fenceOf: () => undefined },
    running: () => running,
    log: createLog('silent'),
    nowUs,
  })
  const accounts: AccountDirectory = {
    get: (name: string) => accountIds.get(name),
    spellingOf: (name: string) => name,
  } as never
  const service = createCallService({
    store,
    pbxs: { sources: () => sources, accounts },
    owner,
    states: async (_, pbx) =>
      (PHONES[pbx] ?? []).map((extension) => ({ pbx, present: { kind: 'phone', state: { extension } } }) as never),
    isConnected: async () => isConnected,
    liveCalls: () => [...live].map(([id, pbx]) => ({ id, pbx, call: callOf(id), stages: [] }) as never),
    refreshCalls: async () => {},
    nowUs,
  })
  const audit = {
    ...SILENT_AUDIT,
    note: async (event: string, _: unknown, facts?: AuditFacts) => void audited.push({ event, facts }),
  }
  api = await startApi(store, (auth) =>
    originateRoutes({
      auth,
      calls: service,
      audit,
      get usersMayCall() {
        return usersMayCall
      },
    }).use(
      tokenRoutes(
        auth,
        createTokenService({ accounts: store.accounts, onRevoked: auth.forget, usersMayCall: false }),
        SILENT_AUDIT,
      ),
    ),
  )
  for (const name of ['mine', 'other', 'nobody']) {
    tokens.set(name, await api.logIn(name))
    accountIds.set(name, (await store.accounts.accountGetId(name)) ?? 0)
  }
  tokens.set('admin', await api.logIn('mine', 'ADMIN'))
})
afterAll(async () => {
  await owner.stop()
  await api.stop()
  asterisk.stop()
  await store.stop()
  folder[Symbol.dispose]()
})
beforeEach(() => {
  asterisk.asked.length = 0
  asterisk.answer = () => 'Response: Success'
  isConnected = true
  usersMayCall = true
  audited.length = 0
})

const tokens = new Map<string, string>()
const post = (body: unknown, who = 'mine') => ask(api, 'POST', '/call', { token: tokens.get(who) ?? who, body })
const remove = (id: string, who = 'mine') => ask(api, 'DELETE', `/call/${id}`, { token: tokens.get(who) ?? who })
/** Ends the calls so far, so that their phones are free. */
async function endCalls(): Promise<void> {
  for (const [id, call] of calls) calls.set(id, { ...call, isPhoneUp: false })
  live.clear()
  await store.callRequests.callRequestSetOver([...calls.keys()])
}

describe('POST /call', () => {
  test('answers with the request and the call, and is in the audit trail without the whole number', async () => {
    const { status, body } = await post({ from: '102', to: '+49 30 123-456', name: 'Bob' })
    expect(status).toBe(200)
    const [requestId = ''] = [...calls.keys()].slice(-1)
    expect(body.result).toEqual({ request_id: requestId, call_id: calls.get(requestId)?.callId ?? '' })
    expect(asterisk.asked).toHaveLength(1)
    expect(asterisk.asked[0]).toContain('Exten: +4930123456\r\n')
    expect(audited).toEqual([
      {
        event: 'call_made',
        facts: { from: '102', to: '…56', request: requestId, call: calls.get(requestId)?.callId ?? '' },
      },
    ])
    await endCalls()
  })

  test('refuses a second call of the phone until the first one has ended', async () => {
    expect((await post({ from: '102', to: '101' })).status).toBe(200)
    expect((await post({ from: '102', to: '101' })).body.message).toBe(
      'The phone 102 is in such a call already. Hang that up first.',
    )
    for (const [id, call] of calls) calls.set(id, { ...call, isPhoneUp: false })
    await until('the phone is free again', async () => (await post({ from: '102', to: '101' })).status === 200)
    expect(asterisk.asked).toHaveLength(2)
    await endCalls()
  })

  const invalid: readonly [what: string, body: object, errors: readonly string[]][] = [
    ['a number that is none', { from: '102', to: '101;x' }, ['/to']],
    ['a number that calls_to does not allow', { from: '102', to: '0900123' }, ['/to']],
    ['an unknown phone', { from: '999', to: '101' }, ['/from']],
    ['a phone that two PBXs have', { from: '101', to: '101' }, ['/pbx']],
    ["another account's PBX", { from: '101', to: '101', pbx: 'foreign' }, ['/pbx']],
    ['a PBX that does not exist', { from: '101', to: '101', pbx: 'x' }, ['/pbx']],
    ['a name with a line break', { from: '102', to: '101', name: 'a\nb' }, ['/name']],
    ['all at once', { from: '999', to: '', name: 'a\0' }, ['/to', '/name', '/from']],
    ['an unknown field', { from: '102', to: '101', context: 'from-trunk' }, ['/context']],
    ['no number', { from: '102' }, ['/to']],
  ]
  test.each(invalid)('refuses %s, and asks no PBX', async (_, body, paths) => {
    const answer = await post(body)
    expect(answer.status).toBe(422)
    expect((answer.body.result as { errors: { path: string }[] }).errors.map(({ path }) => path)).toEqual([...paths])
    expect(asterisk.asked).toEqual([])
  })

  test('names the PBXs between which it cannot choose', async () => {
    const { body } = await post({ from: '101', to: '101' })
    expect(body.result).toEqual({
      errors: [{ path: '/pbx', message: 'must say which PBX: office, branch have this extension' }],
    })
    expect((await post({ from: '101', to: '101', pbx: 'branch' })).status).toBe(200)
    await endCalls()
  })

  test('is refused where calls are off, before the body is looked at for an account without any', async () => {
    expect((await post({ from: '301', to: '101' })).status).toBe(403)
    expect((await post('not even an object', 'nobody')).status).toBe(403)
    expect(asterisk.asked).toEqual([])
  })

  test('is refused while the PBX is away', async () => {
    isConnected = false
    const { status, body } = await post({ from: '102', to: '101' })
    expect([status, body.message]).toEqual([409, 'The PBX office is not connected, so that nothing was dialled.'])
    expect(asterisk.asked).toEqual([])
  })

  test('gives the reason of a PBX that refuses, and leaves the phone free', async () => {
    asterisk.answer = () => 'Response: Error\r\nMessage: Extension does not exist.'
    const { status, body } = await post({ from: '102', to: '101' })
    expect([status, body.message]).toEqual([409, 'The PBX did not do this: Extension does not exist.'])
    asterisk.answer = () => 'Response: Success'
    expect((await post({ from: '102', to: '101' })).status).toBe(200)
    await endCalls()
  })

  test('says to look first when the answer is lost; nothing is sent again', async () => {
    asterisk.answer = () => undefined
    const { status, body } = await post({ from: '103', to: '101' })
    expect(status).toBe(409)
    expect(body.message).toStartWith('The PBX did not answer in time: look')
    expect(audited.map(({ event }) => event)).toEqual(['call_made'])
    expect((await post({ from: '103', to: '101' })).body.message).toStartWith('The phone 103 is in such a call already')
    expect(asterisk.asked).toHaveLength(1)
  })

  test('of a process that ended after it had taken the request is not made by the next one', async () => {
    const request = { accountId: 1, pbx: 'office', extension: '104', number: '101', name: '', callId: null, limit: 30 }
    await store.callRequests.callRequestAdd({ ...request, id: crypto.randomUUID(), atUs: nowUs() })
    expect(await store.callRequests.callRequestTake({ pbx: 'office', atUs: nowUs() })).toHaveLength(1)
    owner.wake()
    // The next request is served after it would have been.
    expect((await post({ from: '102', to: '101' })).status).toBe(200)
    expect(asterisk.asked.map((frame) => /^Channel: (.*?)\r?$/m.exec(frame)?.[1])).toEqual(['PJSIP/102'])
    await endCalls()
  })
})

describe('DELETE /call/{id}', () => {
  test('hangs up all channels of a call that is up, once', async () => {
    const { body } = await post({ from: '102', to: '101' })
    const { call_id: id } = body.result as { call_id: string }
    asterisk.asked.length = 0
    audited.length = 0
    expect((await remove(id)).body).toMatchObject({ code: 200, result: [] })
    expect(asterisk.asked.map((frame) => frame.split('\r\n').slice(0, 2))).toEqual([
      ['Action: Hangup', 'Channel: 1795.1'],
      ['Action: Hangup', 'Channel: 1795.2'],
    ])
    expect(audited).toEqual([{ event: 'call_hung_up', facts: { call: id } }])
    await endCalls()
    expect((await remove(id)).status).toBe(404)
  })

  test('is refused where calls are off, before the call is looked for', async () => {
    expect((await remove(crypto.randomUUID(), 'nobody')).status).toBe(403)
    const silent = crypto.randomUUID()
    live.set(silent, 'silent')
    expect((await remove(silent)).status).toBe(403)
    live.clear()
    expect((await remove(crypto.randomUUID())).status).toBe(404)
  })
})

describe('the right to calls', () => {
  const create = (body: object, who: string) => ask(api, 'POST', '/auth/token', { token: tokens.get(who) ?? '', body })
  const tokenOf = async (body: object, who = 'admin') =>
    (await create(body, who)).body.result as { access_token: string; calls: boolean }

  test('is given to an API token when it is created, and only then', async () => {
    const without = await tokenOf({ name: 'crm' })
    expect(without.calls).toBe(false)
    expect((await post({ from: '102', to: '101' }, without.access_token)).status).toBe(403)
    expect((await remove(crypto.randomUUID(), without.access_token)).status).toBe(403)
    const withRight = await tokenOf({ name: 'crm', calls: true })
    expect(withRight.calls).toBe(true)
    expect((await post({ from: '102', to: '101' }, withRight.access_token)).status).toBe(200)
    await endCalls()
  })

  test('of a token for the pop page with an extension is for calls from there alone', async () => {
    const { access_token: token } = await tokenOf({ name: 'desk', calls: true, pop: true, extension: '102' })
    const refused = await post({ from: '103', to: '101' }, token)
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'This token makes calls from the extension 102 alone.',
    ])
    expect(asterisk.asked).toEqual([])
    expect((await post({ from: '102', to: '101' }, token)).status).toBe(200)
    const [own, another] = [[...live.keys()].at(-1) ?? '', crypto.randomUUID()]
    live.set(another, 'office')
    extensions.set(own, '102').set(another, '103')
    expect((await remove(another, token)).status).toBe(404)
    expect((await remove(own, token)).status).toBe(200)
    const { access_token: without } = await tokenOf({ name: 'desk', pop: true, extension: '102' })
    expect((await post({ from: '102', to: '101' }, without)).status).toBe(403)
    expect((await remove(own, without)).status).toBe(403)
    await endCalls()
  })

  test('can be kept from users by the operator; then only an administrator gives it to a token', async () => {
    usersMayCall = false
    expect((await create({ name: 'mine', calls: true }, 'mine')).status).toBe(403)
    expect((await create({ name: 'mine' }, 'mine')).status).toBe(200)
    expect((await create({ name: 'all', calls: true }, 'admin')).status).toBe(200)
  })

  test.each([
    ['a user', 'USER', null, false, true, true],
    ['a user from whom calls are kept', 'USER', null, false, false, false],
    ['an administrator', 'ADMIN', null, false, false, true],
    ['a token of a user', 'USER', 'crm', true, true, true],
    ['a token of a user from whom calls are kept by now', 'USER', 'crm', true, false, false],
    ['a token of an administrator', 'ADMIN', 'crm', true, false, true],
    ['a token of an administrator without the right', 'ADMIN', 'crm', false, true, false],
  ] as const)('of %s', (_, type, name, calls, usersMayCall, may) => {
    expect(mayCall({ user: { type: USER_TYPES[type] }, name, calls }, usersMayCall)).toBe(may)
  })
})

test('30 calls a minute are made for an account; what asks no PBX does not count', async () => {
  const accountId = accountIds.get('mine') ?? 0
  expect((await post({ from: '999', to: '101' })).status).toBe(422)
  for (let count = 0; count < 30; count += 1) {
    const id = crypto.randomUUID()
    const more = { extension: id, number: '101', name: '', callId: null, atUs: nowUs(), limit: 30 }
    await store.callRequests.callRequestAdd({ id, accountId, pbx: 'elsewhere', ...more })
  }
  const last = await post({ from: '102', to: '101' })
  expect(last.status).toBe(429)
  expect(Number(last.headers.get('retry-after'))).toBeWithin(1, 61)
  expect(asterisk.asked).toEqual([])
})
