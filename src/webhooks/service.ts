import { SWITCH_NAMES } from '../events/kinds.ts'
import { Fault } from '../lib/fault.ts'
import { loggedUrl } from '../lib/shown-url.ts'
import { type NowUs, nowUs, rfc3339, SECOND } from '../lib/time.ts'
import { newSecret as randomSecret } from '../outbound/signature.ts'
import { etagOf } from '../store/list-etag.ts'
import type { AuditFacts } from '../store/operations/audit.ts'
import type { Store } from '../store/store.ts'
import { MAX_WEBHOOKS, type Webhook, type WebhookList, type WebhookSecret } from './model.ts'

/** How long the previous secret still signs, so that receivers can change over. */
const OVERLAP_US = 24 * 3_600 * SECOND

/** A list after a change, and the change itself for the audit trail. */
type EditedList = { readonly list: WebhookList; readonly etag: string; readonly change: AuditFacts }

export type WebhookService = ReturnType<typeof createWebhookService>

type Dependencies = {
  webhooks: Store['webhooks']
  /** Called after every change of a list or a secret. */
  onChanged?: (accountId: number) => void
  now?: NowUs
  newSecret?: () => string
}

/** Creates the service for the webhook lists and secrets of accounts. */
export function createWebhookService({
  webhooks,
  onChanged = () => {},
  now = nowUs,
  newSecret = randomSecret,
}: Dependencies) {
  const shown = (row: { url: string; secret: string; previousUntilUs: number | null }): WebhookSecret => {
    const until = row.previousUntilUs
    return { url: row.url, secret: row.secret, previous_until: until !== null && until > now() ? rfc3339(until) : null }
  }

  const replaceIf = (accountId: number, list: WebhookList, ifMatch: string | null): Promise<boolean> =>
    webhooks.listReplace({ accountId, list, ifMatch, secrets: list.map(newSecret), nowUs: now() })

  /**
   * The last edit of each account. Edits of this process take turns, so that only other writers make them begin again.
   */
  const turns = new Map<number, Promise<unknown>>()

  /** Edits the list of an account after the edits that came before. */
  async function edit(accountId: number, edited: (before: WebhookList) => WebhookList): Promise<EditedList> {
    const turn = (turns.get(accountId) ?? Promise.resolve()).catch(() => {}).then(() => editNow(accountId, edited))
    turns.set(accountId, turn)
    try {
      return await turn
    } finally {
      if (turns.get(accountId) === turn) turns.delete(accountId)
    }
  }

  /**
   * Replaces the list by the result of `edited`. If another writer changed the list in between, reads and edits it
   * again.
   */
  async function editNow(accountId: number, edited: (before: WebhookList) => WebhookList): Promise<EditedList> {
    for (;;) {
      const before = await webhooks.listGet(accountId)
      const list = edited(before)
      // A writer fails only if another one succeeds, so the loop ends.
      if (!(await replaceIf(accountId, list, etagOf(before)))) continue
      onChanged(accountId)
      return { list, etag: etagOf(list), change: listChange(before, list) }
    }
  }

  return {
    async list(accountId: number): Promise<{ list: WebhookList; etag: string }> {
      const list = await webhooks.listGet(accountId)
      return { list, etag: etagOf(list) }
    },

    /** Appends a webhook to the list. @throws Fault 409 when its URL is in the list; 422 when the list is full. */
    append: (accountId: number, webhook: Webhook): Promise<EditedList> =>
      edit(accountId, (before) => {
        if (before.some(({ url }) => url === webhook.url))
          throw new Fault('conflict', 'This URL is already in the list: PUT the list to change its switches.')
        if (before.length < MAX_WEBHOOKS) return [...before, webhook]
        throw new Fault('invalid', 'The list of webhooks is full: remove one first.', {
          errors: [{ path: '', message: `the list already has ${MAX_WEBHOOKS} webhooks, the most it may have` }],
        })
      }),

    /** Removes every entry of a URL from the list. @throws Fault 404 when the list has no such entry. */
    remove: (accountId: number, url: string): Promise<EditedList> =>
      edit(accountId, (before) => {
        const list = before.filter((one) => one.url !== url)
        if (list.length === before.length) throw new Fault('not_found', 'This URL is not in the list.')
        return list
      }),

    /** Replaces the whole list. @throws Fault 412 when it has changed since `ifMatch`. */
    async replace(accountId: number, list: WebhookList, ifMatch: string | null): Promise<EditedList> {
      if (ifMatch === null) return edit(accountId, () => list)
      const before = await webhooks.listGet(accountId)
      if (!(await replaceIf(accountId, list, ifMatch)))
        throw new Fault(
          'precondition_failed',
          'The list has changed since you read it: read it again, and send it with its new ETag.',
        )
      onChanged(accountId)
      return { list, etag: etagOf(list), change: listChange(before, list) }
    },

    async secrets(accountId: number): Promise<WebhookSecret[]> {
      return (await webhooks.secretList(accountId)).map(shown)
    },

    /**
     * Makes a new secret for a URL of the list.
     * @throws Fault 422 when the URL is not in it; 409 while the previous secret still signs, unless `force`.
     */
    async rotate(accountId: number, url: string, force = false): Promise<WebhookSecret> {
      const nowUs = now()
      const fresh = { url, secret: newSecret(), previousUntilUs: nowUs + OVERLAP_US }
      const rotated = await webhooks.secretRotate({ accountId, ...fresh, nowUs, force })
      if (rotated === 'unlisted')
        throw new Fault('invalid', 'This URL is not in the list.', {
          errors: [{ path: '/url', message: 'is not in the list' }],
        })
      if (rotated !== 'rotated') throw tooEarly(rotated, nowUs)
      onChanged(accountId)
      return shown(fresh)
    },
  }
}

const tooEarly = (untilUs: number, nowUs: number) =>
  new Fault(
    'conflict',
    `The previous secret still signs until ${rfc3339(untilUs)}: rotate again then, or send "force": true to end it now.`,
    { headers: { 'retry-after': String(Math.ceil((untilUs - nowUs) / SECOND)) } },
  )

/**
 * Describes the difference between two lists of webhooks for the audit trail, by redacted URLs: `added`, `removed`, and
 * `changed` with the switches that went on (`+call_started`) or off (`-call_started`).
 */
function listChange(before: WebhookList, after: WebhookList): AuditFacts {
  const switchesBefore = new Map(before.map((webhook) => [webhook.url, webhook]))
  const urlsAfter = new Set(after.map(({ url }) => url))
  const added = after.filter(({ url }) => !switchesBefore.has(url)).map(({ url }) => redacted(url))
  const removed = before.filter(({ url }) => !urlsAfter.has(url)).map(({ url }) => redacted(url))
  const changed = after.flatMap((webhook) => {
    const was = switchesBefore.get(webhook.url)
    const switched = SWITCH_NAMES.filter((name) => was !== undefined && was[name] !== webhook[name])
    if (switched.length === 0) return []
    return [`${redacted(webhook.url)}: ${switched.map((name) => `${webhook[name] ? '+' : '-'}${name}`).join(' ')}`]
  })
  const lists = Object.entries({ added, removed, changed }).filter(([, { length }]) => length > 0)
  return { webhooks: after.length, ...Object.fromEntries(lists) }
}

const redacted = (url: string): string => loggedUrl(new URL(url))
