import type { Log } from '../lib/log.ts'
import type { Store } from '../store/store.ts'
import { createAudit } from './audit.ts'
import { createOperators } from './operators.ts'
import { createPasswords } from './password.ts'
import { createPeople } from './people.ts'
import { createAuthService } from './service.ts'

type Options = {
  readonly store: Store
  readonly log: Log
  readonly trustProxies: readonly string[]
  readonly accountOfPbx: Parameters<typeof createPeople>[0]['accountOfPbx']
  /** Called after a user was added, perhaps with an account. */
  readonly onAdded?: () => void
}

export type Access = ReturnType<typeof createAccess>

/**
 * Creates the services that decide about rights: users and their tokens, the operator of the machine, and the audit
 * trail.
 */
export function createAccess({ store, log, trustProxies, accountOfPbx, onAdded }: Options) {
  const operators = createOperators()
  const audit = createAudit({ accounts: store.accounts, trail: store.audit, log, trustProxies, operators })
  const passwords = createPasswords()
  const auth = createAuthService({ accounts: store.accounts, passwords, note: audit.note, operators })
  const people = createPeople({ store, passwords, accountOfPbx, onChanged: auth.forget, ...(onAdded && { onAdded }) })
  return { operators, audit, auth, people }
}
