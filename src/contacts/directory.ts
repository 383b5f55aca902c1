import type { Contact } from '../events/bodies.ts'
import { keyOf, type PhoneNumber } from '../events/phone-number.ts'
import type { Log } from '../lib/log.ts'
import { MILLISECOND, type NowUs, SECOND } from '../lib/time.ts'
import {
  type BreakerChange,
  type CircuitBreaker,
  newCircuitBreaker,
  recordOutcome,
} from '../outbound/circuit-breaker.ts'
import { createContactCache } from './cache.ts'
import type { LookUpAnswer } from './look-up.ts'

/** A look-up in progress. `waitMs`: how long a call may wait for it. */
type PendingContact = { readonly contact: Promise<Contact | null>; readonly waitMs: number }
/** The state of a look-up. `failed`: it failed, or was not made; `late`: it has no answer yet. */
export const CONTACT_STATES = ['found', 'unknown', 'late', 'failed'] as const
export type ContactState = (typeof CONTACT_STATES)[number]
type Found = { readonly contact: Contact | null; readonly state: ContactState }

/** Looks up the contacts of all accounts. */
export type ContactDirectory = {
  looksUp(accountId: number): boolean
  /** Returns a known contact; `null` if the number has none or is not looked up now; else a look-up in progress. */
  begin(accountId: number, phone: PhoneNumber): Contact | null | PendingContact
  /** Returns a contact within the account's budget; `null` if none was found by then, and the state says why. */
  find(accountId: number, phone: PhoneNumber): Promise<Found>
  /** Replaces the settings of all accounts. Contacts that were found with other settings are dropped. */
  configure(settings: ReadonlyMap<number, DirectorySettings>): void
  /** Drops all contacts; what look-ups in progress will find is dropped, too. */
  forget(): void
  /** Returns how many numbers had each outcome: `cached`, `found`, `not_found`, `failed`, `late`. */
  outcomes(): ReadonlyMap<string, number>
  /** Returns how many accounts have an open circuit breaker. */
  openBreakers(): number
}

/** The part of an account's settings that the directory needs. */
export type DirectorySettings = {
  /** A digest of the settings: different settings have different ones. */
  readonly digest: string
  readonly budgetMs: number
  readonly cacheMs: number
  /** Looks up a number. Never rejects. */
  lookUp(phone: PhoneNumber): Promise<LookUpAnswer>
}

type DirectoryOptions = { readonly log: Log; readonly steadyUs: NowUs; readonly maxNumbers?: number }

/** A number that was not found is looked up again soon: somebody may just have added it. */
const NOT_FOUND_US = 60 * SECOND
/** The most look-ups in flight; above this, calls begin without a contact. */
const MAX_IN_FLIGHT = 64
const LOG_US = 60 * SECOND

type Account = {
  readonly accountId: number
  readonly settings: DirectorySettings
  readonly breaker: CircuitBreaker
  /** Replaced when contacts are forgotten: nobody joins a look-up that began before. */
  running: Map<string, Promise<Found>>
  isProbing: boolean
}

/**
 * Creates the directory. Five look-ups in a row that fail or exceed the budget open the account's circuit breaker: then
 * no call waits, and a look-up now and then probes whether the system answers again.
 */
export function createContactDirectory({ log, steadyUs, maxNumbers }: DirectoryOptions): ContactDirectory {
  const cache = createContactCache(maxNumbers)
  let accounts = new Map<number, Account>()
  let loggedUs = Number.NEGATIVE_INFINITY
  const outcomes = new Map<string, number>()
  const ended = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)

  /** How often all contacts were forgotten. */
  let forgotten = 0

  function begin(accountId: number, phone: PhoneNumber): Found | { found: Promise<Found>; waitMs: number } {
    const account = accounts.get(accountId)
    if (account === undefined) return UNKNOWN
    const key = keyOf(phone)
    const known = cache.get(accountId, key, steadyUs())
    if (known !== undefined) {
      ended('cached')
      return foundOf(known)
    }
    const { breaker, running, settings } = account
    const waitMs = breaker.open === undefined ? settings.budgetMs : 0
    const present = running.get(key)
    if (present !== undefined) return { found: present, waitMs }
    const isProbe = breaker.open !== undefined
    if (isProbe && (account.isProbing || steadyUs() < (breaker.open?.probeAtUs ?? 0))) return FAILED
    if (running.size >= MAX_IN_FLIGHT) return FAILED
    account.isProbing ||= isProbe
    const found = run(account, phone, isProbe).finally(() => {
      running.delete(key)
      if (isProbe) account.isProbing = false
    })
    running.set(key, found)
    return { found, waitMs }
  }

  async function run(account: Account, phone: PhoneNumber, isProbe: boolean): Promise<Found> {
    const { accountId, settings } = account
    const begunAt = forgotten
    const { budgetMs, cacheMs } = settings
    let isCounted = false
    let isLate = false
    const count = (problem: string | undefined): void => {
      if (isCounted) return
      isCounted = true
      const outcome =
        problem === undefined
          ? ({ kind: 'delivered', status: 200 } as const)
          : ({ kind: 'unreachable', reason: problem } as const)
      note(account, recordOutcome(account.breaker, outcome, { probe: isProbe, nowUs: steadyUs() }), problem)
    }
    const late =
      budgetMs === 0
        ? undefined
        : setTimeout(() => {
            isLate = true
            count(`no answer within ${budgetMs} ms`)
          }, budgetMs)
    const answer = await settings.lookUp(phone)
    clearTimeout(late)
    count(answer.kind === 'failed' ? answer.reason : undefined)
    ended(isLate ? 'late' : answer.kind.replace(' ', '_'))
    if (answer.kind === 'failed') return FAILED
    // Its number may have been erased meanwhile.
    if (forgotten !== begunAt) return UNKNOWN
    const contact = answer.kind === 'found' ? answer.contact : null
    const untilUs =
      steadyUs() + (contact === null ? Math.min(NOT_FOUND_US, cacheMs * MILLISECOND) : cacheMs * MILLISECOND)
    // The account's settings may have been replaced during the look-up.
    if (accounts.get(accountId) === account) cache.set(accountId, keyOf(phone), { contact, untilUs })
    return foundOf(contact)
  }

  function note({ accountId }: Account, change: BreakerChange | undefined, problem: string | undefined): void {
    if (change === 'opened')
      log.warn(
        { account: accountId, reason: problem },
        'contacts are not looked up for now: five look-ups in a row failed or took too long; calls do not wait, and a look-up now and then checks whether the system answers again',
      )
    else if (change === 'closed') log.info({ account: accountId }, 'contacts are looked up again')
    else if (problem !== undefined && steadyUs() - loggedUs >= LOG_US) {
      loggedUs = steadyUs()
      log.info({ account: accountId, reason: problem }, 'a look-up of a contact failed')
    }
  }

  return {
    looksUp: (accountId) => accounts.has(accountId),
    begin(accountId, phone) {
      const begun = begin(accountId, phone)
      if (!('found' in begun)) return begun.contact
      return { contact: begun.found.then(({ contact }) => contact), waitMs: begun.waitMs }
    },
    async find(accountId, phone) {
      const begun = begin(accountId, phone)
      return 'found' in begun ? await within(begun) : begun
    },
    configure(settings) {
      const before = accounts
      accounts = new Map(
        Array.from(settings, ([accountId, one]) => {
          const present = before.get(accountId)
          const isSame = present?.settings.digest === one.digest
          if (present !== undefined && isSame) return [accountId, present]
          cache.forget(accountId)
          return [accountId, newAccount(accountId, one)]
        }),
      )
      for (const accountId of before.keys()) if (!accounts.has(accountId)) cache.forget(accountId)
    },
    forget() {
      forgotten += 1
      cache.clear()
      for (const account of accounts.values()) account.running = new Map()
    },
    outcomes: () => outcomes,
    openBreakers: () => [...accounts.values()].filter(({ breaker }) => breaker.open !== undefined).length,
  }
}

const newAccount = (accountId: number, settings: DirectorySettings): Account => ({
  accountId,
  settings,
  breaker: newCircuitBreaker(),
  running: new Map(),
  isProbing: false,
})

const UNKNOWN: Found = { contact: null, state: 'unknown' }
const FAILED: Found = { contact: null, state: 'failed' }
const LATE: Found = { contact: null, state: 'late' }
const foundOf = (contact: Contact | null): Found => (contact === null ? UNKNOWN : { contact, state: 'found' })

/** Resolves with the contact, or with `late` after `waitMs`. */
function within({ found, waitMs }: { found: Promise<Found>; waitMs: number }): Promise<Found> {
  const { promise, resolve } = Promise.withResolvers<Found>()
  const timer = setTimeout(() => resolve(LATE), waitMs)
  return Promise.race([found, promise]).finally(() => clearTimeout(timer))
}
