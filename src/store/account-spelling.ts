/**
 * Returns how an account is spelt in the store: a PBX names it in any case, so two accounts that differ in case alone
 * would be one to it. A name that is new is returned as it is. `accounts`: in id order.
 */
export function spellingOf(wanted: string, accounts: readonly { readonly name: string }[]): string {
  if (accounts.some(({ name }) => name === wanted)) return wanted
  return accounts.find(({ name }) => name.toLowerCase() === wanted.toLowerCase())?.name ?? wanted
}
