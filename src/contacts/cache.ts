import type { Contact } from '../calls/event.ts'

/** Some 30 MB with contacts of the usual length. */
const MAX_NUMBERS = 50_000

type Entry = { readonly contact: Contact | null; readonly untilUs: number }

/** The contacts that were found, and the numbers that were not, for a while; pure but for its own state. */
export type ContactCache = ReturnType<typeof createContactCache>

/** Creates an empty cache. The number that was used least recently goes first. */
export function createContactCache(maxNumbers = MAX_NUMBERS) {
  const entries = new Map<string, Entry>()
  const keyOf = (accountId: number, number: string) => `${accountId} ${number}`
  return {
    /** Returns what is known of a number: a contact, `null` if there is none, `undefined`: it has to be looked up. */
    get(accountId: number, number: string, nowUs: number): Contact | null | undefined {
      const key = keyOf(accountId, number)
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      entries.delete(key)
      if (entry.untilUs <= nowUs) return undefined
      entries.set(key, entry)
      return entry.contact
    },
    set(accountId: number, number: string, entry: Entry): void {
      const key = keyOf(accountId, number)
      entries.delete(key)
      entries.set(key, entry)
      const [oldest] = entries.keys()
      if (entries.size > maxNumbers && oldest !== undefined) entries.delete(oldest)
    },
    /** Forgets the numbers of an account. */
    forget(accountId: number): void {
      for (const key of entries.keys()) if (key.startsWith(`${accountId} `)) entries.delete(key)
    },
    clear: () => entries.clear(),
    size: () => entries.size,
  }
}
