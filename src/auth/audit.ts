import type { Log } from '../lib/log.ts'
import { type NowUs, rfc3339, SECOND, steadyUs } from '../lib/time.ts'
import type { OperatorAct, UserRecord } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { type Client, createClientOf, type Peers } from './client-address.ts'

/** What is logged for whoever has to find out later who did what: each with its sentence, and whether it is a warning. */
const SECURITY_EVENTS = {
  logged_in: 'a user has logged in',
  login_failed: 'a login failed: wrong e-mail address or password',
  login_refused: 'logins are refused for a while: too many failed',
  logged_out: 'a user has logged out',
  password_changed: 'a user has changed the password',
  password_change_failed: 'changing a password failed: the old one was wrong',
  token_made: 'a user has made an API token',
  token_revoked: 'a user has revoked a token',
  webhooks_replaced: 'the list of webhooks was replaced',
  secret_rotated: 'the signing secret of a URL was replaced',
  user_added: 'the operator has added a user',
  user_removed: 'the operator has removed a user',
  user_password_set: 'the operator has set a new password for a user',
  user_logged_out: 'the operator has revoked the tokens of a user',
} as const
export type SecurityEvent = keyof typeof SECURITY_EVENTS

const WARNINGS: ReadonlySet<SecurityEvent> = new Set(['login_failed', 'login_refused', 'password_change_failed'])

/** Refusals cost an attacker nothing, so that one line of them is logged for each address in this time. */
const REFUSAL_EVERY_US = 60 * SECOND
const MAX_REFUSED = 1_000

/** Who did it: a user, if it is known which, from where. */
export type Actor = { readonly user?: Pick<UserRecord, 'email' | 'accountId'> | undefined; readonly client: Client }

export type Audit = {
  /** Returns where a request comes from. */
  clientOf(request: Request, peers: Peers | null): Client
  note(event: SecurityEvent, actor: Actor, facts?: Readonly<Record<string, string | number>>): void
  /** Logs what an operator did on the command line. */
  noteOperator(act: OperatorAct): void
}

export type AuditOptions = {
  readonly accounts: Pick<Store['accounts'], 'accountGetName'>
  readonly log: Log
  readonly trustProxies: readonly string[]
  readonly now?: NowUs
}

/** Logs security events, each under `security` with user, account and address; what strangers typed is not repeated. */
export function createAudit({ accounts, log, trustProxies, now = steadyUs }: AuditOptions): Audit {
  const refusedUs = new Map<string, number>()

  function isRepeated(address: string): boolean {
    const lastUs = refusedUs.get(address) ?? Number.NEGATIVE_INFINITY
    if (now() - lastUs < REFUSAL_EVERY_US) return true
    if (refusedUs.size >= MAX_REFUSED) refusedUs.clear()
    refusedUs.set(address, now())
    return false
  }

  async function accountOf(user: Actor['user']): Promise<string | null> {
    if (user === undefined) return null
    // Without its name the event is worth a line all the same.
    return (await accounts.accountGetName(user.accountId).catch(() => undefined)) ?? String(user.accountId)
  }

  function write(event: SecurityEvent, facts: object): void {
    const line = { security: event, ...facts }
    if (WARNINGS.has(event)) log.warn(line, SECURITY_EVENTS[event])
    else log.info(line, SECURITY_EVENTS[event])
  }

  return {
    clientOf: createClientOf(trustProxies),
    note(event, { user, client: { address } }, facts = {}) {
      if (event === 'login_refused' && isRepeated(address)) return
      void accountOf(user).then((account) => write(event, { user: user?.email ?? null, account, address, ...facts }))
    },
    noteOperator: ({ event, email, account, by, atUs }) =>
      write(event, { user: email, account, address: null, by, at: rfc3339(atUs) }),
  }
}
