import { describe, expect, test } from 'bun:test'
import { decideAccount } from '../../../../src/calls/tracker/state/account-decision.ts'

/** There are the accounts Acme and Beta. */
const accountOf = (value: string) => ['Acme', 'Beta'].find((name) => name.toLowerCase() === value.toLowerCase())

type TenantFacts = Parameters<typeof decideAccount>[0]

const BEGUN: TenantFacts = { caller: null, dialled: [], isDialled: false, isLate: false }
const dials = (...dialled: string[]) => ({ dialled, isDialled: true })
const LATE = { isLate: true }

type Case = readonly [
  what: string,
  facts: Partial<TenantFacts>,
  decision: readonly [string | null, string | null] | null,
]

/** Decisions: the account, and the value that decided; `null`: it waits. */
const BY_DOMAIN: readonly Case[] = [
  ['the first channel has a value', { caller: 'Acme' }, ['Acme', 'Acme']],
  ["in another case, bodies have the account's own spelling", { caller: 'aCME' }, ['Acme', 'aCME']],
  ['the caller has none yet', {}, null],
  ['the caller gets it before the first dial', { caller: 'Beta' }, ['Beta', 'Beta']],
  ['the first phone that is dialled shows it', dials('beta', 'acme'), ['Beta', 'beta']],
  ['the first channel counts before the phone that is dialled', { caller: 'Acme', ...dials('Beta') }, ['Acme', 'Acme']],
  ['the phone that is dialled has none: it may still come', dials(), null],
  ['nothing showed it in time', LATE, ['Other', null]],
  ['nor did the phone that is dialled', { ...dials(), ...LATE }, ['Other', null]],
  ['the value names no account: the dialplan may still give another', { caller: 'gone' }, null],
  ['it is the same at the first dial', { caller: 'gone', ...dials('Acme') }, [null, 'gone']],
  ['it is the same until the end', { caller: 'gone', ...LATE }, [null, 'gone']],
  ['the phone that is dialled first has one that names no account', dials('gone', 'Acme'), [null, 'gone']],
]

/** Every channel has a context, and a trunk's context need not be a customer's. */
const BY_CONTEXT: readonly Case[] = [
  ['a phone of a customer calls', { caller: 'acme' }, ['Acme', 'acme']],
  ["a call from the trunk's context waits", { caller: 'from-trunk' }, null],
  ['the dialplan sends it to a customer', { caller: 'beta' }, ['Beta', 'beta']],
  ["a customer's phone is dialled", { caller: 'from-trunk', ...dials('from-queue', 'acme') }, ['Acme', 'acme']],
  ['a phone is dialled, and is of no customer: it waits', { caller: 'from-trunk', ...dials('phones') }, null],
  ['nothing showed the customer in time', { caller: 'from-trunk', ...dials('phones'), ...LATE }, [null, 'from-trunk']],
  ['no context at all', LATE, ['Other', null]],
]

describe.each([
  ['a domain, an account code or a variable', false, BY_DOMAIN],
  ['a context', true, BY_CONTEXT],
] as const)('by %s', (_, isOnEveryChannel, cases) => {
  test.each(cases)('%s', (_what, facts, decision) => {
    const decided = decideAccount({ ...BEGUN, ...facts }, { accountOf, isOnEveryChannel }, 'Other')
    expect(decided).toEqual(decision === null ? undefined : { account: decision[0], tenant: decision[1] })
  })
})

test('without an account for calls that show no customer they are nobody’s', () => {
  const decided = decideAccount({ ...BEGUN, isLate: true }, { accountOf, isOnEveryChannel: false }, null)
  expect(decided).toEqual({ account: null, tenant: null })
})
