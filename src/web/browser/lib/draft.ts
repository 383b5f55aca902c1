import type { FieldError } from '../../../lib/fault.ts'
import { sameList } from './list-change.ts'
import type { Switch, Webhook } from './resources.ts'

/**
 * The webhook list as it is being edited. `base` is what the server had, under `etag`; rows are shown in order, a removed one stays
 * in sight until it is saved. Pure.
 */
export type Row = {
  readonly key: number
  readonly webhook: Webhook
  readonly removed: boolean
  readonly saved: Webhook | null
}

export type Draft = {
  readonly base: readonly Webhook[]
  readonly etag: string | null
  readonly rows: readonly Row[]
  readonly nextKey: number
}

export const BLANK_WEBHOOK: Webhook = {
  url: '',
  call_started: true,
  call_ended: true,
  call_saved: true,
  dial_started: true,
  dial_answered: true,
  dial_ended: true,
  call_transferred: true,
}

export function draftOf(list: readonly Webhook[], etag: string | null): Draft {
  const rows = list.map((webhook, key) => ({ key, webhook, removed: false, saved: webhook }))
  return { base: list, etag, rows, nextKey: rows.length }
}

/** The same draft on a newer base: `list` is what is to be sent. */
export function rebased(list: readonly Webhook[], base: readonly Webhook[], etag: string | null): Draft {
  const left = [...base]
  const rows = list.map((webhook, key) => {
    const at = left.findIndex((held) => held.url === webhook.url)
    const saved = at < 0 ? null : (left.splice(at, 1)[0] ?? null)
    return { key, webhook, removed: false, saved }
  })
  const gone = left.map((webhook, at) => ({ key: list.length + at, webhook, removed: true, saved: webhook }))
  return { base, etag, rows: [...rows, ...gone], nextKey: list.length + gone.length }
}

export function listOf(draft: Draft): Webhook[] {
  return draft.rows.filter((row) => !row.removed).map((row) => row.webhook)
}

export function isChanged(draft: Draft): boolean {
  return !sameList(listOf(draft), draft.base)
}

export function withRow(draft: Draft): Draft {
  const row = { key: draft.nextKey, webhook: BLANK_WEBHOOK, removed: false, saved: null }
  return { ...draft, rows: [...draft.rows, row], nextKey: draft.nextKey + 1 }
}

export function withEdit(draft: Draft, key: number, change: Partial<Webhook>): Draft {
  return {
    ...draft,
    rows: draft.rows.map((row) => (row.key === key ? { ...row, webhook: { ...row.webhook, ...change } } : row)),
  }
}

/** A row that was never saved goes at once; a saved one is marked, and can be taken back. */
export function withRemoved(draft: Draft, key: number, removed: boolean): Draft {
  const rows = draft.rows.flatMap((row) => {
    if (row.key !== key) return [row]
    return row.saved === null ? [] : [{ ...row, removed }]
  })
  return { ...draft, rows }
}

export function isSwitched(row: Row, name: Switch): boolean {
  return row.saved !== null && row.saved[name] !== row.webhook[name]
}

/** Which row's which field a fault of the list that was sent belongs to. */
export function faultsByRow(
  draft: Draft,
  faults: readonly FieldError[],
): { rows: Map<number, string>; other: string[] } {
  const sent = draft.rows.filter((row) => !row.removed)
  const rows = new Map<number, string>()
  const other: string[] = []
  for (const fault of faults) {
    const row = sent[Number(/^\/(\d+)/.exec(fault.path)?.[1])]
    if (row === undefined) other.push(fault.message)
    else rows.set(row.key, [rows.get(row.key), fault.message].filter(Boolean).join(' '))
  }
  return { rows, other }
}
