import { type SQL, sql } from 'drizzle-orm'
import type { AuditRecord, AuditStore } from '../operations/audit.ts'
import { type Declarations, read, write } from './operation.ts'
import { select } from './select.ts'
import { count, run } from './statement.ts'
import { audit } from './tables.ts'

const addToAudit = (change: Omit<AuditRecord, 'id'>): SQL => sql`
  INSERT INTO audit (at, action, account, email, by, address, subject, facts)
  VALUES (${change.atUs}, ${change.action}, ${change.account}, ${change.user}, ${change.by}, ${change.address},
    ${change.subject}, ${change.facts === null ? null : JSON.stringify(change.facts)})`

const equals = (column: SQL, value: string | undefined): SQL =>
  value === undefined ? sql`` : sql`AND ${column} = ${value}`

/** The operations on the audit trail. */
export const AUDIT: Declarations<AuditStore> = {
  auditAdd: write((change) => run(addToAudit(change)), { isQuiet: true }),
  auditList: read(({ account, action, beforeId = Number.MAX_SAFE_INTEGER, limit }) =>
    select(
      audit,
      sql`WHERE id < ${beforeId} ${equals(sql`account`, account)} ${equals(sql`action`, action)}
        ORDER BY id DESC LIMIT ${limit}`,
    ),
  ),
  auditPrune: write(
    ({ beforeUs, limit }) =>
      count(sql`
        DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ${beforeUs} ORDER BY id LIMIT ${limit})
        RETURNING 1`),
    { isQuiet: true },
  ),
}
