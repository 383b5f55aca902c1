import { useEffect, useRef, useState } from 'preact/hooks'
import type { FieldError } from '../../../lib/fault.ts'
import { type Answer, request } from '../lib/api.ts'
import { overview, readOverview } from '../lib/connection.ts'
import {
  type Draft,
  draftOf,
  faultsByRow,
  isChanged,
  listOf,
  rebased,
  withEdit,
  withRemoved,
  withRow,
} from '../lib/draft.ts'
import { mergeLists, sameList } from '../lib/list-change.ts'
import type { Webhook } from '../lib/resources.ts'
import { token } from '../lib/session.ts'
import { cell, useCell } from '../lib/state.ts'
import { Icon } from '../parts/icon.tsx'
import { Empty, Problem, Waiting } from '../parts/shown.tsx'
import { say } from '../parts/toast.tsx'
import { SaveBar, SomeoneElse } from './webhook-changes.tsx'
import { SwitchHeads, WebhookRow } from './webhook-row.tsx'
import { SecretDialog } from './webhook-secret.tsx'
import { TestDialog } from './webhook-test.tsx'

const LOOK_EVERY_MS = 10_000
type Theirs = { list: readonly Webhook[]; etag: string | null }

/** What is being edited outlives a look at another view, and ends with the session. */
const kept = cell<Draft | null>(null)
token.watch(() => {
  if (token.get() === null) kept.set(null)
})

export function WebhooksView() {
  const draft = useCell(kept)
  const { set: setDraft } = kept
  const [theirs, setTheirs] = useState<Theirs | null>(null)
  const [faults, setFaults] = useState<readonly FieldError[]>([])
  const [problem, setProblem] = useState<string | null>(null)
  const [open, setOpen] = useState<{ kind: 'secret' | 'test'; url: string } | null>(null)
  const seen = useCell(overview)

  const take = (answer: Answer<Webhook[]>) => {
    if (!answer.ok) {
      if (kept.get() === null) setProblem(answer.message)
      return
    }
    const { result, etag } = answer
    const held = kept.get()
    if (held === null) setProblem(null)
    if (held === null || (held.etag !== etag && !isChanged(held))) setDraft(draftOf(result, etag))
    else if (held.etag !== etag && sameList(held.base, result)) setDraft({ ...held, etag })
    else if (held.etag !== etag) setTheirs({ list: result, etag })
  }
  const saves = useRef(0)
  const load = async () => {
    const before = saves.current
    const answer = await request<Webhook[]>('GET', '/integration/webhook')
    // What was asked for before a save may be what was before it.
    if (before === saves.current) take(answer)
  }
  useEffect(() => {
    void load()
    const timer = setInterval(() => document.hidden || void load(), LOOK_EVERY_MS)
    return () => clearInterval(timer)
  }, [])

  const changed = draft !== null && isChanged(draft)
  useEffect(() => {
    if (!changed) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [changed])

  const save = async () => {
    if (draft === null) return
    saves.current += 1
    const sent = listOf(draft)
    const ifMatch: Record<string, string> = draft.etag === null ? {} : { 'if-match': draft.etag }
    const answer = await request<Webhook[]>('PUT', '/integration/webhook', sent, ifMatch)
    setFaults(answer.ok ? [] : answer.errors)
    setProblem(answer.ok || answer.status === 412 || answer.errors.length > 0 ? null : answer.message)
    if (answer.ok) {
      setDraft(draftOf(answer.result, answer.etag))
      say('good', 'Saved. Events go to this list from now on.')
      void readOverview(false)
    } else if (answer.status === 412) await load()
  }
  const settleWith = (list: readonly Webhook[], from: Theirs) => {
    setDraft(rebased(list, from.list, from.etag))
    setTheirs(null)
    setFaults([])
  }

  if (draft === null)
    return (
      <div class="view">
        <h1>Webhooks</h1>
        {problem === null ? <Waiting what="the list" /> : <Problem text={problem} again={load} />}
      </div>
    )
  const { rows: rowFaults, other } = faultsByRow(draft, faults)
  const occurrences = new Map<string, number>()
  return (
    <div class="view webhooks-view">
      <header class="view-head">
        <h1>Webhooks</h1>
        <p class="view-sub">Each URL is sent a signed POST for every event whose switch is on.</p>
        <button type="button" class="primary" onClick={() => setDraft(withRow(draft))}>
          <Icon name="plus" /> Add webhook
        </button>
      </header>
      {problem === null ? null : <Problem text={problem} />}
      {other.length === 0 ? null : <Problem text={other.join(' ')} />}
      {theirs === null ? null : (
        <SomeoneElse
          base={draft.base}
          mine={listOf(draft)}
          theirs={theirs.list}
          onMerge={() => settleWith(mergeLists(draft.base, listOf(draft), theirs.list), theirs)}
          onTake={() => settleWith(theirs.list, theirs)}
        />
      )}
      <section class="card webhook-table" aria-label="The webhook list">
        {draft.rows.length === 0 ? (
          <Empty icon="webhooks" title="Nobody is told yet">
            <p>
              Add the URL of your CRM, bot or monitoring. It is sent a signed POST for each call event that you switch
              on.
            </p>
            <p>
              Nothing at hand? This prints what it receives:
              <code class="line">hookswitch listen --port 9000</code>
            </p>
          </Empty>
        ) : (
          <>
            <SwitchHeads />
            <ul class="webhook-rows">
              {draft.rows.map((row) => {
                const savedUrl = row.saved?.url ?? null
                const occurrence = savedUrl === null ? 0 : (occurrences.get(savedUrl) ?? 0)
                if (savedUrl !== null) occurrences.set(savedUrl, occurrence + 1)
                const health =
                  seen?.webhooks.find((one) => one.url === savedUrl && one.occurrence === occurrence) ?? null
                return (
                  <WebhookRow
                    key={row.key}
                    row={row}
                    health={health}
                    fault={rowFaults.get(row.key) ?? null}
                    onEdit={(change) => setDraft(withEdit(draft, row.key, change))}
                    onRemove={(removed) => setDraft(withRemoved(draft, row.key, removed))}
                    onOpen={(kind) => setOpen({ kind, url: row.webhook.url })}
                  />
                )
              })}
            </ul>
          </>
        )}
      </section>
      {changed ? (
        <SaveBar
          base={draft.base}
          mine={listOf(draft)}
          blocked={theirs !== null}
          onSave={save}
          onDiscard={() => {
            setDraft(draftOf(draft.base, draft.etag))
            setFaults([])
          }}
        />
      ) : null}
      {open?.kind === 'secret' ? <SecretDialog url={open.url} onClose={() => setOpen(null)} /> : null}
      {open?.kind === 'test' ? <TestDialog url={open.url} onClose={() => setOpen(null)} /> : null}
    </div>
  )
}
