import { sql } from 'drizzle-orm'
import type { ContactStore } from '../operations/contacts.ts'
import { type Declarations, read, write } from './operation.ts'
import { select, selectFirst } from './select.ts'
import { exists, run } from './statement.ts'
import { contactErasures, contactSettings } from './tables.ts'

/** The operations on how accounts look up who calls. */
export const CONTACTS: Declarations<ContactStore> = {
  contactSettingsList: read(() => select(contactSettings, sql`ORDER BY account_id`)),
  contactSettingsGet: read(function* (accountId) {
    return (yield* selectFirst(contactSettings, sql`WHERE account_id = ${accountId}`))?.settings
  }),
  contactSettingsReplace: write(({ accountId, settings, seen }) => {
    if (settings === null)
      return exists(sql`
        DELETE FROM contact_settings WHERE account_id = ${accountId} AND settings = ${seen} RETURNING 1`)
    return exists(
      seen === null
        ? sql`
          INSERT INTO contact_settings (account_id, settings) VALUES (${accountId}, ${settings})
          ON CONFLICT (account_id) DO NOTHING RETURNING 1`
        : sql`
          UPDATE contact_settings SET settings = ${settings}
          WHERE account_id = ${accountId} AND settings = ${seen} RETURNING 1`,
    )
  }),
  contactsForget: write(() => run(sql`UPDATE contact_erasures SET count = count + 1`)),
  contactsForgottenCount: read(function* () {
    return (yield* selectFirst(contactErasures, sql``))?.count ?? 0
  }),
}
