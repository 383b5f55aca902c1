import { Elysia, t } from 'elysia'
import { accepts } from '../http/accepts.ts'
import { responses, success } from '../http/envelope.ts'
import { CURSOR, PAGE_SIZE, PageCursor, PageLimit, readCursor, writeCursor } from '../http/paging.ts'
import { asks } from '../http/query.ts'
import type { AuditStore } from '../store/operations/audit.ts'
import { AUDIT_ACTIONS, type SecurityEvent } from './audit.ts'
import { AuditEntry, entryOf } from './audit-entry.ts'
import { adminGuard } from './guard.ts'
import type { AuthService } from './service.ts'

export type AuditPage = typeof AuditPage.static
const AuditPage = t.Object({
  items: t.Array(AuditEntry, { description: 'The changes, the newest first' }),
  next_cursor: t.Union([t.String({ form: CURSOR }), t.Null()], {
    description: 'The `cursor` of the next page; `null` on the last',
  }),
})

const Query = t.Object({
  account: t.Optional(t.String({ maxLength: 64, description: 'Only this account' })),
  action: t.Optional(
    // The schema needs the type of a list that is not empty.
    t.UnionEnum(AUDIT_ACTIONS as [SecurityEvent, ...SecurityEvent[]], {
      default: undefined,
      description: 'Only this action',
    }),
  ),
  limit: PageLimit,
  cursor: PageCursor,
})

/** Creates `GET /audit`: who changed what, for administrators. */
export function auditRoutes(auth: AuthService, trail: Pick<AuditStore, 'auditList'>) {
  return new Elysia({ name: 'audit', normalize: false })
    .use(accepts)
    .use(adminGuard(auth))
    .get(
      '/audit',
      async ({ query: { account, action, limit = PAGE_SIZE, cursor } }) => {
        const beforeId = cursor === undefined ? undefined : Number(readCursor(cursor, ['number'])[0])
        const records = await trail.auditList({ account, action, beforeId, limit: limit + 1 })
        const page = records.slice(0, limit)
        const last = page.at(-1)
        const next_cursor = records.length > limit && last !== undefined ? writeCursor([last.id]) : null
        return success({ items: page.map(entryOf), next_cursor }, 'The changes, the newest first.')
      },
      {
        ...asks(Query),
        response: responses(AuditPage, 'unauthenticated', 'forbidden', 'invalid'),
        detail: {
          summary: 'Who changed what: webhooks, options, PBXs, users, tokens and settings; for administrators',
          description: 'Kept for 400 days. Includes changes by commands.',
          tags: ['Operation'],
          security: [{ bearer: [] }],
        },
      },
    )
}
