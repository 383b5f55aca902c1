import { SWITCH_NAMES } from '../events/kinds.ts'
import { loggedUrl } from '../lib/shown-url.ts'
import type { AuditFacts } from '../store/operations/audit.ts'
import type { WebhookList } from './model.ts'

/**
 * Describes the difference between two lists of webhooks for the audit trail, by redacted URLs: `added`, `removed`, and
 * `changed` with the switches that went on (`+call_started`) or off (`-call_started`).
 */
export function listChange(before: WebhookList, after: WebhookList): AuditFacts {
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
