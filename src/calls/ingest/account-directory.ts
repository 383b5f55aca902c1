import type { AccountRecord } from '../../store/operations/accounts.ts'

/** The accounts by their names, as they were read last: a call's account must be known without waiting. */
export type AccountDirectory = {
  /** Returns the id of the account that is spelt so, or `undefined`. */
  get(name: string): number | undefined
  /** Returns how the account with this name, in any case, is spelt, or `undefined`. One spelt so comes first. */
  spellingOf(name: string): string | undefined
}

/** Returns a directory, and the function that gives it the accounts as they are now. */
export function newAccountDirectory(): { directory: AccountDirectory; set(accounts: readonly AccountRecord[]): void } {
  let ids: ReadonlyMap<string, number> = new Map()
  let spellings: ReadonlyMap<string, string> = new Map()
  return {
    directory: {
      get: (name) => ids.get(name),
      spellingOf: (name) => (ids.has(name) ? name : spellings.get(name.toLowerCase())),
    },
    set(accounts) {
      ids = new Map(accounts.map(({ name, id }) => [name, id]))
      // Of names that differ only in case the oldest counts.
      spellings = new Map(accounts.toReversed().map(({ name }) => [name.toLowerCase(), name]))
    },
  }
}
