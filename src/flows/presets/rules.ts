import type { Rule } from '../model.ts'

/** A contact that the CRM refuses, as for its number, must not cost the call: it is noted without a contact. */
export const CONTACT_REFUSED: Rule = { status: [400, 404, 405, 409, 422], then: 'done' }
/** Without the right to create contacts, too; not where 403 is a limit. */
export const CONTACT_FORBIDDEN: Rule = { status: [403], then: 'done' }
