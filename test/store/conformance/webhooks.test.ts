import { expect, test } from 'bun:test'
import { etagOf } from '../../../src/store/list-etag.ts'
import type { WebhookOptionsRecord } from '../../../src/store/operations/webhooks.ts'
import { DEFAULT_OPTIONS } from '../../../src/store/webhook-options.ts'
import { ACCOUNT, entry, event, HOUR, idsOf, NOW, ONE, onEngines, outcomes, TWO, user } from './rig.ts'

onEngines('webhooks', ({ open }) => {
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

  test('the presets of CRMs of all accounts are those of listed webhooks, each once', async () => {
    await using at = await open(ONE, ONE, TWO)
    const { webhooks } = at.store
    const set = (url: string, options: Partial<WebhookOptionsRecord>) =>
      webhooks.optionsReplace({ accountId: ACCOUNT, url, options: { ...DEFAULT_OPTIONS, ...options }, nowUs: NOW })
    const flow = (preset: string) => ({ flow: { preset, parameters: { note: '"\\\u0000' } } })
    expect(await webhooks.webhookListPresets()).toEqual([])
    await set(ONE, { body: { preset: 'flat', parameters: {} } })
    await set(TWO, flow('mine'))
    expect(await webhooks.webhookListPresets()).toEqual([{ accountId: ACCOUNT, preset: 'mine' }])
    await set(ONE, flow('mine'))
    expect(await webhooks.webhookListPresets()).toEqual([{ accountId: ACCOUNT, preset: 'mine' }])
    await set(ONE, flow('odoo'))
    expect((await webhooks.webhookListPresets()).map(({ preset }) => preset).toSorted()).toEqual(['mine', 'odoo'])
    await at.setList([entry(ONE)])
    expect(await webhooks.webhookListPresets()).toEqual([{ accountId: ACCOUNT, preset: 'odoo' }])
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
    expect(await webhooks.optionsReplace({ accountId: ACCOUNT, url: 'https://x.example/', options, nowUs: NOW })).toBe(
      'unlisted',
    )
    expect(await listed()).toEqual([{ url: ONE, options }, none[1] ?? { url: '', options: null }])
    expect(await inCache()).toEqual(options)
    // `null` keeps the value that is stored, in any case of the name.
    const kept = { ...options, name: null, headers: { 'x-key': null, 'X-New': 'new' } }
    const merged = { ...options, name: null, headers: { 'x-key': 'secret', 'X-New': 'new' } }
    expect(await webhooks.optionsReplace({ accountId: ACCOUNT, url: ONE, options: kept, nowUs: NOW })).toEqual(merged)
    const unknown = { ...options, headers: { 'X-Other': null, 'X-New': null } }
    expect(await webhooks.optionsReplace({ accountId: ACCOUNT, url: ONE, options: unknown, nowUs: NOW })).toEqual({
      unknownSecrets: [],
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

  test('the version of an account changes with its list, a secret and options, and with nothing else', async () => {
    await using at = await open(ONE, TWO)
    const { accounts, webhooks, queue } = at.store
    await accounts.userCreate(user('other@example.com', 'other'))
    const versionOf = async () =>
      (await webhooks.webhookListVersions()).find((one) => one.accountId === ACCOUNT)?.version
    const seen = [await versionOf()]
    const marks = [await webhooks.webhookGetVersionsMark()]
    const rotation = { accountId: ACCOUNT, url: ONE, secret: 'second', nowUs: NOW, previousUntilUs: NOW, force: true }
    const options = { ...DEFAULT_OPTIONS, paused: true }
    const changes = [
      () => at.setList([entry(TWO), entry(ONE)]),
      () => webhooks.secretRotate(rotation),
      () => webhooks.optionsReplace({ accountId: ACCOUNT, url: ONE, options, nowUs: NOW }),
    ]
    for (const change of changes) {
      await change()
      seen.push(await versionOf())
      marks.push(await webhooks.webhookGetVersionsMark())
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(new Set(marks).size).toBe(marks.length)
    expect(await webhooks.webhookGetVersionsMark()).toBe(marks.at(-1) ?? '')
    expect(await webhooks.webhookListVersions(ACCOUNT)).toEqual([{ accountId: ACCOUNT, version: seen.at(-1) ?? 0 }])
    const [first = 0] = idsOf(await at.put(event('a')))
    await queue.deliveryRecordOutcomes(outcomes([first], { state: 'failed' }))
    await queue.deliveryRetry({ accountId: ACCOUNT, id: first, nowSteadyUs: NOW })
    const others = (await webhooks.webhookListVersions()).filter(({ accountId }) => accountId !== ACCOUNT)
    const list = [entry(ONE)]
    for (const { accountId } of others)
      await webhooks.listReplace({ accountId, list, ifMatch: null, secrets: ['third'], nowUs: NOW })
    expect(await versionOf()).toBe(seen.at(-1))
  })

  test('a webhook without pending deliveries has left at once; one with some has them to cancel', async () => {
    await using at = await open(ONE, TWO)
    const { webhooks, queue } = at.store
    const [busy, idle] = [await at.webhookId(ONE), await at.webhookId(TWO)]
    const [ofBusy = 0, ofIdle = 0] = idsOf(await at.put(event('a')))
    await queue.deliveryRecordOutcomes(outcomes([ofIdle], { state: 'delivered' }))
    await at.setList([])
    const left = (await webhooks.webhookGetMany([busy, idle])).map(({ cancelledTo }) => cancelledTo)
    expect(left).toEqual([expect.any(Number), 0])
    expect(left[0]).toBeGreaterThanOrEqual(ofBusy)
    expect(await queue.deliveryCancelUnlisted({ webhookId: busy, nowUs: NOW, limit: 10 })).toEqual([ofBusy])
  })

  test('the active webhooks of some accounts are read with all that sending takes', async () => {
    await using at = await open(ONE, TWO)
    const { webhooks } = at.store
    const ids = [await at.webhookId(ONE), await at.webhookId(TWO)]
    await at.put(event('a'))
    await at.setList([entry(TWO)])
    const found = await webhooks.webhookListOfAccounts([ACCOUNT, 999])
    expect(found.toSorted((one, other) => one.id - other.id)).toEqual(await webhooks.webhookGetMany(ids))
    expect(await webhooks.webhookListOfAccounts([])).toEqual([])
  })

  test('pending deliveries are counted for each webhook, and webhooks with deliveries to cancel are active', async () => {
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
