import { SWITCHES, type Switch } from './event-switches.ts'
import type { Webhook } from './resources.ts'

/**
 * The difference between two webhook lists, and the merge of two people's changes to the same list. A webhook is
 * identified by its URL and which occurrence of that URL it is, as on the server. Pure.
 */
export type WebhookChange =
  | { kind: 'added'; url: string }
  | { kind: 'removed'; url: string }
  | { kind: 'switched'; url: string; on: Switch[]; off: Switch[] }
  | { kind: 'moved' }

function keyByOccurrence(list: readonly Webhook[]): Map<string, Webhook> {
  const occurrences = new Map<string, number>()
  const keyed = list.map((webhook): [string, Webhook] => {
    const occurrence = occurrences.get(webhook.url) ?? 0
    occurrences.set(webhook.url, occurrence + 1)
    return [`${occurrence} ${webhook.url}`, webhook]
  })
  return new Map(keyed)
}

/** Returns the changes that turn one list into the other. */
export function diffWebhooks(before: readonly Webhook[], after: readonly Webhook[]): WebhookChange[] {
  const old = keyByOccurrence(before)
  const now = keyByOccurrence(after)
  const changes: WebhookChange[] = []
  for (const [key, webhook] of old) if (!now.has(key)) changes.push({ kind: 'removed', url: webhook.url })
  for (const [key, webhook] of now) {
    const previous = old.get(key)
    if (previous === undefined) {
      changes.push({ kind: 'added', url: webhook.url })
      continue
    }
    const on = SWITCHES.filter((name) => webhook[name] && !previous[name])
    const off = SWITCHES.filter((name) => !webhook[name] && previous[name])
    if (on.length + off.length > 0) changes.push({ kind: 'switched', url: webhook.url, on, off })
  }
  const inBoth = (from: Map<string, Webhook>, other: Map<string, Webhook>) =>
    [...from.keys()].filter((key) => other.has(key))
  if (inBoth(old, now).join('\n') !== inBoth(now, old).join('\n')) changes.push({ kind: 'moved' })
  return changes
}

/**
 * Makes my changes since `base` again on top of `theirs`. Switches are on or off, so two changes of one switch agree; a
 * webhook that either of us removed is gone, unless the other changed it: then it stays.
 */
export function mergeWebhooks(
  base: readonly Webhook[],
  mine: readonly Webhook[],
  theirs: readonly Webhook[],
): Webhook[] {
  const old = keyByOccurrence(base)
  const own = keyByOccurrence(mine)
  const other = keyByOccurrence(theirs)
  const merged: Webhook[] = []
  for (const [key, webhook] of other) {
    const before = old.get(key)
    const changed = own.get(key)
    if (changed === undefined && before !== undefined && sameSwitches(before, webhook)) continue
    if (changed === undefined) merged.push(webhook)
    else merged.push(withMySwitches(before, changed, webhook))
  }
  for (const [key, webhook] of own) {
    const before = old.get(key)
    if (!other.has(key) && (before === undefined || !sameSwitches(before, webhook))) merged.push(webhook)
  }
  return merged
}

/** A change of a single webhook, which the server makes without replacing the list. */
type SingleChange =
  | { readonly kind: 'append'; readonly webhook: Webhook }
  | { readonly kind: 'remove'; readonly url: string }

/** Returns the single webhook that was appended or removed between two lists; `null` if they differ in more. */
export function singleChange(before: readonly Webhook[], after: readonly Webhook[]): SingleChange | null {
  const last = after.at(-1)
  if (last !== undefined && sameWebhooks(before, after.slice(0, -1)))
    // A URL that stands in the list twice is only possible by replacing it.
    return before.some(({ url }) => url === last.url) ? null : { kind: 'append', webhook: last }
  const removed = before.find((webhook, at) => webhook.url !== after[at]?.url)
  if (removed === undefined) return null
  const rest = before.filter(({ url }) => url !== removed.url)
  return rest.length === before.length - 1 && sameWebhooks(rest, after) ? { kind: 'remove', url: removed.url } : null
}

function withMySwitches(before: Webhook | undefined, mine: Webhook, theirs: Webhook): Webhook {
  const merged = { ...theirs }
  for (const name of SWITCHES) if (before === undefined || mine[name] !== before[name]) merged[name] = mine[name]
  return merged
}

function sameSwitches(a: Webhook, b: Webhook): boolean {
  return SWITCHES.every((name) => a[name] === b[name])
}

/** Returns whether two lists have the same webhooks with the same switches in the same order. */
export function sameWebhooks(a: readonly Webhook[], b: readonly Webhook[]): boolean {
  return a.length === b.length && a.every((webhook, at) => webhook.url === b[at]?.url && sameSwitches(webhook, b[at]))
}
