// The audit trail: who changed what.

/**
 * A change that a user or an operator made. `user`: the e-mail address of the user who made it over the API; `by`: the
 * system user who ran a command; both `null`: the service itself. `account`: whose things were changed, `subject`: the
 * e-mail address of the user who was changed.
 */
export type AuditRecord = {
  readonly id: number
  readonly atUs: number
  readonly action: string
  readonly account: string | null
  readonly user: string | null
  readonly by: string | null
  readonly address: string | null
  readonly subject: string | null
  /** What exactly was changed; never a secret. */
  readonly facts: AuditFacts | null
}

export type AuditFacts = Readonly<Record<string, string | number | readonly string[]>>

/** Which records to return: all that match each given field, older than `beforeId`. */
type AuditQuery = {
  readonly account?: string | undefined
  readonly action?: string | undefined
  readonly beforeId?: number | undefined
  readonly limit: number
}

export type AuditStore = {
  /** Adds a change to the trail. */
  auditAdd(change: Omit<AuditRecord, 'id'>): Promise<void>
  /** Returns changes, the newest first. */
  auditList(query: AuditQuery): Promise<AuditRecord[]>
  /** Deletes at most `limit` changes that were made before a time. Returns how many. */
  auditPrune(old: { beforeUs: number; limit: number }): Promise<number>
}
