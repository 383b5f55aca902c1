import { describe, expect, test } from 'bun:test'
import type { RenewalClaim } from '../../../src/store/operations/authorizations.ts'
import { ACCOUNT, entry, HOUR, NOW, onEngines } from './rig.ts'

const owner = { accountId: ACCOUNT, url: 'https://crm.example/' }
const claiming = (claim: string, more: Partial<RenewalClaim> = {}): RenewalClaim => ({
  owner,
  settings: 'one',
  refusedHeader: null,
  claim,
  nowSteadyUs: NOW,
  untilSteadyUs: NOW + 10,
  ...more,
})
const renewed = (claim: string, header: string, refreshToken: string | null = null) => ({
  owner,
  claim,
  header,
  expiresSteadyUs: NOW + 2 * HOUR,
  renewSteadyUs: NOW + HOUR,
  refreshToken,
})
const CLAIMED = { kind: 'claimed', refreshToken: null } as const

onEngines('authorizations', ({ open }) => {
  test('one renewal is under way at a time, over all processes', async () => {
    await using at = await open()
    const { authorizations } = at.store
    const { authorizations: other } = await at.another()
    expect(await authorizations.authorizationGet(owner)).toBeUndefined()
    const claims = await Promise.all([
      authorizations.renewalClaim(claiming('a')),
      other.renewalClaim(claiming('b')),
      authorizations.renewalClaim(claiming('c')),
    ])
    expect(claims.filter(({ kind }) => kind === 'claimed')).toHaveLength(1)
    expect(claims.filter(({ kind }) => kind === 'busy')).toEqual(
      Array.from({ length: 2 }, () => ({ kind: 'busy', untilSteadyUs: NOW + 10 })),
    )
    expect(await other.renewalClaim(claiming('d', { owner: { ...owner, url: '' } }))).toEqual(CLAIMED)
  })

  test('a renewal that was lost is claimed again when its time is over, and can store nothing then', async () => {
    await using at = await open()
    const { authorizations } = at.store
    expect(await authorizations.renewalClaim(claiming('a'))).toEqual(CLAIMED)
    expect(await authorizations.renewalClaim(claiming('b', { nowSteadyUs: NOW + 10 }))).toEqual(CLAIMED)
    expect(await authorizations.renewalStore(renewed('a', 'Bearer 1', 'rotated'))).toBeUndefined()
    expect(await authorizations.renewalFail({ owner, claim: 'a', problem: 'no', nowUs: NOW })).toBe(false)
    expect(await authorizations.authorizationGet(owner)).toMatchObject({ header: null, problem: null, claim: 'b' })
    expect(await authorizations.renewalStore(renewed('b', 'Bearer 2'))).toEqual({ endedProblem: false })
  })

  describe('a stored token', () => {
    test('is present until it is to be renewed or a server refuses it', async () => {
      await using at = await open()
      const { authorizations } = at.store
      await authorizations.renewalClaim(claiming('a'))
      await authorizations.renewalStore(renewed('a', 'Bearer 1', 'rotated'))
      const times = { expiresSteadyUs: NOW + 2 * HOUR, renewSteadyUs: NOW + HOUR }
      const present = { kind: 'present', header: 'Bearer 1', ...times } as const
      expect(await authorizations.renewalClaim(claiming('b'))).toEqual(present)
      expect(await authorizations.renewalClaim(claiming('b', { refusedHeader: 'Bearer 0' }))).toEqual(present)
      const refused = await authorizations.renewalClaim(claiming('b', { refusedHeader: 'Bearer 1' }))
      expect(refused).toEqual({ ...CLAIMED, refreshToken: 'rotated' })
      expect(await authorizations.renewalFail({ owner, claim: 'b', problem: null, nowUs: NOW })).toBe(false)
      const old = await authorizations.renewalClaim(claiming('c', { nowSteadyUs: NOW + HOUR }))
      expect(old).toEqual({ ...CLAIMED, refreshToken: 'rotated' })
      // No refresh token in exchange: the one before stays.
      await authorizations.renewalStore(renewed('c', 'Bearer 2'))
      expect(await authorizations.authorizationGet(owner)).toEqual({
        ...owner,
        settings: 'one',
        header: 'Bearer 2',
        expiresSteadyUs: NOW + 2 * HOUR,
        renewSteadyUs: NOW + HOUR,
        refreshToken: 'rotated',
        problem: null,
        problemSinceUs: null,
        claim: null,
        claimedUntilSteadyUs: null,
      })
    })

    test('is worth nothing for other settings, nor is a renewal with them', async () => {
      await using at = await open()
      const { authorizations } = at.store
      await authorizations.renewalClaim(claiming('a'))
      await authorizations.renewalStore(renewed('a', 'Bearer 1', 'rotated'))
      await authorizations.renewalClaim(claiming('b', { refusedHeader: 'Bearer 1' }))
      expect(await authorizations.renewalClaim(claiming('c', { settings: 'two' }))).toEqual(CLAIMED)
      expect(await authorizations.renewalStore(renewed('b', 'Bearer 2', 'again'))).toBeUndefined()
      expect(await authorizations.authorizationGet(owner)).toMatchObject({ settings: 'two', header: null, claim: 'c' })
    })
  })

  test('a token is deleted with the secret of its URL; the token of the look-up stays', async () => {
    await using at = await open()
    const { authorizations, webhooks, maintenance } = at.store
    const lookUp = { ...owner, url: '' }
    const list = { accountId: ACCOUNT, ifMatch: null, secrets: ['whsec_1'], nowUs: NOW }
    await webhooks.listReplace({ ...list, list: [entry(owner.url)] })
    await authorizations.renewalClaim(claiming('a'))
    await authorizations.renewalClaim(claiming('b', { owner: lookUp }))
    expect(await maintenance.secretPrune({ beforeUs: NOW + 1, limit: 10 })).toBe(0)
    expect(await authorizations.authorizationGet(owner)).toBeDefined()
    await webhooks.listReplace({ ...list, list: [] })
    expect(await maintenance.secretPrune({ beforeUs: NOW + 1, limit: 10 })).toBe(1)
    expect(await authorizations.authorizationGet(owner)).toBeUndefined()
    expect(await authorizations.authorizationGet(lookUp)).toBeDefined()
  })

  describe('the token of settings that are not saved', () => {
    const draft = (settings: string, header: string, refreshToken: string | null) => ({
      draft: { ...owner, settings, header, expiresSteadyUs: null, renewSteadyUs: null, refreshToken },
      nowSteadyUs: NOW,
    })

    test('is that of its owner when they are', async () => {
      await using at = await open()
      const { authorizations } = at.store
      await authorizations.authorizationDraftStore(draft('one', 'Bearer 1', 'rotated'))
      await authorizations.authorizationDraftStore(draft('one', 'Bearer 2', null))
      await authorizations.authorizationDraftStore(draft('two', 'Bearer 3', 'other'))
      expect(await authorizations.authorizationGet(owner)).toBeUndefined()
      expect(await authorizations.authorizationDraftGet(owner, 'one')).toMatchObject({
        header: 'Bearer 2',
        refreshToken: 'rotated',
      })
      const present = { kind: 'present', header: 'Bearer 2', expiresSteadyUs: null, renewSteadyUs: null } as const
      expect(await authorizations.renewalClaim(claiming('a'))).toEqual(present)
      expect(await authorizations.authorizationDraftGet(owner, 'one')).toBeUndefined()
      const refused = claiming('b', { refusedHeader: 'Bearer 2' })
      expect(await authorizations.renewalClaim(refused)).toEqual({ ...CLAIMED, refreshToken: 'rotated' })
    })

    test('is kept of settings that were replaced, and for a day', async () => {
      await using at = await open()
      const { authorizations } = at.store
      await authorizations.renewalClaim(claiming('a'))
      await authorizations.renewalStore(renewed('a', 'Bearer 1', 'rotated'))
      expect(await authorizations.renewalClaim(claiming('b', { settings: 'two' }))).toEqual(CLAIMED)
      expect(await authorizations.renewalClaim(claiming('c'))).toMatchObject({ kind: 'present', header: 'Bearer 1' })
      await authorizations.authorizationDraftStore(draft('three', 'Bearer 3', null))
      const late = { ...draft('four', 'Bearer 4', null), nowSteadyUs: NOW + 25 * HOUR }
      await authorizations.authorizationDraftStore(late)
      expect(await authorizations.authorizationDraftGet(owner, 'three')).toBeUndefined()
      expect(await authorizations.authorizationDraftGet(owner, 'four')).toBeDefined()
    })
  })

  test('a problem is kept since its first time, until a renewal succeeds', async () => {
    await using at = await open()
    const { authorizations } = at.store
    const fail = async (claim: string, problem: string | null, nowUs: number) => {
      expect((await authorizations.renewalClaim(claiming(claim))).kind).toBe('claimed')
      return await authorizations.renewalFail({ owner, claim, problem, nowUs })
    }
    expect(await fail('a', null, NOW)).toBe(false)
    expect(await authorizations.authorizationProblemList(ACCOUNT)).toEqual([])
    expect(await fail('b', 'refused', NOW + 1)).toBe(true)
    expect(await fail('c', 'refused again', NOW + 2)).toBe(false)
    expect(await fail('d', null, NOW + 3)).toBe(false)
    const problem = { url: owner.url, message: 'refused again', sinceUs: NOW + 1 }
    expect(await authorizations.authorizationProblemList(ACCOUNT)).toEqual([problem])
    expect(await authorizations.authorizationProblemList(ACCOUNT + 1)).toEqual([])
    expect(await authorizations.renewalClaim(claiming('e', { settings: 'two' }))).toEqual(CLAIMED)
    expect(await authorizations.renewalStore(renewed('e', 'Bearer 1'))).toEqual({ endedProblem: true })
    expect(await authorizations.authorizationProblemList(ACCOUNT)).toEqual([])
  })
})
