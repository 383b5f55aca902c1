/**
 * Returns the stored spelling of an account's name; a new name unchanged. PBXs name accounts in any case, so two names
 * that differ only in case would be one account to a PBX. `accounts`: in id order.
 */
export function spellingOf(wanted: string, accounts: readonly { readonly name: string }[]): string {
  if (accounts.some(({ name }) => name === wanted)) return wanted
  return accounts.find(({ name }) => name.toLowerCase() === wanted.toLowerCase())?.name ?? wanted
}
