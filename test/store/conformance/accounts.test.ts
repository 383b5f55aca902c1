import { expect, test } from 'bun:test'
import type { Store } from '../../../src/store/store.ts'
import { NOW, onEngines, user } from './rig.ts'

onEngines('accounts', ({ open }) => {
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

  test('an address in another spelling that looks the same is taken, too', async () => {
    await using at = await open()
    const { accounts } = at.store
    expect(await accounts.userCreate(user('jose\u0301@example.com'))).toMatchObject({ account: 'default' })
    expect(await accounts.userCreate(user('jos\u00e9@example.com'))).toBeUndefined()
    expect(await accounts.userCreate(user('jose@example.com'))).toMatchObject({ account: 'default' })
    expect((await accounts.userList()).map(({ email }) => email)).toEqual([
      'jose\u0301@example.com',
      'jose@example.com',
    ])
  })

  test('two users who name a new account at the same moment, in two spellings, are in one account', async () => {
    await using at = await open()
    const { accounts } = at.store
    const names = ['acme', 'ACME', 'Acme', 'aCME']
    const made = await Promise.all(names.map((name, n) => accounts.userCreate(user(`${n}@example.com`, name))))
    const [spelling = ''] = new Set(made.map((one) => one?.account))
    expect(names).toContain(spelling)
    expect((await accounts.accountList()).map(({ name }) => name)).toEqual(['default', spelling])
    expect((await accounts.userList()).map(({ account }) => account)).toEqual(names.map(() => spelling))
    // Letters beyond ASCII, too, which the engines' own functions treat differently.
    await accounts.userCreate(user('e@example.com', 'Élan'))
    expect(await accounts.userCreate(user('f@example.com', 'éLAN'))).toMatchObject({ account: 'Élan' })
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
    const named = { userId, name: 'crm', calls: true, tokenHash: 'bbbb', atUs: NOW + 9 }
    expect(await accounts.tokenAddNamed({ ...named, madeWith: 'revoked' })).toBe(false)
    expect(await accounts.tokenAddNamed({ ...named, madeWith: 'aaaa' })).toBe(true)
    expect(
      (await accounts.tokenList(userId, 10)).map(({ hash, name, calls, client }) => [hash, name, calls, client]),
    ).toEqual([
      ['bbbb', 'crm', true, null],
      ['aaaa', null, false, 'curl'],
    ])
    expect(await accounts.userGetByToken('bbbb')).toMatchObject({ name: 'crm', calls: true })
    expect(await accounts.userGetByToken('aaaa')).toMatchObject({ name: null, calls: false })
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
})
