import { accountKey } from '../../lib/account-key.ts'
import type { AccountRecord } from '../../store/operations/accounts.ts'

/** The accounts by name, as of the last read: the account of a call must be known without waiting. */
export type AccountDirectory = {
  /** Returns the id of the account with exactly this name, or `undefined`. */
  get(name: string): number | undefined
  /** Returns the exact name of the account with the key of this name, or `undefined`. An exact match wins. */
  spellingOf(name: string): string | undefined
}

/** Returns a directory, and the function that replaces its accounts. */
export function newAccountDirectory(): { directory: AccountDirectory; set(accounts: readonly AccountRecord[]): void } {
  let ids: ReadonlyMap<string, number> = new Map()
  let spellings: ReadonlyMap<string, string> = new Map()
  return {
    directory: {
      get: (name) => ids.get(name),
      spellingOf: (name) => (ids.has(name) ? name : spellings.get(accountKey(name))),
    },
    set(accounts) {
      ids = new Map(accounts.map(({ name, id }) => [name, id]))
      // The oldest account wins where several names have one key.
      spellings = new Map(accounts.toReversed().map(({ name }) => [accountKey(name), name]))
    },
  }
}
