// How accounts look up who calls.

/** The settings of an account's look-up: JSON that the store does not read. */
type ContactSettingsRecord = { readonly accountId: number; readonly settings: string }

export type ContactStore = {
  /** Returns the settings of all accounts that look up contacts, in the order of their ids. */
  contactSettingsList(): Promise<ContactSettingsRecord[]>
  /** Returns the settings of an account; `undefined` if it looks up no contacts. */
  contactSettingsGet(accountId: number): Promise<string | undefined>
  /**
   * Replaces the settings of an account, `null` removes them. Returns false, and changes nothing, if they have changed
   * since `seen` (`null`: there were none).
   */
  contactSettingsReplace(change: { accountId: number; settings: string | null; seen: string | null }): Promise<boolean>
  /** Makes every service forget the contacts that it has cached. */
  contactsForget(): Promise<void>
  /** Returns how often the contacts had to be forgotten. */
  contactsForgottenCount(): Promise<number>
}
