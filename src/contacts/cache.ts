import type { Contact } from '../events/bodies.ts'

/** Some 30 MB with contacts of the usual length. */
const MAX_NUMBERS = 50_000

type Entry = { readonly contact: Contact | null; readonly untilUs: number }

/**
 * Creates an empty cache. When it is full, the account with the most numbers loses its least recently used one: no
 * account can push out another's numbers.
 */
export function createContactCache(maxNumbers = MAX_NUMBERS) {
  const accounts = new Map<number, Map<string, Entry>>()
  let size = 0

  function entriesOf(accountId: number): Map<string, Entry> {
    const known = accounts.get(accountId) ?? new Map<string, Entry>()
    accounts.set(accountId, known)
    return known
  }
  function remove(accountId: number, number: string): void {
    const entries = accounts.get(accountId)
    if (!entries?.delete(number)) return
    size -= 1
    if (entries.size === 0) accounts.delete(accountId)
  }
  function shrink(): void {
    let most: readonly [number, Map<string, Entry>] | undefined
    for (const one of accounts) if (most === undefined || one[1].size > most[1].size) most = one
    if (most === undefined) return
    const [accountId, entries] = most
    const [oldest] = entries.keys()
    if (oldest !== undefined) remove(accountId, oldest)
  }
  return {
    /** Returns a number's contact, `null` if it has none, or `undefined` if it has to be looked up. */
    get(accountId: number, number: string, nowUs: number): Contact | null | undefined {
      const entries = accounts.get(accountId)
      const entry = entries?.get(number)
      if (entries === undefined || entry === undefined) return undefined
      if (entry.untilUs <= nowUs) {
        remove(accountId, number)
        return undefined
      }
      entries.delete(number)
      entries.set(number, entry)
      return entry.contact
    },
    set(accountId: number, number: string, entry: Entry): void {
      remove(accountId, number)
      entriesOf(accountId).set(number, entry)
      size += 1
      if (size > maxNumbers) shrink()
    },
    /** Removes the numbers of an account. */
    forget(accountId: number): void {
      size -= accounts.get(accountId)?.size ?? 0
      accounts.delete(accountId)
    },
    clear(): void {
      accounts.clear()
      size = 0
    },
    size: () => size,
  }
}
