import { SWITCH_NAMES } from '../events/kinds.ts'
import type { WebhookEntry } from './operations/webhooks.ts'

/**
 * Returns the list's entity tag (RFC 9110, 8.8.3), strong: the same list has the same tag, regardless of the order of
 * its fields.
 */
export function etagOf(list: readonly WebhookEntry[]): string {
  const content = list.map((webhook) => [webhook.url, ...SWITCH_NAMES.map((name) => webhook[name])])
  return `"${new Bun.CryptoHasher('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 22)}"`
}

/**
 * Returns whether an `If-Match` names this tag, by the strong comparison (RFC 9110, 13.1.1): a weak one never does, `*`
 * always.
 */
export function etagMatches(ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === '*' || ifMatch.split(',').some((given) => given.trim() === etag)
}
