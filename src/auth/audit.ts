import type { Log } from '../lib/log.ts'
import { type NowUs, SECOND, steadyUs, nowUs as wallUs } from '../lib/time.ts'
import type { UserRecord } from '../store/operations/accounts.ts'
import type { AuditFacts } from '../store/operations/audit.ts'
import type { Store } from '../store/store.ts'
import { createClientOf, type RequestClient, type SocketAddresses } from './client-address.ts'
import { NO_ACCOUNT } from './model.ts'
import type { Operators } from './operators.ts'

/** The security events and the log line of each. With them an operator can find out later who did what. */
export const SECURITY_EVENTS = {
  logged_in: 'a user logged in',
  login_failed: 'a login failed: wrong e-mail address or password',
  login_refused: 'a login was refused: too many failed logins',
  logged_out: 'a user logged out',
  password_changed: 'a user changed the password',
  password_change_failed: 'changing a password failed: the old password was wrong',
  token_made: 'a user created an API token',
  token_revoked: 'a token was revoked',
  webhooks_replaced: 'the list of webhooks was replaced',
  webhook_options_replaced: 'the options of a URL were replaced',
  contacts_replaced: 'the look-up of contacts was replaced',
  secret_rotated: 'the signing secret of a URL was rotated',
  pbx_set: 'a PBX was added or changed',
  pbx_removed: 'a PBX was removed',
  call_made: 'a user had a call made',
  call_hung_up: 'a user hung up a call',
  user_added: 'a user was added',
  user_changed: 'the name or the account of a user was changed',
  user_removed: 'a user was removed',
  admin_added: 'an administrator was added',
  user_made_admin: 'a user was made an administrator',
  admin_made_user: 'a user lost the rights of an administrator',
  user_password_set: 'a new password was set for a user',
  user_logged_out: 'all tokens of a user were revoked',
  user_invited: 'a link was made with which a user chooses a password',
  user_welcomed: 'a user chose a password with a link',
  numbers_erased: 'phone numbers were erased from all calls',
  recording_key_replaced: 'the key of links to recordings was replaced, so earlier links end',
  settings_changed: 'the service was started with new settings',
} as const
export type SecurityEvent = keyof typeof SECURITY_EVENTS

/** The events that change nothing: they are in the log, but not in the audit trail. */
const LOGGED_ONLY = ['logged_in', 'login_failed', 'login_refused', 'logged_out', 'password_change_failed'] as const
const isLoggedOnly = (event: SecurityEvent): boolean => LOGGED_ONLY.some((one) => one === event)

/** The events of the audit trail: changes. Object.keys loses the type of the names. */
export const AUDIT_ACTIONS = (Object.keys(SECURITY_EVENTS) as SecurityEvent[]).filter((event) => !isLoggedOnly(event))

const WARNINGS: ReadonlySet<SecurityEvent> = new Set(['login_failed', 'login_refused', 'password_change_failed'])

/** An attacker could flood the log with refused logins: at most one line for each address in this time. */
const REFUSAL_EVERY_US = 60 * SECOND
const MAX_REFUSED = 1_000

/** The user who acts, if known, and the client. */
export type Actor = {
  readonly user?: Pick<UserRecord, 'email' | 'accountId'> | undefined
  readonly client: RequestClient
}

/** A user who was changed by another one, with the name of the account. */
type Changed = { readonly email: string; readonly account: string }

export type Audit = {
  clientOf(request: Request, peers: SocketAddresses | null): RequestClient
  /**
   * Logs a security event with its user and the client's address. A change is also stored in the audit trail: it
   * resolves after that, and never rejects, because the change itself is done. `changed`: somebody else, who was
   * changed.
   */
  note(event: SecurityEvent, actor: Actor, facts?: AuditFacts, changed?: Changed): Promise<void>
}

type AuditOptions = {
  readonly accounts: Pick<Store['accounts'], 'accountGetName'>
  readonly trail: Pick<Store['audit'], 'auditAdd'>
  readonly log: Log
  readonly trustProxies: readonly string[]
  readonly operators?: Pick<Operators, 'nameOf'>
  /** Measures the time between refused logins. */
  readonly now?: NowUs
  readonly nowUs?: NowUs
}

/**
 * Creates the log of security events. Each line has `security`, user, account and address, but nothing that an unknown
 * client typed.
 */
export function createAudit(options: AuditOptions): Audit {
  const { accounts, trail, log, trustProxies, operators, now = steadyUs, nowUs = wallUs } = options
  const refusedUs = new Map<string, number>()

  function isRepeated(address: string): boolean {
    const lastUs = refusedUs.get(address) ?? Number.NEGATIVE_INFINITY
    if (now() - lastUs < REFUSAL_EVERY_US) return true
    if (refusedUs.size >= MAX_REFUSED) refusedUs.clear()
    refusedUs.set(address, now())
    return false
  }

  async function accountOf(user: Actor['user']): Promise<string | null> {
    if (user === undefined || user.accountId === NO_ACCOUNT) return null
    // The event is logged even if the account's name cannot be read.
    return (await accounts.accountGetName(user.accountId).catch(() => undefined)) ?? String(user.accountId)
  }

  function write(event: SecurityEvent, facts: object): void {
    const line = { security: event, ...facts }
    if (WARNINGS.has(event)) log.warn(line, SECURITY_EVENTS[event])
    else log.info(line, SECURITY_EVENTS[event])
  }

  return {
    clientOf: createClientOf(trustProxies, operators),
    async note(event, { user, client }, facts = {}, changed) {
      if (event === 'login_refused' && isRepeated(client.address)) return
      const account = changed?.account ?? (await accountOf(user))
      const { operator: by = null } = client
      const who = by === null ? { user: user?.email ?? null, address: client.address } : { user: null, address: null }
      const subject = changed?.email ?? null
      write(event, {
        ...who,
        account,
        ...(by === null ? {} : { by }),
        ...(subject === null ? {} : { subject }),
        ...facts,
      })
      if (isLoggedOnly(event)) return
      const change = { action: event, account, ...who, by, subject, facts }
      await trail
        .auditAdd({ ...change, atUs: nowUs() })
        .catch((error) => log.warn({ err: error, security: event }, 'a change could not be stored in the audit trail'))
    },
  }
}
