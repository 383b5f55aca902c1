import { SWITCHES, type Switch, type Webhook } from './resources.ts'

/**
 * What changed between two webhook lists, and how two people's changes to the same list go together. A webhook is its URL and
 * which occurrence of that URL it is, as on the server. Pure.
 */
export type ListChange =
  | { kind: 'added'; url: string }
  | { kind: 'removed'; url: string }
  | { kind: 'switched'; url: string; on: Switch[]; off: Switch[] }
  | { kind: 'moved' }

type Keyed = { key: string; webhook: Webhook }

function keyed(list: readonly Webhook[]): Keyed[] {
  const seen = new Map<string, number>()
  return list.map((webhook) => {
    const occurrence = seen.get(webhook.url) ?? 0
    seen.set(webhook.url, occurrence + 1)
    return { key: `${occurrence} ${webhook.url}`, webhook }
  })
}

export function listChanges(before: readonly Webhook[], after: readonly Webhook[]): ListChange[] {
  const old = new Map(keyed(before).map((entry) => [entry.key, entry.webhook]))
  const now = new Map(keyed(after).map((entry) => [entry.key, entry.webhook]))
  const changes: ListChange[] = []
  for (const [key, webhook] of old) if (!now.has(key)) changes.push({ kind: 'removed', url: webhook.url })
  for (const [key, webhook] of now) {
    const held = old.get(key)
    if (held === undefined) {
      changes.push({ kind: 'added', url: webhook.url })
      continue
    }
    const on = SWITCHES.filter((name) => webhook[name] && !held[name])
    const off = SWITCHES.filter((name) => !webhook[name] && held[name])
    if (on.length + off.length > 0) changes.push({ kind: 'switched', url: webhook.url, on, off })
  }
  const stayed = (from: Map<string, Webhook>, other: Map<string, Webhook>) =>
    [...from.keys()].filter((key) => other.has(key))
  if (stayed(old, now).join('\n') !== stayed(now, old).join('\n')) changes.push({ kind: 'moved' })
  return changes
}

/**
 * My changes since `base`, made again on top of `theirs`. Switches are on or off, so two changes of one switch agree; a webhook that
 * either of us removed is gone, unless the other changed it: then it stays.
 */
export function mergeLists(base: readonly Webhook[], mine: readonly Webhook[], theirs: readonly Webhook[]): Webhook[] {
  const old = new Map(keyed(base).map((entry) => [entry.key, entry.webhook]))
  const own = new Map(keyed(mine).map((entry) => [entry.key, entry.webhook]))
  const other = new Map(keyed(theirs).map((entry) => [entry.key, entry.webhook]))
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

function withMySwitches(before: Webhook | undefined, mine: Webhook, theirs: Webhook): Webhook {
  const merged = { ...theirs }
  for (const name of SWITCHES) if (before === undefined || mine[name] !== before[name]) merged[name] = mine[name]
  return merged
}

function sameSwitches(a: Webhook, b: Webhook): boolean {
  return SWITCHES.every((name) => a[name] === b[name])
}

export function sameList(a: readonly Webhook[], b: readonly Webhook[]): boolean {
  return a.length === b.length && a.every((webhook, at) => webhook.url === b[at]?.url && sameSwitches(webhook, b[at]))
}
