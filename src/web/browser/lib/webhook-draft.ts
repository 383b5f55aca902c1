import { forSwitches } from '../../../events/kinds.ts'
import type { FieldError } from '../../../lib/fault.ts'
import type { Switch } from './event-switches.ts'
import type { Webhook } from './resources.ts'
import { sameWebhooks } from './webhook-diff.ts'

/**
 * The webhook list while it is being edited. `base` is the server's list under `etag`; `rows` are shown in order, and a
 * removed one stays in sight until it is saved. Pure.
 */
export type DraftRow = {
  readonly key: number
  readonly webhook: Webhook
  readonly removed: boolean
  /** The webhook as the server has it; `null` for a new one. */
  readonly saved: Webhook | null
}

export type Draft = {
  readonly base: readonly Webhook[]
  readonly etag: string | null
  readonly rows: readonly DraftRow[]
  readonly nextKey: number
}

const NEW_WEBHOOK: Webhook = { url: '', ...forSwitches(() => true) }

/** Starts a draft from the server's list, without changes. */
export function newDraft(list: readonly Webhook[], etag: string | null): Draft {
  const rows = list.map((webhook, key) => ({ key, webhook, removed: false, saved: webhook }))
  return { base: list, etag, rows, nextKey: rows.length }
}

/** Makes a draft of `list` on a newer list of the server's. */
export function rebaseDraft(list: readonly Webhook[], base: readonly Webhook[], etag: string | null): Draft {
  const left = [...base]
  const rows = list.map((webhook, key) => {
    const at = left.findIndex((other) => other.url === webhook.url)
    const saved = at < 0 ? null : (left.splice(at, 1)[0] ?? null)
    return { key, webhook, removed: false, saved }
  })
  const removed = left.map((webhook, at) => ({ key: list.length + at, webhook, removed: true, saved: webhook }))
  return { base, etag, rows: [...rows, ...removed], nextKey: list.length + removed.length }
}

/** Returns the draft after `sent` was saved as this list: later edits are still there, and not saved. */
export function saveDraft(now: Draft, sent: Draft, list: readonly Webhook[], etag: string | null): Draft {
  return now === sent ? newDraft(list, etag) : rebaseDraft(draftWebhooks(now), list, etag)
}

/** Returns the list to be sent to the server. */
export function draftWebhooks(draft: Draft): Webhook[] {
  return draft.rows.filter((row) => !row.removed).map((row) => row.webhook)
}

/** Returns whether there is anything to save. */
export function isDraftChanged(draft: Draft): boolean {
  return !sameWebhooks(draftWebhooks(draft), draft.base)
}

/** Appends a row for a new webhook, with every switch on. */
export function addRow(draft: Draft): Draft {
  const row = { key: draft.nextKey, webhook: NEW_WEBHOOK, removed: false, saved: null }
  return { ...draft, rows: [...draft.rows, row], nextKey: draft.nextKey + 1 }
}

/** Changes the webhook of one row. */
export function editRow(draft: Draft, key: number, change: Partial<Webhook>): Draft {
  return {
    ...draft,
    rows: draft.rows.map((row) => (row.key === key ? { ...row, webhook: { ...row.webhook, ...change } } : row)),
  }
}

/** Marks a saved row as removed, or takes the mark back; a row that was never saved disappears at once. */
export function markRemoved(draft: Draft, key: number, removed: boolean): Draft {
  const rows = draft.rows.flatMap((row) => {
    if (row.key !== key) return [row]
    return row.saved === null ? [] : [{ ...row, removed }]
  })
  return { ...draft, rows }
}

/** Returns whether a switch of a saved row was changed and not saved yet. */
export function isSwitchChanged(row: DraftRow, name: Switch): boolean {
  return row.saved !== null && row.saved[name] !== row.webhook[name]
}

/** Returns how often the list holds this row's URL; an empty URL counts as none. */
export function countUrl(draft: Draft, url: string): number {
  return url === '' ? 0 : draftWebhooks(draft).filter((webhook) => webhook.url === url).length
}

/** Assigns the errors of a refused list to the rows that they are about, by row key. */
export function errorsByRow(
  draft: Draft,
  errors: readonly FieldError[],
): { rows: Map<number, string>; other: string[] } {
  const sent = draft.rows.filter((row) => !row.removed)
  const rows = new Map<number, string>()
  const other: string[] = []
  for (const error of errors) {
    const row = sent[Number(/^\/(\d+)/.exec(error.path)?.[1])]
    if (row === undefined) other.push(error.message)
    else rows.set(row.key, [rows.get(row.key), error.message].filter(Boolean).join(' '))
  }
  return { rows, other }
}
