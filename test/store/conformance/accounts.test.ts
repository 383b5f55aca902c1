import { expect, test } from 'bun:test'
import type { Store } from '../../../src/store/store.ts'
import { HOUR, NOW, onEngines, user } from './rig.ts'

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
    const times = { createdUs: NOW, lastLoginUs: null, invitedUntilUs: null }
    const record = { accountId, type: 1, name: 'A', account: 'acme', ...times }
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
    const id = await withTokens(accounts, 'one')
    expect(await accounts.userUpdate({ id, type: 2 })).toBe('updated')
    expect(await accounts.userUpdate({ id: 999, type: 2 })).toBe('unknown')
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
    const named = { userId, name: 'crm', calls: true, pop: false, extension: null, tokenHash: 'bbbb', atUs: NOW + 9 }
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

  test('a token for the pop page has its rights in the list and when it is found, also beside the right to calls', async () => {
    await using at = await open()
    const { accounts } = at.store
    const userId = await withTokens(accounts, 'aaaa')
    const made = { userId, madeWith: 'aaaa', atUs: NOW }
    const desk = { name: 'desk', calls: true, pop: true, extension: '101' }
    const wall = { name: 'wall', calls: false, pop: true, extension: null }
    expect(await accounts.tokenAddNamed({ ...made, ...desk, tokenHash: 'bbbb' })).toBe(true)
    expect(await accounts.tokenAddNamed({ ...made, ...wall, tokenHash: 'cccc' })).toBe(true)
    expect(await accounts.userGetByToken('bbbb')).toMatchObject(desk)
    expect(await accounts.userGetByToken('cccc')).toMatchObject(wall)
    expect(await accounts.userGetByToken('aaaa')).toMatchObject({ pop: false, extension: null })
    const listed = new Map((await accounts.tokenList(userId, 10)).map((token) => [token.hash, token]))
    expect(listed.get('bbbb')).toMatchObject(desk)
    expect(listed.get('cccc')).toMatchObject(wall)
    expect(listed.get('aaaa')).toMatchObject({ name: null, pop: false, extension: null })
  })

  test('tokens are deleted one by one, or all of a user', async () => {
    await using at = await open()
    const { accounts } = at.store
    const id = await withTokens(accounts, 'one', 'two', 'three')
    await accounts.tokenDelete('one')
    await accounts.tokenDelete('unknown')
    expect(await accounts.userGetByToken('one')).toBeUndefined()
    expect(await accounts.tokenDeleteOfUser(999)).toBeUndefined()
    expect(await accounts.tokenDeleteOfUser(id)).toBe(2)
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

  test('an administrator changes and deletes a user with its tokens', async () => {
    await using at = await open()
    const { accounts } = at.store
    const id = await withTokens(accounts, 'one')
    expect(await accounts.userUpdate({ id, name: 'B', passwordHash: 'x' })).toBe('updated')
    expect(await accounts.userGetPassword('a@example.com')).toMatchObject({ name: 'B', passwordHash: 'x' })
    expect(await accounts.userDelete(999)).toBe('unknown')
    expect(await accounts.userDelete(id)).toBe('deleted')
    expect(await accounts.userGetByToken('one')).toBeUndefined()
    expect(await accounts.userGetPassword('a@example.com')).toBeUndefined()
    expect((await accounts.accountListWithCounts()).map(({ name, users }) => [name, users])).toEqual([['default', 0]])
  })

  test('sessions go with a user to another account, and API tokens do not', async () => {
    await using at = await open()
    const { accounts } = at.store
    const id = await withTokens(accounts, 'one')
    await accounts.tokenAddNamed({
      userId: id,
      name: 'crm',
      calls: false,
      pop: false,
      extension: null,
      tokenHash: 'two',
      madeWith: 'one',
      atUs: NOW,
    })
    await accounts.userUpdate({ id, account: 'DEFAULT' })
    expect(await accounts.userGetByToken('two')).toBeDefined()
    expect(await accounts.userUpdate({ id, name: 'Moved', account: 'acme' })).toBe('unknown_account')
    expect(await accounts.userList()).toMatchObject([{ id, name: 'A', account: 'default' }])
    await accounts.userCreate(user('other@example.com', 'acme'))
    await accounts.userUpdate({ id, account: 'ACME' })
    const accountId = (await accounts.accountGetId('acme')) ?? 0
    expect(await accounts.userGetByToken('one')).toMatchObject({ user: { accountId } })
    expect(await accounts.userGetByToken('two')).toBeUndefined()
    expect(await accounts.accountListWithCounts()).toMatchObject([
      { name: 'default', users: 0, webhooks: 0 },
      { name: 'acme', users: 2, webhooks: 0, createdUs: NOW },
    ])
  })

  test('of two administrators who demote each other at once one stays', async () => {
    await using at = await open()
    const { accounts } = at.store
    const another = (await at.another()).accounts
    const ids: number[] = []
    for (const email of ['a@example.com', 'b@example.com'])
      ids.push((await accounts.userCreate({ ...user(email), type: 2 }))?.id ?? 0)
    const [one = 0, two = 0] = ids
    // An invited administrator cannot log in yet: no one depends on him.
    const invitation = { codeHash: 'c', untilUs: NOW + 1 }
    await accounts.userCreate({ ...user('c@example.com'), type: 2, passwordHash: '', invitation })
    const demoted = await Promise.all([
      accounts.userUpdate({ id: one, type: 1 }),
      another.userUpdate({ id: two, type: 1 }),
    ])
    expect(demoted.toSorted()).toEqual(['last', 'updated'])
    const left = (await accounts.userList()).find(({ type, email }) => type === 2 && email !== 'c@example.com')
    expect(await accounts.userDelete(left?.id ?? 0)).toBe('last')
  })

  test('a link is used once, within its time, and a second one makes the first void', async () => {
    await using at = await open()
    const { accounts } = at.store
    const id = await withTokens(accounts, 'old')
    const untilUs = NOW + HOUR
    expect(await accounts.userInvite({ id: 999, codeHash: 'first', untilUs })).toBe(false)
    expect(await accounts.userInvite({ id, codeHash: 'first', untilUs })).toBe(true)
    await accounts.userInvite({ id, codeHash: 'second', untilUs })
    expect((await accounts.userList())[0]).toMatchObject({ invitedUntilUs: untilUs })
    expect(await accounts.userGetInvited({ codeHash: 'first', atUs: NOW })).toBeUndefined()
    expect(await accounts.userGetInvited({ codeHash: 'second', atUs: untilUs })).toBeUndefined()
    expect(await accounts.userGetInvited({ codeHash: 'second', atUs: NOW })).toMatchObject({ id })
    const welcome = { codeHash: 'second', passwordHash: 'new', tokenHash: 'fresh', client: null, atUs: NOW + 1 }
    expect(await accounts.userWelcome(welcome)).toMatchObject({ id, email: 'a@example.com' })
    expect(await accounts.userWelcome({ ...welcome, tokenHash: 'again' })).toBeUndefined()
    expect((await accounts.userList())[0]).toMatchObject({ invitedUntilUs: null, lastLoginUs: NOW + 1 })
    expect(await accounts.userGetPassword('a@example.com')).toMatchObject({ passwordHash: 'new' })
    expect(await accounts.userGetByToken('fresh')).toBeDefined()
    expect(await accounts.userGetByToken('old')).toBeDefined()
  })
})
