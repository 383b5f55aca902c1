import { expect, test } from 'bun:test'
import { ACCOUNTS } from '../../../src/store/sql/accounts.ts'
import { ERASE } from '../../../src/store/sql/erase.ts'
import { RETRIES } from '../../../src/store/sql/retries.ts'
import { compile, type Row, type SqlDialect, type Work } from '../../../src/store/sql/statement.ts'
import { WEBHOOKS } from '../../../src/store/sql/webhooks.ts'

/** Rows that an operation has read must not change before its transaction ends: Postgres locks them. */

const dialect = (engine: 'sqlite' | 'postgres'): SqlDialect<unknown> => ({
  engine,
  place: (number) => `$${number}`,
  value: (item) => item,
  list: ({ items }) => items,
  node: () => 'node',
  among: (place) => `IN (${place})`,
  table: ({ name }) => name,
})

/** Returns the first statement of an operation that locks rows, where each statement returns these rows. */
function lockOf(engine: 'sqlite' | 'postgres', work: Work<unknown>, rows: readonly Row[]): string | undefined {
  for (let step = work.next([]); !step.done; step = work.next(rows)) {
    const { text } = compile(step.value, dialect(engine))
    const lock = /FOR (UPDATE|SHARE)( OF "\w+")?/.exec(text)?.[0]
    if (lock !== undefined) return lock
  }
  return undefined
}

const token = { userId: 1, passwordHash: 'h', tokenHash: 't', atUs: 1 }
const url = 'https://one.example/'
const options = { accountId: 1, url, nowUs: 1, options: { headers: {} } }

test.each([
  ['a password that was checked', 'FOR UPDATE', () => ACCOUNTS.tokenAddIfPasswordUnchanged.work(token)],
  [
    'a password that is changed',
    'FOR UPDATE',
    () => ACCOUNTS.userChangePasswordIfUnchanged.work({ ...token, newPasswordHash: 'n', revokeOthers: true }),
  ],
  ['a user whose tokens are deleted', 'FOR UPDATE', () => ACCOUNTS.tokenDeleteOfUser.work(1)],
  ['an administrator who is demoted', 'FOR UPDATE', () => ACCOUNTS.userUpdate.work({ id: 1, type: 1 })],
  ['a user who is deleted', 'FOR UPDATE', () => ACCOUNTS.userDelete.work(1)],
  [
    'a token that asks for another one',
    'FOR SHARE',
    () =>
      ACCOUNTS.tokenAddNamed.work({
        userId: 1,
        name: 'n',
        calls: false,
        pop: false,
        extension: null,
        tokenHash: 't',
        madeWith: 'm',
        atUs: 1,
      }),
  ],
  [
    'a secret that is replaced',
    'FOR UPDATE OF "s"',
    () => WEBHOOKS.secretRotate.work({ accountId: 1, url, secret: 's', nowUs: 1, previousUntilUs: 2, force: false }),
  ],
  [
    'options that are replaced',
    'FOR UPDATE OF "s"',
    // Only its statements are looked at.
    () => WEBHOOKS.optionsReplace.work(options as never),
  ],
  [
    'a webhook whose delivery is retried',
    'FOR SHARE OF "w"',
    () => RETRIES.deliveryRetry.work({ accountId: 1, id: 128, nowSteadyUs: 1 }),
  ],
  ['live calls whose number is erased', 'FOR UPDATE', () => ERASE.liveCallErase.work('1555')],
] as const)('%s: %s', (_, lock, work) => {
  expect(lockOf('postgres', work(), [])).toBe(lock)
  expect(lockOf('sqlite', work(), [])).toBeUndefined()
})
