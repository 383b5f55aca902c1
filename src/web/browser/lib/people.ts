import { useState } from 'preact/hooks'
import { request } from './api.ts'
import { usePolled } from './polling.ts'

/** A person who can log in, as administrators see it. */
export type Person = {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly type: 'USER' | 'ADMIN'
  readonly account: string
  readonly created_at: string
  readonly last_login_at: string | null
  readonly invited_until: string | null
}

/** An account with the counts of its users, webhooks and PBXs. */
export type Account = {
  readonly name: string
  readonly users: number
  readonly webhooks: number
  readonly pbxs: number
  readonly created_at: string
}

const EVERY_MS = 30_000

/** Reads the people, again after a change. */
export function usePeople(): { people: readonly Person[] | null; reload: () => void } {
  const [version, setVersion] = useState(0)
  const people = usePolled<readonly Person[]>(() => request('GET', '/user'), EVERY_MS, [version])
  return { people, reload: () => setVersion(version + 1) }
}

/** Reads the accounts. */
export const useAccounts = (): readonly Account[] | null =>
  usePolled<readonly Account[]>(() => request('GET', '/account'), EVERY_MS)
