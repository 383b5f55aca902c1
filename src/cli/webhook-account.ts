import { allowListOf, httpUrl } from '../app/settings.ts'
import { Fault } from '../lib/fault.ts'
import { shownUrl } from '../lib/shown-url.ts'
import type { WebhookOptions } from '../webhooks/webhooks.ts'
import { type Service, type ServiceFlags, withService } from './service.ts'

/** The flags that all commands about the webhooks of an account have. */
export type AccountFlags = ServiceFlags & {
  json?: boolean
  account: string
  allowNet?: string[]
  proxy?: string
  mayCreate?: boolean
}

/** Sends a request about the account of the flags. */
export type AskAccount = Service['ask']

/** Asks the service about an account. @throws Fault 404 if there is no such account. */
export const onAccount = <Result>(
  flags: AccountFlags,
  work: (account: { readonly ask: AskAccount; readonly isRunning: boolean }) => Promise<Result>,
): Promise<Result> => {
  const { account, allowNet, proxy, mayCreate = false } = flags
  if (allowNet !== undefined) allowListOf(allowNet)
  if (proxy !== undefined) httpUrl('--proxy', proxy)
  return withService(
    flags,
    ({ ask, isRunning }) => {
      const own: AskAccount = async (method, path, given = {}) => {
        try {
          return await ask(method, path, { ...given, query: { ...given.query, account } })
        } catch (cause) {
          const isUnknown = cause instanceof Fault && cause.message === `there is no account ${account}`
          throw isUnknown
            ? new Fault('not_found', `${cause.message}: list the accounts with hookswitch user list`)
            : cause
        }
      }
      return work({ ask: own, isRunning })
    },
    {
      mayCreate,
      settings: { ...(allowNet !== undefined && allowNet.length > 0 && { allowNet }), ...(proxy && { proxy }) },
    },
  )
}

/** Returns the options of each URL of the account. */
export const optionsIn = async (ask: AskAccount): Promise<WebhookOptions[]> =>
  (await ask<WebhookOptions[]>('GET', '/integration/webhook/options')).result

/** Makes the fault of a URL that is not in the list of an account. */
export const notInList = (url: string, account: string) =>
  new Fault(
    'not_found',
    `${shownUrl(url)} is not in the list of account ${account}: hookswitch webhook list shows it, webhook add adds one`,
  )
