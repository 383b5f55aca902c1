import { t } from 'elysia'
import { rfc3339 } from '../lib/time.ts'
import type { AuditRecord } from '../store/operations/audit.ts'
import { SECURITY_EVENTS } from './audit.ts'

const textOrNull = (description: string) => t.Union([t.String(), t.Null()], { description })

/** A change, as `GET /audit` returns it. */
export const AuditEntry = t.Object({
  time: t.String({ format: 'date-time', default: undefined, description: 'When it was made' }),
  action: t.String({ description: 'What was done' }),
  description: t.String({ description: 'The same as a sentence' }),
  user: textOrNull('The e-mail address of the user who made it over the API or on the page'),
  operator: textOrNull('The system user who made it with a command on the machine of the service'),
  address: textOrNull('The IP address of the client; null for a command'),
  account: textOrNull('The account that was changed, or whose user made the change'),
  subject: textOrNull('The e-mail address of the user who was changed'),
  details: t.Record(t.String(), t.Union([t.String(), t.Number(), t.Array(t.String())]), {
    description: 'What exactly was changed, such as URLs (redacted) and names of options; never a secret',
  }),
})
export type AuditEntry = typeof AuditEntry.static

/** Returns a change as it is shown. */
export const entryOf = ({ atUs, action, user, by, address, account, subject, facts }: AuditRecord): AuditEntry => ({
  time: rfc3339(atUs),
  action,
  description: sentenceOf(action),
  user,
  operator: by,
  address,
  account,
  subject,
  // The arrays of the schema are mutable, the arrays of the record are not.
  details: { ...facts } as AuditEntry['details'],
})

/** A record of another version of the program may have an action that this one does not know. */
const sentenceOf = (action: string): string =>
  Object.entries(SECURITY_EVENTS).find(([name]) => name === action)?.[1] ?? action
