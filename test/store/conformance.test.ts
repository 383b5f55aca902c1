import { afterAll, describe, expect, test } from 'bun:test'
import { forSwitches } from '../../src/lib/event-kinds.ts'
import { SECOND } from '../../src/lib/time.ts'
import { etagOf } from '../../src/store/list-etag.ts'
import type { NewEvent, StoredEvent } from '../../src/store/operations/calls.ts'
import { NOTHING_TO_SEND } from '../../src/store/operations/log.ts'
import type { PbxRecord } from '../../src/store/operations/pbxs.ts'
import {
  DELIVERIES_PER_EVENT,
  type OutcomeBatch,
  type PendingDelivery,
  stateNumber,
} from '../../src/store/operations/queue.ts'
import { FIRST_RECORDING, type RecordingPosition, type RecordingRecord } from '../../src/store/operations/recordings.ts'
import type { WebhookEntry, WebhookOptionsRecord } from '../../src/store/operations/webhooks.ts'
import type { Store } from '../../src/store/store.ts'
import { NO_FACTS } from '../../src/store/subscription.ts'
import { DEFAULT_OPTIONS } from '../../src/store/webhook-options.ts'
import { until } from '../help/receiver.ts'
import { batch, storeEvents } from '../help/store.ts'
import { ENGINES, operationsOf, type TestStore, watchOperations } from './engines.ts'

/** Every operation of the interface, on every engine: what it returns, what it changes, and what it leaves alone. */

const ACCOUNT = 1
const NOW = 1_795_213_000 * SECOND
const HOUR = 3_600 * SECOND
const [ONE, TWO] = ['https://one.example/', 'https://two.example/']

const entry = (url: string, off: Partial<WebhookEntry> = {}): WebhookEntry => ({
  url,
  ...forSwitches(() => true),
  ...off,
})

const user = (email: string, account = 'default') => ({
  account,
  type: 1,
  name: 'A',
  email,
  passwordHash: `hash of ${email}`,
  atUs: NOW,
})

let events = 0
const event = (callId = 'call', more: Partial<NewEvent> = {}): NewEvent => {
  events += 1
  const data = { name: 'call_started', call: { id: callId } }
  return {
    uuid: `event ${events}`,
    callId,
    name: 'call_started',
    sequence: 1,
    atUs: NOW,
    body: JSON.stringify({ data }),
    ...more,
  }
}

type Outcome = {
  state: 'pending' | 'delivered' | 'failed'
  generation?: number
  dueSteadyUs?: number
  probe?: boolean
  attemptUs?: number
  response?: string
}

/** What came of one attempt on each of some deliveries. */
function outcomes(ids: readonly number[], outcome: Outcome): OutcomeBatch {
  const {
    state,
    generation = 1,
    dueSteadyUs = null,
    probe = false,
    attemptUs = NOW + SECOND,
    response = 'ok',
  } = outcome
  const each = <Value>(value: Value): Value[] => ids.map(() => value)
  return {
    deliveryIds: ids,
    generations: each(generation),
    states: each(stateNumber(state)),
    tries: each(1),
    attemptsMade: each(1),
    dueSteadyUs: each(dueSteadyUs),
    endedUs: each(state === 'pending' ? null : attemptUs),
    attemptUs: each(attemptUs),
    probes: each(probe),
    statuses: each(state === 'delivered' ? 200 : 500),
    durationsMs: each(7),
    errors: each(null),
    addresses: each('192.0.2.1'),
    responses: each(response),
  }
}

const idsOf = (stored: readonly StoredEvent[]) => stored.flatMap(({ deliveries }) => deliveries.map(({ id }) => id))
const called = new Set<string>()
let all: string[] = []

for (const engine of ENGINES)
  describe.skipIf(engine.missing !== undefined)(engine.missing ?? engine.name, () => {
    /** A store with some URLs in the list of the default account. */
    async function open(...urls: string[]) {
      const opened: TestStore = await engine.open()
      all = operationsOf(opened.store)
      const store = watchOperations(opened.store, called)
      const setList = (list: readonly WebhookEntry[], ifMatch: string | null = null, nowUs = NOW) =>
        store.webhooks.listReplace({
          accountId: ACCOUNT,
          list,
          ifMatch,
          nowUs,
          secrets: list.map(({ url }) => `whsec_${url}`),
        })
      if (urls.length > 0) await setList(urls.map((url) => entry(url)))
      const put = (...some: NewEvent[]) => storeEvents(store, some, { nowSteadyUs: NOW })
      const webhookId = async (url = ONE) => (await store.webhooks.webhookGetByUrl(ACCOUNT, url))?.id ?? 0
      const untried = async (url = ONE, afterId = 0, limit = 100): Promise<PendingDelivery[]> =>
        store.queue.deliveryGetUntried({ webhookId: await webhookId(url), afterId, limit })
      const states = async () => {
        const query = { filter: { accountId: ACCOUNT }, fromId: Number.MAX_SAFE_INTEGER, limit: 1_000 } as const
        const { rows } = await store.log.deliveryList({ ...query, order: 'newest' })
        return rows.toReversed().map(({ state }) => state)
      }
      return {
        store,
        another: opened.another,
        setList,
        put,
        webhookId,
        untried,
        states,
        [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
      }
    }

    describe('accounts', () => {
      test('a user is created with its account, and an e-mail address is taken once', async () => {
        await using at = await open()
        const { accounts } = at.store
        expect(await accounts.userCount()).toBe(0)
        const made = await accounts.userCreate(user('a@example.com', 'acme'))
        expect(await accounts.userCreate(user('a@example.com', 'other'))).toBeUndefined()
        await accounts.userCreate(user('b@example.com', 'acme'))
        expect(await accounts.userCount()).toBe(2)
        const accountId = (await accounts.accountGetId('acme')) ?? 0
        expect(await accounts.accountGetName(accountId)).toBe('acme')
        expect(await accounts.accountGetId('other')).toBeUndefined()
        expect(await accounts.accountGetName(999)).toBeUndefined()
        expect(await accounts.accountList()).toEqual([
          { id: 1, name: 'default' },
          { id: accountId, name: 'acme' },
        ])
        const record = { accountId, type: 1, name: 'A', account: 'acme', createdUs: NOW }
        expect(await accounts.userList()).toEqual([
          { id: made?.id ?? 0, email: 'a@example.com', ...record },
          { id: (made?.id ?? 0) + 1, email: 'b@example.com', ...record },
        ])
      })

      /** A user with a token for each name. */
      test('changes the type of a user, whose tokens stay', async () => {
        await using at = await open()
        const { accounts } = at.store
        await withTokens(accounts, 'one')
        expect(await accounts.userSetType({ email: 'a@example.com', type: 2 })).toBe(true)
        expect(await accounts.userSetType({ email: 'nobody@example.com', type: 2 })).toBe(false)
        expect((await accounts.userGetByToken('one'))?.user.type).toBe(2)
        expect((await accounts.userList()).map(({ type }) => type)).toEqual([2])
      })

      async function withTokens(accounts: Store['accounts'], ...tokens: string[]): Promise<number> {
        const userId = (await accounts.userCreate(user('a@example.com')))?.id ?? 0
        for (const tokenHash of tokens)
          await accounts.tokenAddIfPasswordUnchanged({
            userId,
            passwordHash: 'hash of a@example.com',
            tokenHash,
            client: 'curl',
            atUs: NOW,
          })
        return userId
      }

      test('a token is added only for the password that was checked, and names its user', async () => {
        await using at = await open()
        const { accounts } = at.store
        const userId = await withTokens(accounts, 'one')
        const late = { userId, passwordHash: 'another', tokenHash: 'two', atUs: NOW }
        expect(await accounts.tokenAddIfPasswordUnchanged(late)).toBe(false)
        expect(await accounts.userGetByToken('two')).toBeUndefined()
        expect(await accounts.userGetByToken('one')).toMatchObject({ user: { id: userId }, lastUsedUs: null })
        await accounts.tokenSetUsed({ tokenHash: 'one', atUs: NOW + 5 })
        expect((await accounts.userGetByToken('one'))?.lastUsedUs).toBe(NOW + 5)
      })

      test('a named token is added while the one that asks for it is valid, and deleted by its owner alone', async () => {
        await using at = await open()
        const { accounts } = at.store
        const userId = await withTokens(accounts, 'aaaa')
        const named = { userId, name: 'crm', tokenHash: 'bbbb', atUs: NOW + 9 }
        expect(await accounts.tokenAddNamed({ ...named, madeWith: 'revoked' })).toBe(false)
        expect(await accounts.tokenAddNamed({ ...named, madeWith: 'aaaa' })).toBe(true)
        expect((await accounts.tokenList(userId, 10)).map(({ hash, name, client }) => [hash, name, client])).toEqual([
          ['bbbb', 'crm', null],
          ['aaaa', null, 'curl'],
        ])
        expect(await accounts.tokenList(userId, 1)).toHaveLength(1)
        expect(await accounts.tokenDeleteOwn({ userId: userId + 1, id: 'bb' })).toBe(false)
        expect(await accounts.tokenDeleteOwn({ userId, id: 'bb' })).toBe(true)
        expect(await accounts.userGetByToken('bbbb')).toBeUndefined()
      })

      test('tokens are deleted one by one, or all of a user', async () => {
        await using at = await open()
        const { accounts } = at.store
        await withTokens(accounts, 'one', 'two', 'three')
        await accounts.tokenDelete('one')
        await accounts.tokenDelete('unknown')
        expect(await accounts.userGetByToken('one')).toBeUndefined()
        expect(await accounts.tokenDeleteOfUser('nobody@example.com')).toBeUndefined()
        expect(await accounts.tokenDeleteOfUser('a@example.com')).toBe(2)
      })

      test('a password is changed if it is still the one that was checked; other tokens end if that is asked', async () => {
        await using at = await open()
        const { accounts } = at.store
        const userId = await withTokens(accounts, 'old')
        const change = { userId, newPasswordHash: 'new', atUs: NOW }
        const wrong = { ...change, passwordHash: 'wrong', tokenHash: 'x', revokeOthers: true }
        expect(await accounts.userChangePasswordIfUnchanged(wrong)).toBe(false)
        const right = { ...change, passwordHash: 'hash of a@example.com', tokenHash: 'fresh', revokeOthers: false }
        expect(await accounts.userChangePasswordIfUnchanged(right)).toBe(true)
        expect(await accounts.userGetByToken('old')).toBeDefined()
        expect((await accounts.userGetPassword('a@example.com'))?.passwordHash).toBe('new')
        const again = { ...change, passwordHash: 'new', tokenHash: 'last', revokeOthers: true }
        expect(await accounts.userChangePasswordIfUnchanged(again)).toBe(true)
        expect(await accounts.userGetByToken('old')).toBeUndefined()
        expect(await accounts.userGetByToken('last')).toBeDefined()
      })

      test('the operator sets a password and deletes a user with its tokens', async () => {
        await using at = await open()
        const { accounts } = at.store
        await withTokens(accounts, 'one')
        expect(await accounts.userSetPassword({ email: 'b@example.com', passwordHash: 'x' })).toBe(false)
        expect(await accounts.userSetPassword({ email: 'a@example.com', passwordHash: 'x' })).toBe(true)
        expect(await accounts.userGetPassword('a@example.com')).toMatchObject({ passwordHash: 'x' })
        expect(await accounts.userDelete('b@example.com')).toBe(false)
        expect(await accounts.userDelete('a@example.com')).toBe(true)
        expect(await accounts.userGetByToken('one')).toBeUndefined()
        expect(await accounts.userGetPassword('a@example.com')).toBeUndefined()
      })
    })

    test('what operators did is handed out once, in order', async () => {
      await using at = await open()
      const { accounts } = at.store
      const act = (email: string) =>
        ({ event: 'user_added', email, account: 'default', facts: null, by: 'root', atUs: NOW }) as const
      await accounts.operatorActAdd(act('a@example.com'))
      await accounts.operatorActAdd(act('b@example.com'))
      const facts = { host: 'crm.example.com', webhooks: 2 }
      const ofAccount = { ...act(''), event: 'webhooks_replaced', email: null, facts } as const
      await accounts.operatorActAdd(ofAccount)
      expect(await accounts.operatorActTake()).toEqual([act('a@example.com'), act('b@example.com'), ofAccount])
      expect(await accounts.operatorActTake()).toEqual([])
    })

    describe('webhooks', () => {
      test('a list keeps its order and its switches, and its tag guards it', async () => {
        await using at = await open()
        const list = [entry(TWO, { call_saved: false }), entry(ONE), entry(TWO)]
        expect(await at.setList(list)).toBe(true)
        expect(await at.store.webhooks.listGet(ACCOUNT)).toEqual(list)
        expect(await at.setList([], '"another"')).toBe(false)
        expect(await at.store.webhooks.listGet(ACCOUNT)).toEqual(list)
        expect(await at.setList([entry(ONE)], etagOf(list))).toBe(true)
        expect(await at.store.webhooks.listGet(ACCOUNT)).toEqual([entry(ONE)])
        expect(await at.store.webhooks.listGet(2)).toEqual([])
      })

      test('a webhook keeps its id while it stays and when it comes back, and each occurrence has its own', async () => {
        await using at = await open(ONE, ONE, TWO)
        const { webhooks } = at.store
        const ids = (await webhooks.webhookListWithPending(ACCOUNT)).map(({ id }) => id)
        expect(new Set(ids).size).toBe(3)
        await at.setList([entry(TWO)])
        expect(await webhooks.webhookGetByUrl(ACCOUNT, ONE)).toBeUndefined()
        expect(await webhooks.webhookGetMany([...ids, 999])).toMatchObject([
          { id: ids[0], url: ONE, listed: false },
          { id: ids[1], url: ONE, listed: false },
          { id: ids[2], url: TWO, listed: true },
        ])
        await at.setList([entry(ONE), entry(TWO)])
        expect((await webhooks.webhookListWithPending(ACCOUNT)).map(({ id }) => id)).toEqual([ids[0] ?? 0, ids[2] ?? 0])
      })

      test('a URL keeps the secret that it got first, also while it is not in the list', async () => {
        await using at = await open(ONE, ONE, TWO)
        const { webhooks } = at.store
        const before = await webhooks.secretList(ACCOUNT)
        expect(before).toEqual([
          { url: ONE, secret: `whsec_${ONE}`, previousUntilUs: null },
          { url: TWO, secret: `whsec_${TWO}`, previousUntilUs: null },
        ])
        await at.setList([])
        expect(await webhooks.secretList(ACCOUNT)).toEqual([])
        const list = [entry(ONE)]
        await webhooks.listReplace({ accountId: ACCOUNT, list, ifMatch: null, secrets: ['whsec_new'], nowUs: NOW })
        expect(await webhooks.secretList(ACCOUNT)).toEqual(before.slice(0, 1))
      })

      test('options belong to a URL, are replaced as a whole, and are kept while it is not in the list', async () => {
        await using at = await open(ONE, TWO)
        const { webhooks } = at.store
        const options: WebhookOptionsRecord = {
          ...DEFAULT_OPTIONS,
          name: 'CRM',
          filter: { direction: ['inbound'] },
          headers: { 'X-Key': 'secret' },
          maxPerSecond: 0.5,
          body: { preset: 'flat', parameters: {} },
        }
        const listed = async () => await webhooks.optionsList(ACCOUNT)
        const inCache = async () => (await webhooks.webhookGetMany([await at.webhookId()]))[0]?.options
        const none = [
          { url: ONE, options: null },
          { url: TWO, options: null },
        ]
        expect(await listed()).toEqual(none)
        expect(await inCache()).toBeNull()
        expect(await webhooks.optionsReplace({ accountId: ACCOUNT, url: ONE, options, nowUs: NOW })).toEqual(options)
        expect(await webhooks.optionsReplace({ accountId: 2, url: ONE, options, nowUs: NOW })).toBe('unlisted')
        expect(
          await webhooks.optionsReplace({ accountId: ACCOUNT, url: 'https://x.example/', options, nowUs: NOW }),
        ).toBe('unlisted')
        expect(await listed()).toEqual([{ url: ONE, options }, none[1] ?? { url: '', options: null }])
        expect(await inCache()).toEqual(options)
        // `null` keeps the value that is stored, in any case of the name.
        const kept = { ...options, name: null, headers: { 'x-key': null, 'X-New': 'new' } }
        const merged = { ...options, name: null, headers: { 'x-key': 'secret', 'X-New': 'new' } }
        expect(await webhooks.optionsReplace({ accountId: ACCOUNT, url: ONE, options: kept, nowUs: NOW })).toEqual(
          merged,
        )
        const unknown = { ...options, headers: { 'X-Other': null, 'X-New': null } }
        expect(await webhooks.optionsReplace({ accountId: ACCOUNT, url: ONE, options: unknown, nowUs: NOW })).toEqual({
          unknownHeaders: ['X-Other'],
        })
        await at.setList([entry(TWO)])
        expect(await listed()).toEqual(none.slice(1))
        expect(await webhooks.optionsReplace({ accountId: ACCOUNT, url: ONE, options, nowUs: NOW })).toBe('unlisted')
        await at.setList([entry(ONE), entry(TWO), entry(ONE)])
        expect(await listed()).toEqual([{ url: ONE, options: merged }, none[1] ?? { url: '', options: null }])
        await webhooks.optionsReplace({ accountId: ACCOUNT, url: ONE, options: DEFAULT_OPTIONS, nowUs: NOW })
        expect(await listed()).toEqual(none)
        await at.setList([])
        await at.store.maintenance.secretPrune({ beforeUs: NOW + HOUR, limit: 9 })
        await at.setList([entry(ONE)])
        expect(await listed()).toEqual(none.slice(0, 1))
      })

      test('it is kept when a pause ended, in steady time, regardless of later changes', async () => {
        await using at = await open(ONE)
        const { webhooks, maintenance } = at.store
        await maintenance.clockSet({ steppedUs: HOUR, pruneFromUs: 0 })
        const put = async (options: Partial<WebhookOptionsRecord>, nowUs: number) => {
          const all = { ...DEFAULT_OPTIONS, ...options }
          const replaced = await webhooks.optionsReplace({ accountId: ACCOUNT, url: ONE, options: all, nowUs })
          return typeof replaced === 'object' && 'paused' in replaced ? replaced.resumedSteadyUs : 'refused'
        }
        expect(await put({ paused: false }, NOW)).toBeNull()
        expect(await put({ paused: true }, NOW + 1)).toBeNull()
        expect(await put({ paused: true }, NOW + 2)).toBeNull()
        expect(await put({ paused: false }, NOW + 3)).toBe(NOW + 3 - HOUR)
        expect(await put({ name: 'CRM' }, NOW + 4)).toBe(NOW + 3 - HOUR)
        expect(await put({ paused: true }, NOW + 5)).toBe(NOW + 3 - HOUR)
        expect(await put({}, NOW + 6)).toBe(NOW + 6 - HOUR)
        expect((await webhooks.optionsList(ACCOUNT))[0]?.options?.resumedSteadyUs).toBe(NOW + 6 - HOUR)
      })

      test('a rotation keeps the secret before for a while, and another has to wait for it or be forced', async () => {
        await using at = await open(ONE)
        const { webhooks } = at.store
        const until = NOW + 24 * HOUR
        const rotation = { accountId: ACCOUNT, url: ONE, nowUs: NOW, previousUntilUs: until, force: false }
        expect(await webhooks.secretRotate({ ...rotation, url: TWO, secret: 'x' })).toBe('unlisted')
        expect(await webhooks.secretRotate({ ...rotation, secret: 'second' })).toBe('rotated')
        expect(await webhooks.webhookGetByUrl(ACCOUNT, ONE)).toMatchObject({
          secret: 'second',
          previous: `whsec_${ONE}`,
          previousUntilUs: until,
        })
        expect(await webhooks.secretRotate({ ...rotation, secret: 'third' })).toBe(until)
        expect(await webhooks.secretRotate({ ...rotation, secret: 'third', force: true })).toBe('rotated')
        expect(await webhooks.webhookGetByUrl(ACCOUNT, ONE)).toMatchObject({ secret: 'third', previous: 'second' })
      })

      test('what is pending is counted for each webhook, and webhooks with something to cancel are active', async () => {
        await using at = await open(ONE, TWO)
        const { webhooks, queue } = at.store
        const [first = 0] = idsOf(await at.put(event('a'), event('b')))
        await queue.deliveryRecordOutcomes(outcomes([first], { state: 'pending', dueSteadyUs: NOW + HOUR }))
        expect((await webhooks.webhookListWithPending(ACCOUNT)).map(({ url, pending }) => [url, pending])).toEqual([
          [ONE, 2],
          [TWO, 2],
        ])
        const [one, two] = [await at.webhookId(ONE), await at.webhookId(TWO)]
        await at.setList([entry(TWO)])
        expect((await webhooks.webhookListActive()).toSorted()).toEqual([one, two].toSorted())
        while ((await queue.deliveryCancelUnlisted({ webhookId: one, nowUs: NOW, limit: 1 })).length > 0);
        expect(await webhooks.webhookListActive()).toEqual([two])
      })
    })

    describe('queue', () => {
      test('an event has a delivery for each webhook whose switch is on, in the order of the list', async () => {
        await using at = await open()
        await at.setList([entry(TWO), entry(ONE, { call_transferred: false })])
        const stored = await at.put(event(), event('call', { name: 'call_blind_transferred' }))
        const [two, one] = [await at.webhookId(TWO), await at.webhookId(ONE)]
        expect(stored.map(({ deliveries }) => deliveries.map(({ webhookId }) => webhookId))).toEqual([
          [two, one],
          [two],
        ])
        const [first = 0, second = 0] = stored.map(({ id }) => id)
        expect(second).toBeGreaterThan(first)
        expect(idsOf(stored)).toEqual([
          first * DELIVERIES_PER_EVENT,
          first * DELIVERIES_PER_EVENT + 1,
          second * DELIVERIES_PER_EVENT,
        ])
      })

      test('an event of a kind that webhooks have to ask for is stored only while one does', async () => {
        await using at = await open(TWO, ONE)
        const some = () => [event('call', { name: 'call_held' }), event('call', { name: 'call_ended' })]
        const put = async (options: Partial<WebhookOptionsRecord>): Promise<void> => {
          const replaced = { ...DEFAULT_OPTIONS, ...options }
          await at.store.webhooks.optionsReplace({ accountId: ACCOUNT, url: ONE, options: replaced, nowUs: NOW })
        }
        const kinds = async () => (await at.put(...some())).map(({ name, deliveries }) => [name, deliveries.length])
        expect(await kinds()).toEqual([['call_ended', 2]])
        await put({ events: ['call_missed', 'call_held'] })
        expect(await kinds()).toEqual([
          ['call_held', 1],
          ['call_ended', 2],
        ])
        await put({ events: ['call_held'], filter: { direction: ['outbound'] } })
        expect(await kinds()).toEqual([
          ['call_held', 0],
          ['call_ended', 1],
        ])
        await put({})
        expect(await kinds()).toEqual([['call_ended', 2]])
      })

      test('an event has a delivery for the webhooks whose filter matches it, from when it is stored', async () => {
        await using at = await open(ONE, TWO)
        const options = { ...DEFAULT_OPTIONS, filter: { extension: ['10*'], direction: ['inbound'] } }
        await at.store.webhooks.optionsReplace({ accountId: ACCOUNT, url: ONE, options, nowUs: NOW })
        const facts = { ...NO_FACTS, direction: 'inbound', extension: ['20', '101'] }
        const stored = await at.put(
          event('a', { facts }),
          event('b', { facts: { ...facts, extension: ['20'] } }),
          event('c', { facts: { ...facts, direction: 'outbound' } }),
          event('d'),
        )
        const [one, two] = [await at.webhookId(ONE), await at.webhookId(TWO)]
        expect(stored.map(({ deliveries }) => deliveries.map(({ webhookId }) => webhookId))).toEqual([
          [one, two],
          [two],
          [two],
          [two],
        ])
        expect((await at.untried(ONE)).map(({ callId }) => callId)).toEqual(['a'])
        expect((await at.untried(TWO)).map(({ callId }) => callId)).toEqual(['a', 'b', 'c', 'd'])
        // Off for every event: the switch counts too.
        await at.setList([entry(ONE, { call_started: false }), entry(TWO)])
        const [later] = await at.put(event('e', { facts }))
        expect(later?.deliveries.map(({ webhookId }) => webhookId)).toEqual([two])
      })

      test('untried deliveries come in the order of their ids, in pages, with all that sending takes', async () => {
        await using at = await open(ONE, TWO)
        const stored = await at.put(event('a'), event('b'), event('c'))
        const page = await at.untried(ONE, 0, 2)
        const [first] = stored
        expect(page[0]).toEqual({
          id: first?.deliveries[0]?.id ?? 0,
          accountId: ACCOUNT,
          webhookId: await at.webhookId(ONE),
          callId: 'a',
          event: 'call_started',
          uuid: first?.uuid ?? '',
          body: first?.body ?? '',
          atUs: NOW,
          generation: 1,
          sinceSteadyUs: NOW,
          tries: 0,
          attemptsMade: 0,
          dueSteadyUs: undefined,
        })
        const rest = await at.untried(ONE, page.at(-1)?.id)
        expect([...page, ...rest].map(({ callId }) => callId)).toEqual(['a', 'b', 'c'])
      })

      test('in a strict order a delivery waits for the earlier ones of its call on their first schedule', async () => {
        await using at = await open(ONE, TWO)
        const { queue } = at.store
        const stored = await at.put(event('a'), event('b'), event('a'), event('c'), event('b'), event('a'))
        const ofOne = stored.map(({ deliveries }) => deliveries[0]?.id ?? 0)
        const [a1 = 0, b1 = 0, a2 = 0, c1 = 0, b2 = 0, a3 = 0] = ofOne
        const webhookId = await at.webhookId()
        const strict = async (afterId = 0, limit = 100) => {
          const { deliveries, lastId } = await queue.deliveryGetUntriedStrict({ webhookId, afterId, limit })
          return [deliveries.map(({ id }) => id), lastId]
        }
        const first = async (...callIds: string[]) =>
          (await queue.deliveryGetFirstOfCalls({ webhookId, callIds })).map(({ id }) => id).toSorted((x, y) => x - y)
        expect(await strict()).toEqual([[a1, b1, c1], null])
        expect(await strict(0, 3)).toEqual([[a1, b1], a2])
        expect(await strict(a2, 3)).toEqual([[c1], a3])
        expect(await first('a', 'b', 'none')).toEqual([a1, b1])
        // A retry is waited for as well; it is no longer untried.
        await queue.deliveryRecordOutcomes(outcomes([a1], { state: 'pending', dueSteadyUs: NOW + HOUR }))
        expect(await strict()).toEqual([[b1, c1], null])
        expect((await queue.deliveryGetFirstOfCalls({ webhookId, callIds: ['a'] }))[0]).toMatchObject({
          id: a1,
          dueSteadyUs: NOW + HOUR,
          body: stored[0]?.body,
        })
        await queue.deliveryRecordOutcomes(outcomes([a1], { state: 'failed' }))
        await queue.deliveryRecordOutcomes(outcomes([b1], { state: 'delivered' }))
        expect(await strict()).toEqual([[a2, c1, b2], null])
        expect(await first('a', 'b', 'c')).toEqual([a2, c1, b2])
        // What is retried by hand holds nothing back.
        await queue.deliveryRetry({ accountId: ACCOUNT, id: a1, nowSteadyUs: NOW })
        expect(await first('a')).toEqual([a2])
        expect(await strict()).toEqual([[a2, c1, b2], null])
      })

      test('retries come when they are due, the longest due first, and it is known when the next is', async () => {
        await using at = await open(ONE)
        const { queue } = at.store
        const [a = 0, b = 0, c = 0, d = 0] = idsOf(await at.put(event('a'), event('b'), event('c'), event('d')))
        const due = (id: number, dueSteadyUs: number) =>
          queue.deliveryRecordOutcomes(outcomes([id], { state: 'pending', dueSteadyUs }))
        await due(c, NOW + 10)
        await due(b, NOW + 20)
        await due(a, NOW + 20)
        await due(d, NOW + 30)
        const webhookId = await at.webhookId()
        const get = async (dueSteadyUs: number, limit = 9) =>
          (await queue.deliveryGetDue({ webhookId, dueSteadyUs, limit })).map(({ id }) => id)
        expect(await get(NOW + 29)).toEqual([c, a, b])
        expect(await get(NOW + 29, 1)).toEqual([c])
        expect(await at.untried()).toEqual([])
        expect(await queue.deliveryGetNextDue({ webhookId, fromSteadyUs: NOW + 21 })).toBe(NOW + 30)
        expect(await queue.deliveryGetNextDue({ webhookId, fromSteadyUs: NOW + 31 })).toBeUndefined()
        expect(await queue.deliveryGetPending(d)).toMatchObject({ id: d, tries: 1, dueSteadyUs: NOW + 30 })
      })

      test('an outcome ends a delivery or schedules its retry, and is in its log', async () => {
        await using at = await open(ONE)
        const { queue, log } = at.store
        const [a = 0, b = 0] = idsOf(await at.put(event('a'), event('b')))
        expect(await queue.deliveryRecordOutcomes(outcomes([a], { state: 'delivered' }))).toEqual([])
        expect(await queue.deliveryRecordOutcomes(outcomes([b], { state: 'failed', response: 'no' }))).toEqual([])
        expect(await at.states()).toEqual(['delivered', 'failed'])
        expect(await queue.deliveryGetPending(a)).toBeUndefined()
        expect(await log.deliveryGet(ACCOUNT, b)).toMatchObject({
          state: 'failed',
          attemptsMade: 1,
          endedUs: NOW + SECOND,
          attempts: [
            { atUs: NOW + SECOND, status: 500, durationMs: 7, error: null, address: '192.0.2.1', response: 'no' },
          ],
        })
      })

      test('a failure of a schedule that was superseded changes nothing but the log; a success counts always', async () => {
        await using at = await open(ONE)
        const { queue, log } = at.store
        const [a = 0, b = 0] = idsOf(await at.put(event('a'), event('b')))
        await queue.deliveryRecordOutcomes(outcomes([a, b], { state: 'failed' }))
        for (const id of [a, b]) await queue.deliveryRetry({ accountId: ACCOUNT, id, nowSteadyUs: NOW + 50 })
        expect((await queue.deliveryGetPending(a))?.generation).toBe(2)
        const late = { state: 'failed', generation: 1, attemptUs: NOW + 3 * SECOND } as const
        expect(await queue.deliveryRecordOutcomes(outcomes([a], late))).toEqual([a])
        expect(await queue.deliveryGetPending(a)).toMatchObject({ generation: 2, tries: 0 })
        expect((await log.deliveryGet(ACCOUNT, a))?.attempts).toHaveLength(2)
        expect(await queue.deliveryRecordOutcomes(outcomes([b], { ...late, state: 'delivered' }))).toEqual([])
        expect(await at.states()).toEqual(['pending', 'delivered'])
      })

      test('several attempts of a delivery in one batch count in their order', async () => {
        await using at = await open(ONE)
        const { queue, log } = at.store
        const [a = 0, b = 0] = idsOf(await at.put(event('a'), event('b')))
        const [first, second] = [
          outcomes([a, b], { state: 'pending', dueSteadyUs: NOW + 5 }),
          outcomes([a], { state: 'delivered', attemptUs: NOW + 2 * SECOND }),
        ]
        const joined = Object.fromEntries(
          Object.entries(first).map(([name, values]) => [name, [...values, ...second[name as keyof OutcomeBatch]]]),
        )
        expect(await queue.deliveryRecordOutcomes({ ...first, ...joined })).toEqual([])
        expect(await at.states()).toEqual(['delivered', 'pending'])
        expect((await log.deliveryGet(ACCOUNT, a))?.attempts.map(({ status }) => status)).toEqual([500, 200])
        expect(await queue.deliveryGetPending(b)).toMatchObject({ dueSteadyUs: NOW + 5 })
      })

      test('of the probes of a delivery the last twenty are kept', async () => {
        await using at = await open(ONE)
        const { queue, log } = at.store
        const [id = 0] = idsOf(await at.put(event('a')))
        for (let n = 1; n <= 25; n += 1)
          await queue.deliveryRecordOutcomes(
            outcomes([id], { state: 'pending', dueSteadyUs: NOW, probe: true, attemptUs: NOW + n }),
          )
        const attempts = (await log.deliveryGet(ACCOUNT, id))?.attempts ?? []
        expect(attempts.map(({ atUs }) => atUs - NOW)).toEqual(Array.from({ length: 20 }, (_, n) => n + 6))
      })

      test('what was pending when a URL left is cancelled in steps, and what comes after it came back is not', async () => {
        await using at = await open(ONE)
        const { queue, webhooks } = at.store
        const webhookId = await at.webhookId()
        const before = idsOf(await at.put(event('a'), event('b'), event('c')))
        await at.setList([])
        await at.setList([entry(ONE)])
        expect((await webhooks.webhookGetMany([webhookId]))[0]?.cancelledTo).toBeGreaterThanOrEqual(before.at(-1) ?? 0)
        await at.put(event('d'))
        const cancelled = await queue.deliveryCancelUnlisted({ webhookId, nowUs: NOW, limit: 2 })
        expect(cancelled).toHaveLength(2)
        cancelled.push(...(await queue.deliveryCancelUnlisted({ webhookId, nowUs: NOW, limit: 2 })))
        expect(cancelled.toSorted()).toEqual(before)
        expect(await queue.deliveryCancelUnlisted({ webhookId, nowUs: NOW, limit: 2 })).toEqual([])
        expect((await webhooks.webhookGetMany([webhookId]))[0]?.cancelledTo).toBe(0)
        expect(await at.states()).toEqual(['cancelled', 'cancelled', 'cancelled', 'pending'])
      })

      test('what has been pending for too long fails, in steps', async () => {
        await using at = await open(ONE, TWO)
        const { queue } = at.store
        await storeEvents(at.store, [event('a'), event('b')], { nowSteadyUs: NOW - HOUR })
        await at.put(event('c'))
        const webhookId = await at.webhookId()
        const step = { webhookId, beforeSteadyUs: NOW, nowUs: NOW, limit: 1 }
        expect(await queue.deliveryFailExpired(step)).toHaveLength(1)
        expect(await queue.deliveryFailExpired({ ...step, limit: 9 })).toHaveLength(1)
        expect(await queue.deliveryFailExpired(step)).toEqual([])
        expect((await at.untried(ONE)).map(({ callId }) => callId)).toEqual(['c'])
        expect(await at.untried(TWO)).toHaveLength(3)
      })

      test('retries that are too old fail also when younger ones are due before them, not more than are asked for', async () => {
        await using at = await open(ONE)
        const { queue } = at.store
        const [old = 0, older = 0] = idsOf(
          await storeEvents(at.store, [event('a'), event('b')], { nowSteadyUs: NOW - HOUR }),
        )
        const young = idsOf(await at.put(event('c'), event('d')))
        const retry = (ids: number[], dueSteadyUs: number) =>
          queue.deliveryRecordOutcomes(outcomes(ids, { state: 'pending', dueSteadyUs }))
        await retry([old, older], NOW + 2 * HOUR)
        await retry(young, NOW + HOUR)
        const step = { webhookId: await at.webhookId(), beforeSteadyUs: NOW, nowUs: NOW, limit: 1 }
        expect(
          [...(await queue.deliveryFailExpired(step)), ...(await queue.deliveryFailExpired(step))].toSorted(),
        ).toEqual([old, older])
        expect(await queue.deliveryFailExpired(step)).toEqual([])
      })

      test('a retry makes a delivery due at once, and reports why it cannot', async () => {
        await using at = await open(ONE, TWO)
        const { queue, maintenance } = at.store
        const stored = await at.put(event('a'), event('b'), event('c'))
        const [a = 0, aTwo = 0, b = 0, , c = 0] = idsOf(stored)
        await queue.deliveryRecordOutcomes(outcomes(idsOf(stored), { state: 'failed' }))
        const retry = (id: number, accountId: number | null = ACCOUNT) =>
          queue.deliveryRetry({ accountId, id, nowSteadyUs: NOW + 9 })
        expect(await retry(999_999)).toBe('unknown')
        expect(await retry(a, 2)).toBe('unknown')
        expect(await retry(a, null)).toBe('queued')
        expect(await queue.deliveryGetPending(a)).toMatchObject({
          dueSteadyUs: NOW + 9,
          sinceSteadyUs: NOW + 9,
          tries: 0,
        })
        await queue.deliveryRecordOutcomes(outcomes([b], { state: 'delivered' }))
        expect(await retry(b)).toBe('queued')
        await maintenance.callErase(['c'])
        expect(await retry(c)).toBe('erased')
        const two = await at.webhookId(TWO)
        await at.setList([entry(ONE)])
        expect(await retry(aTwo)).toBe('unlisted')
        await at.setList([entry(ONE), entry(TWO)])
        expect(await retry(aTwo)).toBe(two)
      })

      test('a bulk retry goes through the log from the oldest on, in steps', async () => {
        await using at = await open(ONE)
        const { queue } = at.store
        const ids = idsOf(await at.put(...Array.from({ length: 5 }, (_, n) => event(`call ${n}`))))
        await queue.deliveryRecordOutcomes(outcomes(ids.slice(0, 4), { state: 'failed' }))
        const filter = { accountId: ACCOUNT, state: 'failed' } as const
        const first = await queue.deliveryRetryMatching({ filter, fromId: 0, nowSteadyUs: NOW, limit: 3 })
        if (typeof first === 'number') throw new Error('no webhook is leaving')
        expect(first.queued).toBe(3)
        const fromId = first.nextId ?? 0
        expect(await queue.deliveryRetryMatching({ filter, fromId, nowSteadyUs: NOW, limit: 3 })).toEqual({
          queued: 1,
          nextId: null,
        })
        expect(await at.states()).toEqual(Array(5).fill('pending'))
      })

      test('what is pending is counted, and how long it has been', async () => {
        await using at = await open(ONE, TWO)
        const { queue } = at.store
        const webhookId = await at.webhookId()
        expect(await queue.pendingGetOldest(webhookId)).toBeUndefined()
        const [a = 0] = idsOf(await storeEvents(at.store, [event()], { nowSteadyUs: NOW - HOUR }))
        await at.put(event())
        await queue.deliveryRecordOutcomes(outcomes([a], { state: 'pending', dueSteadyUs: NOW + HOUR }))
        expect(await queue.pendingCount()).toBe(4)
        expect(await queue.pendingGetOldest(webhookId)).toBe(NOW - HOUR)
      })

      test('the owner of a webhook is asked once, in order, and only of its own', async () => {
        await using at = await open(ONE, TWO)
        const [one, two] = [await at.webhookId(ONE), await at.webhookId(TWO)]
        const { queue } = at.store
        expect(await queue.ownerRequestTake([one, two])).toEqual([])
        await queue.ownerRequestAdd({ webhookId: one, deliveryId: 7, nowUs: NOW })
        await queue.ownerRequestAdd({ webhookId: two, deliveryId: null, nowUs: NOW })
        await queue.ownerRequestAdd({ webhookId: one, deliveryId: null, nowUs: NOW })
        expect(await queue.ownerRequestTake([])).toEqual([])
        expect(await queue.ownerRequestTake([one])).toEqual([
          { webhookId: one, deliveryId: 7 },
          { webhookId: one, deliveryId: null },
        ])
        await queue.ownerRequestAdd({ webhookId: one, deliveryId: 8, nowUs: NOW + 2 * HOUR })
        expect(await queue.ownerRequestTake([two, one])).toEqual([{ webhookId: one, deliveryId: 8 }])
      })
    })

    describe('calls', () => {
      const saved = (id: string, savedUs = NOW, more: object = {}) => ({
        id,
        savedUs,
        direction: 'inbound' as const,
        fromNumber: '15551230001',
        toNumber: '101',
        record: JSON.stringify({ call: { id, from: { number: '15551230001' } } }),
        ...more,
      })

      test('a batch stores events, live calls and records of several accounts together', async () => {
        await using at = await open(ONE)
        const { accounts, calls, log } = at.store
        await accounts.userCreate(user('b@example.com', 'other'))
        const other = (await accounts.accountGetId('other')) ?? 0
        const parts = [
          { accountId: ACCOUNT, events: [event('mine')], saved: [saved('mine')] },
          { accountId: other, events: [event('theirs')], saved: [] },
        ]
        const live = [{ id: 'up', state: '{"call":1}' }]
        const placed = await calls.batchStore({ pbx: 'office', parts, live, removed: [], nowSteadyUs: NOW })
        expect(placed.map(({ webhookIds }) => webhookIds.length)).toEqual([1, 0])
        expect(await calls.callGet(ACCOUNT, 'mine')).toContain('15551230001')
        expect(await calls.callGet(other, 'mine')).toBeUndefined()
        expect(await log.eventListOfCall(other, 'theirs')).toHaveLength(1)
        expect(await log.eventListOfCall(other, 'mine')).toEqual([])
        expect(await calls.liveCallList('office')).toEqual(live)
      })

      test('live calls are replaced and removed, PBX by PBX, and their accounts are known', async () => {
        await using at = await open()
        const { calls } = at.store
        const put = (pbx: string, live: { id: string; state: string }[], removed: string[] = [], ...some: NewEvent[]) =>
          calls.batchStore(batch({ events: some }, { pbx, live, removed }))
        await put('office', [{ id: 'a', state: '1' }], [], event('a'))
        await put('office', [
          { id: 'a', state: '2' },
          { id: 'b', state: '3' },
        ])
        await put('branch', [{ id: 'a', state: '4' }], [], event('c'))
        expect(await calls.liveCallList('office')).toEqual([
          { id: 'a', state: '2' },
          { id: 'b', state: '3' },
        ])
        expect(await calls.liveCallListAccounts('office')).toEqual([{ callId: 'a', accountId: 1, account: 'default' }])
        await put('office', [], ['a'])
        expect(await calls.liveCallList('office')).toEqual([{ id: 'b', state: '3' }])
        expect(await calls.orphanedPbxList(['office'])).toEqual([{ pbx: 'branch', accountId: 1, account: 'default' }])
        expect(await calls.orphanedPbxList(['office', 'branch'])).toEqual([])
      })

      test('what is known of a PBX is replaced as a whole, PBX by PBX', async () => {
        await using at = await open()
        const { calls } = at.store
        expect(await calls.pbxMemoryGet('office')).toBeUndefined()
        await calls.pbxMemorySet('office', '{"one":1}')
        await calls.pbxMemorySet('branch', '{"two":2}')
        await calls.pbxMemorySet('office', '{"three":3}')
        expect(await calls.pbxMemoryGet('office')).toBe('{"three":3}')
        expect(await calls.pbxMemoryGet('branch')).toBe('{"two":2}')
      })

      test('saved calls are listed newest first, in pages, by direction, number and time', async () => {
        await using at = await open()
        const { calls } = at.store
        const records = Array.from({ length: 5 }, (_, n) =>
          saved(`call ${n}`, NOW + n, n === 3 ? { direction: 'outbound', toNumber: '999' } : {}),
        )
        await calls.batchStore(batch({ saved: records }))
        const list = async (filter: object, limit = 9, after?: { savedUs: number; id: string }) =>
          (await calls.callList({ accountId: ACCOUNT, filter, limit, after })).map(({ id }) => id)
        expect(await list({})).toEqual(['call 4', 'call 3', 'call 2', 'call 1', 'call 0'])
        expect(await list({}, 2, { savedUs: NOW + 3, id: 'call 3' })).toEqual(['call 2', 'call 1'])
        expect(await list({ direction: 'outbound' })).toEqual(['call 3'])
        expect(await list({ number: '999' })).toEqual(['call 3'])
        expect(await list({ sinceUs: NOW + 1, untilUs: NOW + 3 })).toEqual(['call 2', 'call 1'])
        expect(await calls.callList({ accountId: 2, filter: {}, limit: 9, after: undefined })).toEqual([])
        const ofNumber = (number: string, limit = 9, accountId = ACCOUNT) =>
          calls.callListIdsOfNumber({ accountId, number, limit })
        expect(await ofNumber('101')).toEqual(['call 4', 'call 2', 'call 1', 'call 0'])
        expect(await ofNumber('15551230001', 2)).toEqual(['call 4', 'call 3'])
        expect(await ofNumber('101', 9, 2)).toEqual([])
        expect(await ofNumber('10')).toEqual([])
      })

      test('an erased number is in no record, body or live call, and what is pending keeps its body', async () => {
        await using at = await open(ONE)
        const { calls, maintenance, queue, log } = at.store
        const body = JSON.stringify({ data: { name: 'call_saved', call: { from: { number: '15551230001' } } } })
        const events = [event('ended', { name: 'call_saved', body }), event('pending', { name: 'call_saved', body })]
        const stored = await storeEvents(at.store, events, { nowSteadyUs: NOW })
        await queue.deliveryRecordOutcomes(outcomes([stored[0]?.deliveries[0]?.id ?? 0], { state: 'delivered' }))
        const live = [{ id: 'up', state: JSON.stringify({ call: { from: '15551230001' }, channels: [] }) }]
        await calls.batchStore(batch({ saved: [saved('ended')] }, { live }))
        const ids = await maintenance.callListWithNumber('15551230001')
        expect(ids.toSorted()).toEqual(['ended', 'pending'])
        expect(await maintenance.callListWithNumber('1555123000')).toEqual([])
        expect(await maintenance.callErase(ids)).toEqual({ calls: 1, events: 1, pending: 1 })
        expect(await maintenance.liveCallErase('15551230001')).toBe(1)
        expect(await calls.liveCallList('office')).toEqual([
          { id: 'up', state: JSON.stringify({ call: { from: null }, channels: [] }) },
        ])
        expect(await calls.callGet(ACCOUNT, 'ended')).toBeUndefined()
        expect((await log.eventListOfCall(ACCOUNT, 'ended'))[0]?.body).not.toContain('15551230001')
        expect(await maintenance.callListWithNumber('15551230001')).toEqual(['pending'])
      })
    })

    describe('recordings', () => {
      const recording = (id: string, more: Partial<RecordingRecord> = {}): RecordingRecord => ({
        callId: 'call',
        id,
        accountId: ACCOUNT,
        pbx: 'office',
        path: `/monitor/${id}.wav`,
        state: 'pending',
        sinceUs: NOW,
        sequence: 9,
        ...{ error: null, sizeBytes: null, stamp: null, sha256: null, mediaType: null, copy: null },
        ...more,
      })
      const saved = (id: string, more: Partial<RecordingRecord> = {}) =>
        recording(id, { state: 'saved', sizeBytes: 3_000_000_000, stamp: 's', mediaType: 'audio/wav', ...more })
      async function openWith(...recordings: RecordingRecord[]) {
        const at = await open(ONE)
        const put = (...some: RecordingRecord[]) => at.store.calls.batchStore(batch({}, { recordings: some }))
        await put(...recordings)
        const get = (recordingId: string, callId = 'call') => at.store.recordings.recordingGet({ callId, recordingId })
        return { ...at, put, get, recordings: at.store.recordings }
      }
      const idsOf = (rows: readonly RecordingRecord[]) => rows.map(({ id }) => id)

      test('a recording is stored with the events of a batch, and read back as it was', async () => {
        await using at = await openWith(recording('a', { path: 'Зоя\n東京.wav' }))
        expect(await at.get('a')).toEqual(recording('a', { path: 'Зоя\n東京.wav' }))
        expect(await at.get('b')).toBeUndefined()
        expect(await at.get('a', 'other')).toBeUndefined()
        const done = saved('a', { path: 'Зоя\n東京.wav', sha256: 'ab', copy: 'x/a.wav' })
        const placed = await at.store.calls.batchStore(batch({ events: [event('call')] }, { recordings: [done] }))
        expect(placed.map(({ webhookIds }) => webhookIds.length)).toEqual([1])
        expect(await at.get('a')).toEqual(done)
      })

      test('one that is saved, failed or erased does not become pending again', async () => {
        await using at = await openWith(saved('a'), recording('b', { state: 'failed', error: 'gone' }), recording('c'))
        await at.recordings.recordingErase(['call', 'unknown'])
        await at.put(recording('a'), recording('b'), saved('c'))
        const rows = await at.recordings.recordingListOfCalls(['call', 'unknown'])
        expect(rows.map(({ id, state }) => [id, state])).toEqual([
          ['a', 'erased'],
          ['b', 'erased'],
          ['c', 'erased'],
        ])
        await at.put(saved('d'))
        await at.put(recording('d'))
        expect((await at.get('d'))?.state).toBe('saved')
      })

      test('pending ones are listed PBX by PBX, the oldest first, and those in trouble the newest first', async () => {
        await using at = await openWith(
          recording('a', { sinceUs: NOW + 1, error: 'away' }),
          recording('b'),
          recording('c', { pbx: 'branch', error: 'away' }),
          recording('d', { state: 'failed', error: 'gone', sinceUs: NOW + 2 }),
          saved('e'),
        )
        const pending = (limit: number, after: RecordingPosition = FIRST_RECORDING) =>
          at.recordings.recordingListPending({ pbx: 'office', after, limit })
        expect(idsOf(await pending(9))).toEqual(['b', 'a'])
        const [first = recording('b')] = await pending(1)
        expect(idsOf([first, ...(await pending(9, first))])).toEqual(['b', 'a'])
        expect(idsOf(await at.recordings.recordingListTroubled(9))).toEqual(['d', 'a', 'c'])
        expect(idsOf(await at.recordings.recordingListTroubled(1))).toEqual(['d'])
        expect(await at.recordings.recordingCount()).toEqual({ pending: 3, saved: 1, failed: 1, erased: 0 })
      })

      test('those of erased calls and old ones are listed, and forgotten one by one', async () => {
        await using at = await openWith(saved('old', { sinceUs: NOW - 1 }), saved('new'))
        await at.put(saved('other', { callId: 'erased' }))
        await at.recordings.recordingErase(['erased'])
        const expired = (after: RecordingPosition = FIRST_RECORDING, limit = 9) =>
          at.recordings.recordingListExpired({ beforeUs: NOW, after, limit })
        const erased = (after: RecordingPosition = FIRST_RECORDING) =>
          at.recordings.recordingListErased({ after, limit: 9 })
        await at.put(saved('older', { sinceUs: NOW - 2 }))
        expect(idsOf(await expired())).toEqual(['older', 'old'])
        expect(idsOf(await expired(FIRST_RECORDING, 1))).toEqual(['older'])
        expect(idsOf(await expired(saved('older', { sinceUs: NOW - 2 })))).toEqual(['old'])
        expect(idsOf(await erased())).toEqual(['other'])
        expect(await erased(saved('other', { callId: 'erased' }))).toEqual([])
        const errors = {
          callIds: ['erased', 'call', 'call'],
          ids: ['other', 'old', 'unknown'],
          errors: ['x', 'y', 'z'],
        }
        await at.recordings.recordingSetErrors(errors)
        const undeleted = await at.recordings.recordingListUndeleted(9)
        expect(undeleted.map(({ id, state, error }) => [id, state, error])).toEqual([
          ['old', 'saved', 'y'],
          ['other', 'erased', 'x'],
        ])
        expect(idsOf(await at.recordings.recordingListUndeleted(1))).toEqual(['old'])
        await at.recordings.recordingDelete({ callIds: ['call'], ids: ['older'] })
        await at.recordings.recordingDelete({ callIds: ['call', 'erased', 'call'], ids: ['old', 'other', 'unknown'] })
        expect([await expired(), await erased()]).toEqual([[], []])
        expect(await at.get('new')).toEqual(saved('new'))
      })

      test('there is one key of links, which is replaced as a whole', async () => {
        await using at = await openWith()
        expect(await at.recordings.linkKeyGet()).toBeUndefined()
        expect(await at.recordings.linkKeyAdd('one')).toBe('one')
        expect(await at.recordings.linkKeyAdd('two')).toBe('one')
        await at.recordings.linkKeyReplace('three')
        expect(await at.recordings.linkKeyGet()).toBe('three')
      })
    })

    describe('PBXs', () => {
      const office: PbxRecord = {
        ...{ name: 'office', url: 'ami://u:s@h', version: '1', endsCalls: false, recordings: null },
        origin: 'store',
      }

      test('are added and replaced as long as they are as they were seen', async () => {
        await using at = await open()
        const { pbxs } = at.store
        expect(await pbxs.pbxSet({ ...office, seenVersion: '0' })).toBe(false)
        expect(await pbxs.pbxSet({ ...office, seenVersion: null })).toBe(true)
        expect(await pbxs.pbxSet({ ...office, version: '2', seenVersion: null })).toBe(false)
        expect(await pbxs.pbxList()).toEqual([office])
        const moved = { ...office, url: 'esl://:s@h', origin: 'settings', version: '2', endsCalls: true } as const
        expect(await pbxs.pbxSet({ ...moved, seenVersion: '2' })).toBe(false)
        expect(await pbxs.pbxSet({ ...moved, seenVersion: '1' })).toBe(true)
        const branch = { ...office, name: 'branch', url: null }
        await pbxs.pbxSet({ ...branch, seenVersion: null })
        expect(await pbxs.pbxList()).toEqual([branch, moved])
      })

      test('are forgotten with what was known of them when the calls of an earlier one are ended', async () => {
        await using at = await open()
        const { pbxs, calls } = at.store
        const known = async () => [await calls.pbxMemoryGet('office'), (await pbxs.pbxStateList()).length]
        const note = async () => {
          await calls.pbxMemorySet('office', '{}')
          await pbxs.pbxStateSet({ pbx: 'office', state: '{}', atSteadyUs: NOW })
        }
        await note()
        await pbxs.pbxSet({ ...office, endsCalls: true, seenVersion: null })
        expect(await pbxs.pbxSetCallsEnded({ name: 'office', version: '0' })).toBe(false)
        expect(await known()).toEqual(['{}', 1])
        expect(await pbxs.pbxSetCallsEnded({ name: 'office', version: '1' })).toBe(true)
        expect([await pbxs.pbxList(), await known()]).toEqual([[office], [undefined, 0]])
        await note()
        await pbxs.pbxSet({ ...office, url: null, version: '2', endsCalls: true, seenVersion: '1' })
        expect(await pbxs.pbxSetCallsEnded({ name: 'office', version: '2' })).toBe(true)
        expect([await pbxs.pbxList(), await known()]).toEqual([[], [undefined, 0]])
      })

      test('go one by one when their calls are ended: others that were removed are left to what deletes them all', async () => {
        await using at = await open()
        const { pbxs } = at.store
        const removed = { ...office, url: null, seenVersion: null }
        await pbxs.pbxSet({ ...removed, name: 'a', endsCalls: true })
        await pbxs.pbxSet({ ...removed, name: 'b' })
        await pbxs.pbxSet({ ...office, name: 'c', seenVersion: null })
        const names = async () => (await pbxs.pbxList()).map(({ name }) => name)
        expect(await pbxs.pbxSetCallsEnded({ name: 'a', version: '1' })).toBe(true)
        expect(await names()).toEqual(['b', 'c'])
        expect([await pbxs.pbxDeleteRemoved(), await names()]).toEqual([true, ['c']])
      })

      test('stay when they are removed while recordings depend on them, and are deleted then', async () => {
        await using at = await open(ONE)
        const { pbxs, calls, recordings } = at.store
        const recording = (id: string, more: Partial<RecordingRecord> = {}): RecordingRecord => ({
          ...{ callId: 'call', id, accountId: ACCOUNT, pbx: 'office', path: '/a.wav', state: 'pending', sinceUs: NOW },
          ...{ sequence: 9, error: null, sizeBytes: null, stamp: null, sha256: null, mediaType: null, copy: null },
          ...more,
        })
        const put = (...some: RecordingRecord[]) => calls.batchStore(batch({}, { recordings: some }))
        const names = async () => (await pbxs.pbxList()).map(({ name }) => name)
        await put(recording('a'), recording('b'), recording('c', { pbx: 'branch', state: 'failed' }))
        const removed = { ...office, url: null, endsCalls: true, recordings: '{"location":"/a"}', seenVersion: null }
        await pbxs.pbxSet(removed)
        await pbxs.pbxSet({ ...removed, name: 'branch' })
        expect(await pbxs.pbxDeleteRemoved()).toBe(false)
        for (const name of ['office', 'branch']) await pbxs.pbxSetCallsEnded({ name, version: '1' })
        const kept = { ...office, url: null, recordings: '{"location":"/a"}' }
        expect(await pbxs.pbxList()).toEqual([kept])
        expect(await recordings.recordingListPendingPbxs()).toEqual(['office'])
        await put(recording('a', { state: 'failed' }), recording('b', { state: 'saved' }))
        expect([await pbxs.pbxDeleteRemoved(), await names()]).toEqual([false, ['office']])
        expect(await recordings.recordingListPendingPbxs()).toEqual([])
        await recordings.recordingDelete({ callIds: ['call'], ids: ['b'] })
        await put(recording('d', { state: 'saved', copy: 'd.wav' }))
        expect([await pbxs.pbxDeleteRemoved(), await names()]).toEqual([true, []])
        expect(await pbxs.pbxDeleteRemoved()).toBe(false)
        await put(recording('e'))
        await pbxs.pbxSet({ ...removed, recordings: null })
        await pbxs.pbxSetCallsEnded({ name: 'office', version: '1' })
        expect(await names()).toEqual([])
      })

      test('have a state that their owner replaces', async () => {
        await using at = await open()
        const { pbxs } = at.store
        await pbxs.pbxStateSet({ pbx: 'office', state: '{"state":"down"}', atSteadyUs: NOW })
        await pbxs.pbxStateSet({ pbx: 'branch', state: '{}', atSteadyUs: NOW })
        await pbxs.pbxStateSet({ pbx: 'office', state: '{"state":"up"}', atSteadyUs: NOW + 1 })
        expect((await pbxs.pbxStateList()).toSorted((one, other) => one.pbx.localeCompare(other.pbx))).toEqual([
          { pbx: 'branch', state: '{}', atSteadyUs: NOW },
          { pbx: 'office', state: '{"state":"up"}', atSteadyUs: NOW + 1 },
        ])
      })

      test('of other nodes are known where there are other nodes', async () => {
        await using at = await open()
        expect(await at.store.pbxs.pbxListInSettings()).toEqual(engine.name === 'SQLite' ? null : [])
      })

      test('that another process changes are noticed', async () => {
        await using at = await open()
        const other = await at.another()
        let seen = 0
        at.store.onForeignChange(() => {
          seen += 1
        })
        await until('it is noticed', async () => {
          await other.pbxs.pbxSet({ ...office, name: crypto.randomUUID(), seenVersion: null })
          return seen > 0
        })
      })
    })

    describe('the log', () => {
      test('deliveries are found by state, event, URL, call and time, in parts, of one account or of all', async () => {
        await using at = await open(ONE, TWO)
        const { log, queue } = at.store
        const ids = idsOf(await at.put(event('a'), event('b', { name: 'call_ended' })))
        await queue.deliveryRecordOutcomes(outcomes(ids.slice(0, 1), { state: 'delivered' }))
        const find = async (filter: object, accountId: number | null = ACCOUNT) => {
          const found: number[] = []
          for (let fromId: number | null = 0; fromId !== null; ) {
            const part = await log.deliveryList({ filter: { accountId, ...filter }, fromId, limit: 3, order: 'oldest' })
            found.push(...part.rows.map(({ id }) => id))
            fromId = part.nextId
          }
          return found
        }
        expect(await find({})).toEqual(ids)
        expect(await find({}, null)).toEqual(ids)
        expect(await find({}, 2)).toEqual([])
        expect(await find({ state: 'delivered' })).toEqual(ids.slice(0, 1))
        expect(await find({ event: 'call_ended' })).toEqual(ids.slice(2))
        expect(await find({ url: TWO })).toEqual([ids[1] ?? 0, ids[3] ?? 0])
        expect(await find({ callIds: ['a'], state: 'pending' })).toEqual([ids[1] ?? 0])
        expect(await find({ callIds: ['b', 'a', 'c'] })).toEqual(ids)
        expect(await find({ callIds: [] })).toEqual([])
        expect(await find({ sinceUs: NOW, untilUs: NOW + 1 })).toEqual(ids)
        expect(await find({ untilUs: NOW })).toEqual([])
      })

      test('one delivery, and many by their ids', async () => {
        await using at = await open(ONE)
        const { log } = at.store
        const [stored] = await at.put(event('a'))
        const [id = 0] = idsOf(stored === undefined ? [] : [stored])
        expect(await log.deliveryGet(ACCOUNT, id)).toMatchObject({ id, url: ONE, body: stored?.body, attempts: [] })
        expect(await log.deliveryGet(null, id)).toBeDefined()
        expect(await log.deliveryGet(2, id)).toBeUndefined()
        expect(await log.deliveryGet(ACCOUNT, id + 1)).toBeUndefined()
        expect(await log.deliveryGetMany([id, 999_999])).toMatchObject([{ id, accountId: ACCOUNT, state: 'pending' }])
      })

      test('calls are found by the end of their id, in any case, the newest first', async () => {
        await using at = await open(ONE)
        await at.put(event('01-aaa-beef'), event('01-bbb-beef'), event('02-ccc-cafe'), event('02-ccc-cafe'))
        const find = async (ending: string, beforeId = '~') => {
          const { ids, nextId } = await at.store.calls.callIdListEndingIn({ ending, beforeId })
          expect(nextId).toBeNull()
          return ids
        }
        expect(await find('-BEEF')).toEqual(['01-bbb-beef', '01-aaa-beef'])
        expect(await find('-beef', '01-bbb-beef')).toEqual(['01-aaa-beef'])
        expect(await find('cafe')).toEqual(['02-ccc-cafe'])
        for (const none of ['01-aaa', '%', 'b_ef']) expect(await find(none)).toEqual([])
      })

      test('events are read back in the order in which they were stored, part by part, of one account', async () => {
        await using at = await open(ONE)
        const { log, accounts, webhooks, maintenance } = at.store
        await accounts.userCreate(user('b@example.com', 'acme'))
        const other = (await accounts.accountGetId('acme')) ?? 0
        await webhooks.listReplace({ accountId: other, list: [], ifMatch: null, nowUs: NOW, secrets: [] })
        const some = [event('a'), event('b', { name: 'call_ended' }), event('a', { name: 'call_ended' }), event('c')]
        const stored = await at.put(...some)
        await storeEvents(at.store, [event('theirs')], { accountId: other, nowSteadyUs: NOW })
        const [first = 0, second = 0, third = 0, last = 0] = stored.map(({ id }) => id)
        const readAll = async (query: { names?: string[]; callId?: string; limit: number }, accountId = ACCOUNT) => {
          const ids: number[] = []
          for (let afterId = 0; ; ) {
            const part = await log.eventRead({ accountId, afterId, ...query })
            expect(part.items.length).toBeLessThanOrEqual(query.limit)
            ids.push(...part.items.map(({ id }) => id))
            afterId = part.lastId
            if (part.isEnd) return { ids, afterId }
          }
        }
        for (const limit of [1, 2, 3, 4, 9])
          expect((await readAll({ limit })).ids).toEqual([first, second, third, last])
        for (const limit of [1, 9]) {
          expect(await readAll({ limit, names: ['call_ended'] })).toEqual({ ids: [second, third], afterId: last })
          expect(await readAll({ limit, callId: 'a' })).toEqual({ ids: [first, third], afterId: last })
          expect((await readAll({ limit, callId: 'a', names: ['call_ended'] })).ids).toEqual([third])
          expect(await readAll({ limit, callId: 'none' })).toEqual({ ids: [], afterId: last })
        }
        expect((await readAll({ limit: 9 }, other)).ids).toHaveLength(1)
        const [{ uuid = '', body = '' } = {}] = some
        const { items } = await log.eventRead({ accountId: ACCOUNT, afterId: 0, limit: 1 })
        const item = { id: first, uuid, name: 'call_started', callId: 'a', sequence: 1, atUs: NOW, body }
        expect(items).toEqual([item])
        expect(await log.eventGetBounds(ACCOUNT)).toEqual({ oldestId: 0, newestId: last })
        expect(await log.eventRead({ accountId: ACCOUNT, afterId: last, limit: 9 })).toEqual({
          items: [],
          lastId: last,
          isEnd: true,
        })
        await maintenance.callErase(['c'])
        // Nothing of it was delivered: it keeps its body.
        expect((await readAll({ limit: 9 })).ids).toHaveLength(4)
        await at.store.queue.deliveryRecordOutcomes(outcomes(idsOf(stored.slice(3)), { state: 'delivered' }))
        await maintenance.callErase(['c'])
        expect(await readAll({ limit: 9 })).toEqual({ ids: [first, second, third], afterId: last })
      })

      test('the history of each event is known, and stays the same; that of positions before all is the first', async () => {
        await using at = await open(ONE)
        const { log } = at.store
        expect(await log.eventGetHistories([0, 1, 99])).toEqual([0, 0, 0])
        const [first = 0] = (await at.put(event('a'))).map(({ id }) => id)
        const [before, of = 0, behind] = await log.eventGetHistories([first - 1, first, first + 1_000])
        expect([before, of > 0, behind]).toEqual([0, true, of])
        const [second = 0] = (await at.put(event('b'))).map(({ id }) => id)
        expect(await log.eventGetHistories([second, first])).toEqual([of, of])
        expect(await log.eventGetHistories([])).toEqual([])
      })

      test('there is a key for the ids that clients get; no plain id was given out in a new store', async () => {
        await using at = await open(ONE)
        const key = await at.store.log.publicIdKeyGet()
        expect(key).toEqual({ key: expect.stringMatching(/^[0-9a-f]{32}$/), plainTo: 0 })
        expect(await at.store.log.publicIdKeyGet()).toEqual(key)
      })

      test('behind which event none was deleted is known of each account', async () => {
        await using at = await open(ONE)
        const { log, maintenance, queue, accounts } = at.store
        await accounts.userCreate(user('b@example.com', 'acme'))
        const other = (await accounts.accountGetId('acme')) ?? 0
        expect(await log.eventGetBounds(ACCOUNT)).toEqual({ oldestId: 0, newestId: 0 })
        const stored = await at.put(event('a'), event('b'), event('c'), event('d'))
        await storeEvents(at.store, [event('theirs')], { accountId: other, nowSteadyUs: NOW })
        const [, second, third, last = 0] = stored.map(({ id }) => id)
        // The first failed and is kept longer, the second goes.
        await queue.deliveryRecordOutcomes(outcomes(idsOf(stored.slice(1, 3)), { state: 'delivered' }))
        const prune = { afterId: 0, deliveredBeforeUs: NOW + HOUR, failedBeforeUs: NOW, nowUs: NOW + HOUR }
        await maintenance.deliveryPrune({ ...prune, limit: 2 })
        expect(await log.eventGetBounds(ACCOUNT)).toEqual({ oldestId: second ?? 0, newestId: last })
        await maintenance.deliveryPrune({ ...prune, limit: 9 })
        expect(await log.eventGetBounds(ACCOUNT)).toEqual({ oldestId: third ?? 0, newestId: last })
        expect((await log.eventGetBounds(other)).oldestId).toBe(0)
      })

      test('the newest event of each account that has one is known', async () => {
        await using at = await open(ONE)
        const { accounts, log } = at.store
        const user = { account: 'theirs', type: 1, name: 'T', email: 't@example.com', passwordHash: 'x', atUs: NOW }
        await accounts.userCreate(user)
        const theirs = (await accounts.accountGetId('theirs')) ?? 0
        expect(await log.eventGetNewest([ACCOUNT, theirs])).toEqual(new Map())
        const stored = await at.put(event('a'), event('b'))
        expect(await log.eventGetNewest([ACCOUNT, theirs])).toEqual(new Map([[ACCOUNT, stored.at(-1)?.id ?? 0]]))
        expect(await log.eventGetNewest([])).toEqual(new Map())
        const [first = 0, last = 0] = stored.map(({ id }) => id)
        expect(await log.eventGetNewestAbove(0)).toEqual(new Map([[ACCOUNT, last]]))
        expect(await log.eventGetNewestAbove(first)).toEqual(new Map([[ACCOUNT, last]]))
        expect(await log.eventGetNewestAbove(last)).toEqual(new Map())
        const parts = [{ accountId: theirs, events: [event('c')], saved: [] }]
        const [placed] = await at.store.calls.batchStore(batch({}, { parts }))
        expect(await log.eventGetNewestAbove(last)).toEqual(new Map([[theirs, placed?.id ?? 0]]))
      })

      test('the events of a call come in order of their sequence, each with its deliveries', async () => {
        await using at = await open(ONE, TWO)
        await at.put(event('a', { sequence: 2, name: 'call_ended' }), event('a', { sequence: 1 }), event('b'))
        const found = await at.store.log.eventListOfCall(ACCOUNT, 'a')
        expect(found.map(({ name, deliveries }) => [name, deliveries.length])).toEqual([
          ['call_started', 2],
          ['call_ended', 2],
        ])
      })
    })

    test('figures are saved minute by minute in place of those before, and old ones deleted', async () => {
      await using at = await open()
      const { statistics } = at.store
      const figures = (minute: number, delivered: number, webhookId = 1) => ({
        ...{ accountId: ACCOUNT, webhookId, minute, events: 0, delivered, failedAttempts: 2, failedProbes: 3 },
        latencies: [5, delivered],
      })
      const [first, second, other] = [figures(100, 1), figures(101, 7), figures(101, 1, 2)]
      await statistics.minuteSave({ figures: [first, figures(101, 6), other], beforeMinute: 41 })
      await statistics.minuteSave({ figures: [second], beforeMinute: 41 })
      expect(await statistics.minuteGet(100)).toEqual([first])
      expect(await statistics.minuteGet(101)).toEqual([second, other])
      const minutes = [99, 100, 101]
      expect(await statistics.minuteGetOfAccount({ accountId: ACCOUNT, minutes })).toEqual([first, second, other])
      expect(await statistics.minuteGetOfAccount({ accountId: ACCOUNT, minutes: [99, 101] })).toEqual([second, other])
      expect(await statistics.minuteGetOfAccount({ accountId: 2, minutes })).toEqual([])
      await statistics.minuteSave({ figures: [], beforeMinute: 101 })
      expect(await statistics.minuteGet(100)).toEqual([])
      expect(await statistics.minuteGet(101)).toHaveLength(2)
    })

    describe('maintenance', () => {
      test('the clock is kept, and the store can be written', async () => {
        await using at = await open(ONE)
        const { maintenance } = at.store
        await maintenance.writeProbe()
        expect(await maintenance.clockGet()).toEqual({
          steppedUs: 0,
          pruneFromUs: 0,
          lastSteadyUs: 0,
          newestEventUs: undefined,
        })
        await maintenance.clockSet({ steppedUs: -HOUR, pruneFromUs: NOW })
        await at.put(event())
        expect(await maintenance.clockGet()).toEqual({
          steppedUs: -HOUR,
          pruneFromUs: NOW,
          lastSteadyUs: NOW,
          newestEventUs: NOW,
        })
        // Times are shown on the wall clock.
        expect(await at.store.log.deliveryGetMany((await at.untried()).map(({ id }) => id))).toMatchObject([
          { createdUs: NOW - HOUR },
        ])
      })

      test('what ended long ago is pruned in steps, the newest event stays, and the store is whole after it', async () => {
        await using at = await open(ONE)
        const { maintenance, queue } = at.store
        const ids = idsOf(
          await at.put(...['a', 'b', 'c'].map((call) => event(call, { name: 'call_saved' })), event('d')),
        )
        await queue.deliveryRecordOutcomes(outcomes(ids.slice(0, 2), { state: 'delivered' }))
        await queue.deliveryRecordOutcomes(outcomes(ids.slice(2), { state: 'failed' }))
        const step = { deliveredBeforeUs: NOW + HOUR, failedBeforeUs: NOW, nowUs: NOW + HOUR, limit: 1 }
        const first = await maintenance.deliveryPrune({ afterId: 0, ...step })
        expect(first).toMatchObject({ pruned: 2 })
        const rest = await maintenance.deliveryPrune({ afterId: first.lastId ?? 0, ...step, limit: 9 })
        expect(rest).toEqual({ lastId: null, pruned: 2 })
        expect(await at.states()).toEqual(['failed', 'failed'])
        expect((await maintenance.verify()).filter((text) => !text.includes('neither are up'))).toEqual([])
      })

      test('webhooks, secrets and call records that nothing refers to any more are pruned', async () => {
        await using at = await open(ONE, TWO)
        const { maintenance, calls } = at.store
        await at.setList([entry(TWO)], null, NOW)
        expect(await maintenance.secretPrune({ beforeUs: NOW, limit: 9 })).toBe(0)
        expect(await maintenance.secretPrune({ beforeUs: NOW + 1, limit: 9 })).toBe(1)
        const one = (await at.store.webhooks.webhookListActive())[0] ?? 0
        await at.store.queue.deliveryCancelUnlisted({ webhookId: one, nowUs: NOW, limit: 9 })
        expect(await maintenance.webhookPrune(9)).toBe(1)
        const records = [1, 2, 3].map((n) => ({
          id: `${n}`,
          savedUs: NOW + n,
          direction: 'internal' as const,
          fromNumber: null,
          toNumber: null,
          record: '{}',
        }))
        await calls.batchStore(batch({ saved: records }))
        expect(await maintenance.callPrune({ beforeUs: NOW + 3, limit: 1 })).toBe(1)
        expect(await maintenance.callPrune({ beforeUs: NOW + 3, limit: 9 })).toBe(1)
        expect(await calls.callGet(ACCOUNT, '3')).toBe('{}')
      })

      test('a store that is whole is proven so, and its condition is reported', async () => {
        await using at = await open(ONE)
        const { maintenance, queue } = at.store
        expect(await maintenance.fileFaults()).toEqual([])
        const [a = 0] = idsOf(await at.put(event('a'), event('b')))
        await queue.deliveryRecordOutcomes(outcomes([a], { state: 'failed' }))
        expect(await maintenance.conditionGet(NOW)).toEqual({
          webhooks: [{ account: 'default', url: ONE }],
          failed: 1,
          pending: 1,
          oldestPendingUs: NOW,
          newestEventUs: NOW,
        })
        expect(await maintenance.verify()).toEqual([expect.stringContaining('calls that neither are up')])
      })

      test('a delivery of which there was nothing to send is whole, one without any attempt that ended it is not', async () => {
        await using at = await open(ONE)
        const { maintenance, queue } = at.store
        const [a = 0, b = 0] = idsOf(await at.put(event('a'), event('b')))
        const unsent = { ...outcomes([a], { state: 'delivered' }), statuses: [null] }
        await queue.deliveryRecordOutcomes({ ...unsent, errors: [NOTHING_TO_SEND] })
        const wrong = async () => (await maintenance.verify()).filter((text) => !text.includes('neither are up'))
        expect(await wrong()).toEqual([])
        await queue.deliveryRecordOutcomes({ ...unsent, deliveryIds: [b], errors: ['connection refused'] })
        expect(await wrong()).toEqual([`1 delivered ones without the attempt that delivered them: ${b}`])
      })

      test('another process sees what was written, and this one is notified that something was', async () => {
        await using at = await open(ONE)
        let notified = 0
        at.store.onForeignChange(() => {
          notified += 1
        })
        const other = await at.another()
        expect(await other.webhooks.listGet(ACCOUNT)).toEqual([entry(ONE)])
        await other.accounts.userCreate(user('new@example.com'))
        await until('it is notified', () => notified > 0)
        expect(await at.store.accounts.userCount()).toBe(1)
      })

      test('writes of one turn share a commit, and one that fails undoes itself alone', async () => {
        await using at = await open(ONE)
        const before = at.store.commits.batches
        const created = Array.from({ length: 50 }, (_, n) => at.store.accounts.userCreate(user(`${n}@example.com`)))
        const broken = at.store.calls.batchStore(batch({ events: [event('a', { uuid: null as unknown as string })] }))
        expect(
          await broken.then(
            () => 'stored',
            () => 'refused',
          ),
        ).toBe('refused')
        expect((await Promise.all(created)).every((made) => made !== undefined)).toBe(true)
        expect(at.store.commits.batches - before).toBeLessThanOrEqual(2)
      })
    })
  })

afterAll(() => {
  // An operation that the suite does not use is one that an engine may get wrong.
  expect(all.filter((name) => !called.has(name))).toEqual([])
})
