import { type Authorizer, createStepRenderer, flowOf } from '../flows/flows.ts'
import { INVALID } from '../http/validation.ts'
import { Fault, type FieldError } from '../lib/fault.ts'
import type { Log } from '../lib/log.ts'
import type { AllowList } from '../outbound/address-guard.ts'
import type { Exchange } from '../outbound/exchange.ts'
import { literalRefusal } from '../outbound/literal-address.ts'
import type { Store } from '../store/store.ts'
import type { TemplateRenderer } from '../templates/templates.ts'
import type { ContactDirectory, DirectorySettings } from './directory.ts'
import { type LookUp, lookUpNumber, requestOf } from './look-up-request.ts'
import { type ContactSettings, DEFAULT_BUDGET_MS, DEFAULT_CACHE_MINUTES, type NewContactSettings } from './model.ts'
import {
  lookUpOf,
  mergedSettings,
  type PresetWebhook,
  type StoredSettings,
  settingsWithoutSecrets,
} from './settings.ts'

export type ContactService = ReturnType<typeof createContactService>

type ContactServiceOptions = {
  readonly store: Pick<Store, 'contacts' | 'webhooks'>
  readonly directory: ContactDirectory
  readonly templates: TemplateRenderer
  readonly exchange: Exchange
  readonly authorizer: Authorizer
  /** Returns the E.164 form of a number dialled on an account's PBXs, `null` if it is unknown. */
  readonly toE164: (accountId: number, number: string) => string | null
  /** The networks that look-ups may reach. */
  readonly allow: AllowList
  readonly log: Log
}

const MINUTE_MS = 60_000
const SAMPLE_NUMBER = '+4930123456'
/** Other writers may change the settings at the same time. */
const TRIES = 5

/** Creates the service for the look-up of contacts. `refresh` has to be called at the start and after every change. */
export function createContactService(options: ContactServiceOptions) {
  const { store, directory, templates, exchange, authorizer, toE164, allow, log } = options
  const { contacts } = store
  let forgotten: number | undefined
  let refreshing: Promise<void> | undefined
  let next: Promise<void> | undefined

  const read = (json: string): StoredSettings => JSON.parse(json)

  /** Returns the webhook of an account's list that has the preset of its settings, if they need one. */
  async function webhookOf(accountId: number, { preset, url }: NewContactSettings): Promise<PresetWebhook | undefined> {
    if (preset === undefined || url !== undefined) return undefined
    for (const listed of await store.webhooks.optionsList(accountId)) {
      const stored: { preset?: unknown } = listed.options?.flow ?? {}
      if (listed.options === null || stored.preset !== preset) continue
      const flow = flowOf(listed.options)
      if (flow !== null && !('problem' in flow)) return { url: listed.url, parameters: flow.parameters }
    }
    return undefined
  }

  function directorySettingsOf(lookUp: LookUp, { settings }: StoredSettings): DirectorySettings {
    const { budget_ms = DEFAULT_BUDGET_MS, cache_minutes = DEFAULT_CACHE_MINUTES } = settings
    const { accountId } = lookUp
    const steps = createStepRenderer(templates, { accountId, purpose: 'sending' })
    return {
      digest: JSON.stringify([lookUp, budget_ms, cache_minutes]),
      budgetMs: budget_ms,
      cacheMs: cache_minutes * MINUTE_MS,
      lookUp: (phone) => lookUpNumber(lookUp, phone, { steps, exchange, authorizer }),
    }
  }

  async function readAll(): Promise<void> {
    const found = new Map<number, DirectorySettings>()
    for (const { accountId, settings } of await contacts.contactSettingsList()) {
      const stored = read(settings)
      const lookUp = lookUpOf(accountId, stored, await webhookOf(accountId, stored.settings))
      if (lookUp === undefined)
        log.warn(
          { account: accountId, preset: stored.settings.preset },
          'contacts are not looked up: no webhook of the account has the preset of the look-up, or this version lacks it; choose another',
        )
      else found.set(accountId, directorySettingsOf(lookUp, stored))
    }
    directory.configure(found)
    const count = await contacts.contactsForgottenCount()
    if (forgotten !== undefined && count !== forgotten) directory.forget()
    forgotten = count
  }

  /** Renders the templates with a sample. @throws Fault 422. */
  async function tried(lookUp: LookUp): Promise<void> {
    const refusals = [['/url', lookUp.url] as const, ...tokenUrlOf(lookUp)].flatMap(([path, url]) => {
      const message = literalRefusal(new URL(url), allow)
      return message === undefined ? [] : [{ path, message }]
    })
    if (refusals.length > 0) throw invalid(refusals)
    const steps = createStepRenderer(templates, { accountId: lookUp.accountId, purpose: 'trying' })
    const problems = await steps.problems(lookUp.request)
    if (problems.length > 0)
      throw invalid(problems.map(({ field, problem }) => ({ path: `/${field}`, message: problem })))
    const made = await requestOf(lookUp, SAMPLE_NUMBER, steps)
    if ('problem' in made) throw invalid([{ path: 'field' in made ? `/${made.field}` : '/url', message: made.problem }])
  }

  async function replaceOnce(accountId: number, sent: ContactSettings): Promise<ContactSettings | undefined> {
    const seen = (await contacts.contactSettingsGet(accountId)) ?? null
    const replace = (settings: string | null) => contacts.contactSettingsReplace({ accountId, settings, seen })
    if (sent === null) return seen === null || (await replace(null)) ? null : undefined
    const merged = mergedSettings(sent, seen === null ? null : read(seen))
    if ('errors' in merged) throw invalid(merged.errors)
    const lookUp = lookUpOf(accountId, merged, await webhookOf(accountId, merged.settings))
    if (lookUp === undefined)
      throw invalid([{ path: '/url', message: 'is missing: no webhook of the list has this preset' }])
    await tried(lookUp)
    return (await replace(JSON.stringify(merged))) ? settingsWithoutSecrets(merged) : undefined
  }

  /** Reads all settings again, and drops contacts that were found with other settings. @throws Fault `unavailable`. */
  async function refresh(): Promise<void> {
    // A refresh that has not begun yet will also find the latest change.
    next ??= (refreshing ?? Promise.resolve())
      .catch(() => {})
      .then(() => {
        refreshing = next
        next = undefined
        return readAll()
      })
    await next
  }

  return {
    /** Returns an account's settings for look-ups; `null` if it has none. */
    async get(accountId: number): Promise<ContactSettings> {
      const stored = await contacts.contactSettingsGet(accountId)
      return stored === undefined ? null : settingsWithoutSecrets(read(stored))
    },
    /** Replaces an account's settings for look-ups. @throws Fault 422 for settings that cannot work. */
    async replace(accountId: number, sent: ContactSettings): Promise<ContactSettings> {
      for (let left = TRIES; left > 0; left--) {
        const replaced = await replaceOnce(accountId, sent)
        if (replaced === undefined) continue
        await refresh()
        return replaced
      }
      throw new Fault('conflict', 'Others changed the settings at the same time: try again.')
    },
    /** Returns the contact of a number, within the budget; `null` if none was found, and the state says why. */
    find(accountId: number, number: string): ReturnType<ContactDirectory['find']> {
      // The space is a plus that was not percent-encoded in the query.
      const plain = number.replace(/^ (?=\d)/, '+').trim()
      return directory.find(accountId, { number: plain, e164: e164Of(accountId, plain) })
    },
    refresh,
  }

  function e164Of(accountId: number, number: string): string | null {
    return /^\+[1-9]\d{1,14}$/.test(number) ? number : toE164(accountId, number)
  }
}

function tokenUrlOf({ authorization }: LookUp): (readonly [string, string])[] {
  return authorization?.kind === 'oauth2' ? [['/authorization/token_url', authorization.tokenUrl]] : []
}

const invalid = (errors: readonly FieldError[]): Fault => new Fault('invalid', INVALID, { errors })
