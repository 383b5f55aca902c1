import { backoff } from '../../lib/backoff.ts'
import type { Log } from '../../lib/log.ts'
import { loggedUrl } from '../../lib/shown-url.ts'
import { MILLISECOND, type NowUs, SECOND } from '../../lib/time.ts'
import type { Exchange, ExchangeRequest } from '../../outbound/exchange.ts'
import type { AuthorizationOwner, Renewed } from '../../store/operations/authorizations.ts'
import type { Store } from '../../store/store.ts'
import type { Authorized, AuthorizedWebhook, Authorizer, TrialAuthorizer } from '../authorizer.ts'
import type { Authorization, LoginAuthorization, OAuth2Authorization } from '../model.ts'
import {
  type ClientProof,
  readLoginAnswer,
  readTokenAnswer,
  redactionOf,
  secretsOfLogin,
  type TokenAnswer,
  tokenRequest,
} from './token-exchange.ts'

/**
 * Obtains and renews the tokens of flows and look-ups.
 *
 *     present ─── a minute is left, or 401 ──→ claimed ── request ──→ stored ──→ present
 *        ↑                                        │ refused, failed
 *        └── renewed by another process           └──→ paused 1 s … 60 s ──→ claimed …
 *
 * A renewal is claimed in the store first, so that one is under way at a time over all nodes, and its tokens are stored
 * before anyone gets them: a refresh token that was replaced is never used again. A process that dies between the
 * answer of a server and its commit loses that answer; whether the refresh token before it is still accepted is up to
 * the server. A claim of a process that died counts for 15 s.
 */
type AuthorizerOptions = {
  readonly store: Store['authorizations']
  readonly exchange: Exchange
  readonly login: LoginRenderer
  readonly nowUs: NowUs
  readonly steadyUs: NowUs
  readonly log: Log
  /**
   * Called with the redacted URL, or `contacts`, and a problem when renewals begin to be refused; with `null` when one
   * succeeds again.
   */
  readonly onProblem: (name: string, problem: string | null) => void
  readonly newClaim?: () => string
  readonly sleep?: (ms: number) => Promise<void>
}

/** Renders the templates of a log-in. */
export type LoginRenderer = {
  /** Returns the request of a log-in with its full URL, or the reason why none is possible. */
  request(
    webhook: AuthorizedWebhook,
    login: LoginAuthorization,
  ): Promise<{ readonly request: ExchangeRequest } | { readonly problem: string }>
  /** Returns the value of the `authorization` header for a token, or the reason why none is possible. */
  header(
    webhook: AuthorizedWebhook,
    login: LoginAuthorization,
    token: string,
  ): Promise<{ readonly header: string } | { readonly problem: string }>
}

/** The request takes at most 10 s, and then its tokens are stored. */
const CLAIM_US = 15 * SECOND
/** How long a caller waits for a renewal, here or in another process. */
const PATIENCE_MS = 12_000
const BUSY_PAUSE_MS = 100
const STORE_PAUSE_MS = 250
const LAST_STORE_TRIES = 20
const FIRST_PAUSE_US = SECOND
const LAST_PAUSE_US = 60 * SECOND
const MAX_RETRY_AFTER_MS = 3_600_000
/** A token is renewed one minute before its end; a short-lived one after half its time. */
const MARGIN_US = 60 * SECOND
/** A server that refuses new tokens must not cause a renewal for each request: a few at once, then one every 5 s. */
const RENEWALS_AT_ONCE = 3
const RENEWAL_INTERVAL_US = 5 * SECOND
const MAX_OWNERS = 10_000
const LINE = /^[ -~]{1,20000}$/

/** The state of one owner's token. */
type Entry = {
  readonly key: string
  readonly settings: string
  header: string | null
  expiresSteadyUs: number | null
  renewSteadyUs: number | null
  /** The last token that a server refused, which is not sent again. */
  refusedHeader: string | null
  /** When the renewals of refused tokens, at one every 5 s, would be over. */
  renewalsUntilUs: number
  failures: number
  pausedUntilUs: number
  reason: string
  proof: ClientProof
  renewing: Promise<Authorized> | undefined
}

type Obtained = TokenAnswer | { readonly kind: 'header'; readonly header: string; readonly answer: Token }
type Token = Extract<TokenAnswer, { kind: 'token' }>

/** Creates the authorizer. `stop` waits for renewals in progress, whose tokens must not be lost. */
export function createAuthorizer(options: AuthorizerOptions): Authorizer & TrialAuthorizer & { stop(): Promise<void> } {
  const { store, exchange, login, nowUs, steadyUs, log, onProblem } = options
  const { newClaim = () => crypto.randomUUID(), sleep = Bun.sleep } = options
  const entries = new Map<string, Entry>()
  const digests = new WeakMap<Authorization, string>()
  const trials = new Map<string, Promise<Authorized>>()
  let isStopping = false

  function entryOf(webhook: AuthorizedWebhook): Entry {
    const { accountId, url } = ownerOf(webhook)
    const key = `${accountId} ${url}`
    const settings = digestOf(webhook.authorization)
    const known = entries.get(key)
    if (known?.settings === settings) return known
    if (entries.size >= MAX_OWNERS) entries.clear()
    const entry = newEntry(key, settings)
    entries.set(key, entry)
    return entry
  }
  function digestOf(authorization: Authorization): string {
    const known = digests.get(authorization)
    if (known !== undefined) return known
    const digest = new Bun.CryptoHasher('sha256').update(JSON.stringify(authorization)).digest('hex')
    digests.set(authorization, digest)
    return digest
  }

  /** Returns the token if it is valid and was not refused. */
  function usable(entry: Entry, refusedHeader: string | null, untilUs: number | null): Authorized | undefined {
    const { header } = entry
    if (header === null || header === refusedHeader || (untilUs ?? Number.POSITIVE_INFINITY) <= steadyUs())
      return undefined
    return { header }
  }

  async function obtain(webhook: AuthorizedWebhook, refusedHeader: string | null): Promise<Authorized> {
    const entry = entryOf(webhook)
    if (refusedHeader !== null && refusedHeader === entry.header) entry.refusedHeader = refusedHeader
    const refused = refusedHeader ?? entry.refusedHeader
    const present = usable(entry, refused, entry.renewSteadyUs)
    if (present !== undefined) return present
    if (entry.renewing === undefined && refused !== null && refused === entry.header) {
      const waitUs = pauseBeforeRenewal(entry)
      if (waitUs > 0) return { reason: 'the server refused new tokens', retryAfterMs: msOf(waitUs) }
    }
    entry.renewing ??= renewal(entry, webhook, refused).finally(() => {
      entry.renewing = undefined
    })
    const renewed = await withPatience(entry.renewing)
    if ('header' in renewed && renewed.header !== refused) return renewed
    // The renewal failed while the token is still valid for some time.
    const old = usable(entry, refused, entry.expiresSteadyUs)
    return old ?? ('reason' in renewed ? renewed : { reason: 'the token was refused', retryAfterMs: 1_000 })
  }

  /** Returns how long the renewal of a refused token has to wait; 0: it is counted and may begin. */
  function pauseBeforeRenewal(entry: Entry): number {
    const nowSteadyUs = steadyUs()
    // `renewal` says why there is a pause after a failure.
    if (nowSteadyUs < entry.pausedUntilUs) return 0
    const fromUs = entry.renewalsUntilUs - (RENEWALS_AT_ONCE - 1) * RENEWAL_INTERVAL_US
    if (nowSteadyUs < fromUs) return fromUs - nowSteadyUs
    entry.renewalsUntilUs = Math.max(nowSteadyUs, entry.renewalsUntilUs) + RENEWAL_INTERVAL_US
    return 0
  }

  async function renewal(entry: Entry, webhook: AuthorizedWebhook, refusedHeader: string | null): Promise<Authorized> {
    try {
      const leftUs = entry.pausedUntilUs - steadyUs()
      if (leftUs > 0) return { reason: entry.reason, retryAfterMs: msOf(leftUs) }
      const owner = ownerOf(webhook)
      const claim = newClaim()
      const claimed = await claimOf(entry, owner, { claim, refusedHeader })
      if (claimed.kind === 'busy') return { reason: 'another renewal of the token is in progress', retryAfterMs: 1_000 }
      if (claimed.kind === 'present') {
        const { header, expiresSteadyUs, renewSteadyUs } = claimed
        Object.assign(entry, { header, expiresSteadyUs, renewSteadyUs, failures: 0 })
        return { header }
      }
      const answer = await requested(entry, webhook, claimed.refreshToken)
      if (answer.kind === 'header') return await keep(entry, webhook, { owner, claim, obtained: answer })
      return await fail(entry, webhook, { owner, claim, answer })
    } catch (error) {
      log.warn({ ...factsOf(webhook), err: error }, 'cannot renew a token; will retry')
      return { reason: 'the token cannot be renewed now: the store cannot be written', retryAfterMs: 1_000 }
    }
  }

  async function claimOf(
    entry: Entry,
    owner: AuthorizationOwner,
    { claim, refusedHeader }: { claim: string; refusedHeader: string | null },
  ) {
    const untilUs = steadyUs() + PATIENCE_MS * MILLISECOND
    for (;;) {
      const nowSteadyUs = steadyUs()
      const claimed = await store.renewalClaim({
        owner,
        settings: entry.settings,
        refusedHeader,
        claim,
        nowSteadyUs,
        untilSteadyUs: nowSteadyUs + CLAIM_US,
      })
      if (claimed.kind !== 'busy' || isStopping || nowSteadyUs > untilUs) return claimed
      await sleep(BUSY_PAUSE_MS)
    }
  }

  /** Requests a token. */
  async function requested(
    entry: Entry,
    webhook: AuthorizedWebhook,
    refreshToken: string | null,
  ): Promise<Exclude<Obtained, Token>> {
    const { authorization } = webhook
    if (authorization.kind === 'login') return await logIn(webhook, authorization)
    const answer = await askOAuth2(entry, authorization, refreshToken)
    return answer.kind === 'token' ? { kind: 'header', header: `Bearer ${answer.token}`, answer } : answer
  }

  async function askOAuth2(
    entry: Entry,
    authorization: OAuth2Authorization,
    rotated: string | null,
  ): Promise<TokenAnswer> {
    const { clientSecret } = authorization
    const refreshToken = authorization.refreshToken === null ? null : (rotated ?? authorization.refreshToken)
    const redact = redactionOf([clientSecret, authorization.refreshToken, refreshToken])
    const ask = async (proof: ClientProof) =>
      readTokenAnswer(await exchange(tokenRequest(authorization, refreshToken, proof)), redact)
    const first = await ask(entry.proof)
    if (first.kind !== 'refused' || !first.isClient || clientSecret === null) return first
    // A server that does not know the client has not checked the refresh token.
    const otherProof = entry.proof === 'body' ? 'basic' : 'body'
    const second = await ask(otherProof)
    if (second.kind !== 'token') return first
    entry.proof = otherProof
    return second
  }

  async function logIn(
    webhook: AuthorizedWebhook,
    authorization: LoginAuthorization,
  ): Promise<Exclude<Obtained, Token>> {
    const rendered = await login.request(webhook, authorization)
    if ('problem' in rendered) return refusedBy(`the log-in's request: ${rendered.problem}`)
    const { request } = rendered
    const answer = readLoginAnswer(await exchange(request), authorization, redactionOf(secretsOfLogin(request)))
    if (answer.kind !== 'token') return answer
    const value = await login.header(webhook, authorization, answer.token)
    if ('problem' in value) return refusedBy(`the log-in's header: ${value.problem}`)
    return LINE.test(value.header)
      ? { kind: 'header', header: value.header, answer }
      : refusedBy("the log-in's header may only have visible ASCII characters and spaces")
  }

  /** Stores a token, retrying for as long as the store cannot be written, and only then lets it be used. */
  async function keep(
    entry: Entry,
    webhook: AuthorizedWebhook,
    {
      owner,
      claim,
      obtained,
    }: { owner: AuthorizationOwner; claim: string; obtained: Extract<Obtained, { kind: 'header' }> },
  ): Promise<Authorized> {
    const { header, answer } = obtained
    const atUs = steadyUs()
    const times = timesOf(answer.lifetimeS, atUs)
    const stored = await storeUntil({ owner, claim, header, refreshToken: answer.refreshToken, ...times })
    if (stored === undefined) {
      log.warn(factsOf(webhook), 'a renewed token is dropped, because another process has renewed it since')
      return { reason: 'another process has renewed the token', retryAfterMs: 0 }
    }
    Object.assign(entry, { header, ...times, failures: 0, pausedUntilUs: 0 })
    if (stored.endedProblem) {
      log.info(factsOf(webhook), 'the token was renewed again: pending deliveries are sent')
      onProblem(nameOf(webhook), null)
    }
    return { header }
  }

  async function storeUntil(renewed: Renewed) {
    for (let tries = 1; ; tries++) {
      try {
        return await store.renewalStore(renewed)
      } catch (error) {
        if (isStopping && tries > LAST_STORE_TRIES) throw error
        if (tries === 1)
          log.error({ err: error }, 'cannot store a renewed token, which is used only once it is stored; will retry')
        await sleep(STORE_PAUSE_MS)
      }
    }
  }

  async function fail(
    entry: Entry,
    webhook: AuthorizedWebhook,
    { owner, claim, answer }: { owner: AuthorizationOwner; claim: string; answer: Exclude<TokenAnswer, Token> },
  ): Promise<Authorized> {
    const problem = answer.kind === 'refused' ? answer.message : null
    entry.failures += 1
    const askedMs = answer.kind === 'failed' ? Math.min(answer.retryAfterMs, MAX_RETRY_AFTER_MS) : 0
    const pauseUs = Math.max(backoff(entry.failures, FIRST_PAUSE_US, LAST_PAUSE_US), askedMs * MILLISECOND)
    entry.pausedUntilUs = steadyUs() + pauseUs
    entry.reason = `the token cannot be renewed: ${answer.message}`
    const begins = await store.renewalFail({ owner, claim, problem, nowUs: nowUs() })
    if (begins && problem !== null) {
      log.warn(
        { ...factsOf(webhook), reason: problem },
        'the renewal of a token was refused: deliveries are pending until it succeeds; check the authorization',
      )
      onProblem(nameOf(webhook), problem)
    }
    return { reason: entry.reason, retryAfterMs: msOf(pauseUs) }
  }

  /** Obtains a token for settings that are not saved, or renews it, and keeps it apart. */
  async function obtainDraft(webhook: AuthorizedWebhook, refusedHeader: string | null): Promise<Authorized> {
    const owner = ownerOf(webhook)
    const settings = digestOf(webhook.authorization)
    const known = await store.authorizationDraftGet(owner, settings)
    const { header = null, renewSteadyUs = null, refreshToken = null } = known ?? {}
    if (header !== null && header !== refusedHeader && (renewSteadyUs ?? Number.POSITIVE_INFINITY) > steadyUs())
      return { header }
    const answer = await requested(newEntry('', settings), webhook, refreshToken)
    if (answer.kind !== 'header') return { reason: `the token cannot be obtained: ${answer.message}`, retryAfterMs: 0 }
    const nowSteadyUs = steadyUs()
    const times = timesOf(answer.answer.lifetimeS, nowSteadyUs)
    const token = { header: answer.header, refreshToken: answer.answer.refreshToken, ...times }
    await store.authorizationDraftStore({ draft: { ...owner, settings, ...token }, nowSteadyUs })
    return { header: answer.header }
  }

  async function tryOut(webhook: AuthorizedWebhook, refusedHeader: string | null): Promise<Authorized> {
    try {
      const saved = await store.authorizationGet(ownerOf(webhook))
      if (saved?.settings === digestOf(webhook.authorization)) return await obtain(webhook, refusedHeader)
      return await obtainDraft(webhook, refusedHeader)
    } catch (error) {
      log.warn({ ...factsOf(webhook), err: error }, 'cannot store the token of a check')
      return { reason: 'the token cannot be stored now: try again later', retryAfterMs: 1_000 }
    }
  }

  return {
    authorize: (webhook) => obtain(webhook, null),
    renew: obtain,
    authorizeTrial(webhook, refusedHeader) {
      // A refresh token is used once: trials of the same settings share it.
      const { accountId, url } = ownerOf(webhook)
      const key = `${accountId} ${url} ${digestOf(webhook.authorization)}`
      const running = trials.get(key)
      if (running !== undefined) return running
      const trial = tryOut(webhook, refusedHeader).finally(() => trials.delete(key))
      trials.set(key, trial)
      return trial
    },
    async stop() {
      isStopping = true
      await Promise.all([...entries.values()].map(({ renewing }) => renewing))
      await Promise.all(trials.values())
    },
  }
}

const newEntry = (key: string, settings: string): Entry => ({
  key,
  settings,
  header: null,
  expiresSteadyUs: null,
  renewSteadyUs: null,
  refusedHeader: null,
  renewalsUntilUs: Number.NEGATIVE_INFINITY,
  failures: 0,
  pausedUntilUs: Number.NEGATIVE_INFINITY,
  reason: '',
  proof: 'body',
  renewing: undefined,
})

const refusedBy = (message: string) => ({ kind: 'refused', message, isClient: false }) as const

const msOf = (us: number): number => Math.max(1, Math.ceil(us / MILLISECOND))

const ownerOf = ({ accountId, url, isLookUp = false }: AuthorizedWebhook): AuthorizationOwner => ({
  accountId,
  url: isLookUp ? '' : url,
})

const nameOf = ({ url, isLookUp = false }: AuthorizedWebhook): string =>
  isLookUp ? 'contacts' : loggedUrl(new URL(url))

const factsOf = ({ accountId, url, isLookUp = false }: AuthorizedWebhook) => ({
  account: accountId,
  [isLookUp ? 'contacts' : 'webhook']: loggedUrl(new URL(url)),
})

/** Returns when a token expires, and when to renew it. */
function timesOf(lifetimeS: number | null, atUs: number) {
  if (lifetimeS === null) return { expiresSteadyUs: null, renewSteadyUs: null }
  const lifetimeUs = Math.min(Math.floor(lifetimeS * SECOND), MAX_LIFETIME_US)
  return {
    expiresSteadyUs: atUs + lifetimeUs,
    renewSteadyUs: atUs + lifetimeUs - Math.min(MARGIN_US, Math.floor(lifetimeUs / 2)),
  }
}
const MAX_LIFETIME_US = 3_650 * 86_400 * SECOND

/** Resolves like the promise, or with a reason after `PATIENCE_MS`. */
function withPatience(renewing: Promise<Authorized>): Promise<Authorized> {
  const { promise, resolve } = Promise.withResolvers<Authorized>()
  const timer = setTimeout(
    () => resolve({ reason: 'the renewal of the token takes too long', retryAfterMs: 1_000 }),
    PATIENCE_MS,
  )
  return Promise.race([renewing, promise]).finally(() => clearTimeout(timer))
}
