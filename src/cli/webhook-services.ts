import { allowListOf } from '../app/settings.ts'
import { exampleTexts } from '../events/samples.ts'
import {
  type Authorizer,
  createAuthorizer,
  createLoginRenderer,
  createSetupService,
  loadPresetFolder,
  type SetupService,
} from '../flows/flows.ts'
import { Fault } from '../lib/fault.ts'
import { shownUrl } from '../lib/shown-url.ts'
import { nowUs } from '../lib/time.ts'
import type { AllowList } from '../outbound/address-guard.ts'
import type { Exchange } from '../outbound/exchange.ts'
import { spellingOf } from '../store/account-spelling.ts'
import type { OperatorAct } from '../store/operations/accounts.ts'
import type { NewDraft } from '../store/operations/authorizations.ts'
import type { Store } from '../store/store.ts'
import type { TemplateRenderer } from '../templates/templates.ts'
import { createOptionsService, createWebhookService } from '../webhooks/webhooks.ts'
import { noteAct } from './note-act.ts'
import { type StoreFlags, storePlaceOf, withExistingStore } from './open-store.ts'
import { withTemplates } from './open-templates.ts'
import { printError } from './print.ts'
import { readRunningState } from './running-service.ts'

/** The flags that all commands about the webhooks of an account have. */
export type AccountFlags = StoreFlags & { json?: boolean; account: string; allowNet?: string[] }

export type Services = {
  readonly webhooks: ReturnType<typeof createWebhookService>
  readonly options: ReturnType<typeof createOptionsService>
  readonly setup: SetupService
  readonly templates: TemplateRenderer
  readonly authorizer: Authorizer
  /** Stores a note of the change, which the service writes to its log. */
  readonly note: (event: OperatorAct['event'], facts: NonNullable<OperatorAct['facts']>) => Promise<void>
}

/** Runs something on the webhooks and options of an account. */
export async function onAccount<Result>(
  flags: AccountFlags,
  work: (services: Services, accountId: number, store: Store) => Promise<Result>,
  exchange: Exchange = noExchange,
): Promise<Result> {
  const { data, databaseUrl, account } = flags
  return await withExistingStore({ data, databaseUrl }, async (store) => {
    const accountId = await store.accounts.accountGetId(spellingOf(account, await store.accounts.accountList()))
    if (accountId === undefined)
      throw new Fault('not_found', `there is no account ${account}: list the accounts with hookswitch user list`)
    const webhooks = createWebhookService({ webhooks: store.webhooks })
    const note: Services['note'] = (event, facts) => noteAct(store, { event, email: null, account, facts })
    await loadPresets(flags)
    return await withTemplates(async (templates) => {
      const options = createOptionsService({
        webhooks: store.webhooks,
        authorizations: store.authorizations,
        templates,
        samples: exampleTexts(),
        allow: () => allowListFor(flags),
      })
      const { steppedUs } = await store.maintenance.clockGet()
      const authorizer = createAuthorizer({
        store: store.authorizations,
        exchange,
        login: createLoginRenderer(templates),
        nowUs,
        steadyUs: () => nowUs() - steppedUs,
        log: NO_LOG,
        onProblem: () => {},
      })
      const setup = createSetupService({
        webhooks: store.webhooks,
        events: store.log,
        calls: store.calls,
        samples: exampleTexts(),
        templates,
        exchange,
        authorizer,
      })
      return await work({ webhooks, options, setup, templates, note, authorizer }, accountId, store).finally(
        authorizer.stop,
      )
    })
  })
}

/** Runs something on a preset that is given whole, where there is no store. */
export async function withoutStore<Result>(
  exchange: Exchange,
  work: (setup: SetupService) => Promise<Result>,
): Promise<Result> {
  await loadPresets()
  return await withTemplates(async (templates) => {
    const authorizer = createAuthorizer({
      store: memoryAuthorizations(),
      exchange,
      login: createLoginRenderer(templates),
      nowUs,
      steadyUs: nowUs,
      log: NO_LOG,
      onProblem: () => {},
    })
    const setup = createSetupService({
      webhooks: NO_WEBHOOKS,
      events: NO_EVENTS,
      calls: NO_CALLS,
      samples: exampleTexts(),
      templates,
      exchange,
      authorizer,
    })
    return await work(setup).finally(authorizer.stop)
  })
}

/** Offers the presets of files that the service offers, or those of the folder in the environment. */
export async function loadPresets(flags?: StoreFlags): Promise<void> {
  const running = flags === undefined ? undefined : await readRunningState(storePlaceOf(flags), [])
  const folder = process.env.HOOKSWITCH_PRESETS ?? running?.settings?.presets ?? undefined
  if (folder === undefined) return
  await loadPresetFolder(folder, {
    onLeftOut: (path, problem) => printError(`hookswitch: the preset ${path} is left out: ${problem}`),
  })
}

/** Returns the networks that requests may reach: as the flag says, else as the running service does. */
async function allowListFor({ allowNet = [], ...flags }: AccountFlags): Promise<AllowList> {
  if (allowNet.length > 0) return allowListOf(allowNet)
  const { settings } = await readRunningState(storePlaceOf(flags), [])
  return allowListOf(settings?.allowNets ?? [])
}

/** Keeps the token of a trial in memory; a trial uses no token of a webhook. */
function memoryAuthorizations(): Store['authorizations'] {
  let kept: NewDraft['draft'] | undefined
  const unused = () => Promise.reject(new Error('a trial has no stored token'))
  return {
    authorizationProblemList: unused,
    renewalClaim: unused,
    renewalStore: unused,
    renewalFail: unused,
    authorizationGet: async () => undefined,
    authorizationDraftGet: async (_, settings) => (kept?.settings === settings ? kept : undefined),
    async authorizationDraftStore({ draft }) {
      kept = draft
    },
  }
}

const NO_WEBHOOKS = { optionsList: async () => [] }
const NO_CALLS = { callList: async () => [] }
const NO_EVENTS = { eventListOfCall: async () => [] }

/** A command prints what went wrong. */
const NO_LOG = { debug() {}, info() {}, warn() {}, error() {} }

/** Most commands make no request. */
const noExchange: Exchange = () => Promise.reject(new Error('this command makes no request'))

/** Makes the fault of a URL that is not in the list of an account. */
export const notInList = (url: string, account: string) =>
  new Fault(
    'invalid',
    `${shownUrl(url)} is not in the list of account ${account}: hookswitch webhook list shows it, webhook add adds one`,
  )
