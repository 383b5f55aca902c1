import { accountKey } from '../lib/account-key.ts'

/**
 * Returns the stored spelling of an account's name; a new name unchanged. To a PBX, two names with one key would be one
 * account. `accounts`: in id order.
 */
export function spellingOf(wanted: string, accounts: readonly { readonly name: string }[]): string {
  if (accounts.some(({ name }) => name === wanted)) return wanted
  return accounts.find(({ name }) => accountKey(name) === accountKey(wanted))?.name ?? wanted
}
