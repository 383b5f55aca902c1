import { accountKey } from '../lib/account-key.ts'
import { hasStore } from './open-store.ts'
import { type ServiceFlags, withService } from './service.ts'

/**
 * Returns how the account with a name, in any case, is spelt in a store, or `undefined` if there is no store. Nothing
 * is created.
 */
export async function accountsIn(flags: ServiceFlags): Promise<((name: string) => string | undefined) | undefined> {
  if (!hasStore(flags)) return undefined
  const { result } = await withService(flags, (service) => service.ask<{ name: string }[]>('GET', '/account'))
  return (wanted) => result.find(({ name }) => accountKey(name) === accountKey(wanted))?.name
}
