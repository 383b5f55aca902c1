import { useEffect, useRef, useState } from 'preact/hooks'
import type { FieldError } from '../../../../lib/fault.ts'
import { EmptyState, Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { useFirstError } from '../../components/first-error.ts'
import { Icon } from '../../components/icon.tsx'
import { showToast } from '../../components/toast.tsx'
import { type ApiResult, request, withQuery } from '../../lib/api.ts'
import { overview, refreshOverview, useReconnected } from '../../lib/connection.ts'
import { observable, useObservable } from '../../lib/observable.ts'
import { usePolling } from '../../lib/polling.ts'
import type { Webhook, WebhookOptions } from '../../lib/resources.ts'
import { accessToken } from '../../lib/session.ts'
import { mergeWebhooks, sameWebhooks, singleChange } from '../../lib/webhook-diff.ts'
import {
  addRow,
  countUrl,
  type Draft,
  draftWebhooks,
  editRow,
  errorsByRow,
  isDraftChanged,
  markRemoved,
  newDraft,
  rebaseDraft,
  saveDraft,
} from '../../lib/webhook-draft.ts'
import { ContactsDialog } from './contacts-dialog.tsx'
import { CrmDialog } from './crm-dialog.tsx'
import { OptionsDialog } from './options-dialog.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { TestDialog } from './test-dialog.tsx'
import { EditConflict, SaveBar } from './webhook-changes.tsx'
import { type RowDialog, WebhookRow, WebhookTableHead } from './webhook-row.tsx'

/** Another user's change of the list shows within this time. */
const POLL_INTERVAL_MS = 10_000
type ServerList = { list: readonly Webhook[]; etag: string | null }

/** The draft outlives a visit to another view, and ends with the session. */
const currentDraft = observable<Draft | null>(null)
accessToken.subscribe(() => {
  if (accessToken.get() === null) currentDraft.set(null)
})

/** Shows the webhook list for editing. */
export function WebhooksView() {
  const { draft, options, theirs, error, errors, save, resolveConflict, discard, load, takeOwnChange } =
    useWebhookDraft()
  const setDraft = currentDraft.set
  const [dialog, setDialog] = useState<
    { kind: RowDialog; url: string } | { kind: 'crm' | 'contacts'; url: null } | null
  >(null)
  const table = useRef<HTMLElement>(null)
  useFirstError(table, errors)
  if (draft === null)
    return (
      <div class="view">
        <h1>Webhooks</h1>
        {error === null ? <Loading what="the list" /> : <ErrorMessage text={error} onRetry={load} />}
      </div>
    )
  const { rows: rowErrors, other } = errorsByRow(draft, errors)
  return (
    <div class="view webhooks-view">
      <header class="view-head">
        <h1>Webhooks</h1>
        <p class="view-sub">Each URL gets a signed POST for every event that is switched on.</p>
        <button type="button" class="primary" onClick={() => setDraft(addRow(draft))}>
          <Icon name="plus" /> Add webhook
        </button>
        <button type="button" onClick={() => setDialog({ kind: 'crm', url: null })}>
          <Icon name="crm" /> Connect a CRM
        </button>
        <button type="button" onClick={() => setDialog({ kind: 'contacts', url: null })}>
          <Icon name="user" /> Who calls
        </button>
      </header>
      {error === null ? null : <ErrorMessage text={error} />}
      {other.length === 0 ? null : <ErrorMessage text={other.join(' ')} />}
      {theirs === null ? null : (
        <EditConflict
          base={draft.base}
          mine={draftWebhooks(draft)}
          theirs={theirs.list}
          onMerge={() => resolveConflict(mergeWebhooks(draft.base, draftWebhooks(draft), theirs.list), theirs)}
          onTakeTheirs={() => resolveConflict(theirs.list, theirs)}
        />
      )}
      <section ref={table} class="card webhook-table" aria-label="Webhook list">
        {draft.rows.length === 0 ? (
          <NoWebhooks />
        ) : (
          <WebhookRows
            draft={draft}
            options={options}
            errors={rowErrors}
            onOpen={(kind, url) => setDialog({ kind, url })}
          />
        )}
      </section>
      {isDraftChanged(draft) ? (
        <SaveBar
          base={draft.base}
          mine={draftWebhooks(draft)}
          blocked={theirs !== null}
          onSave={save}
          onDiscard={discard}
        />
      ) : null}
      {dialog?.kind === 'secret' ? <SecretDialog url={dialog.url} onClose={() => setDialog(null)} /> : null}
      {dialog?.kind === 'options' ? <OptionsDialog url={dialog.url} onClose={() => setDialog(null)} /> : null}
      {dialog?.kind === 'crm' ? (
        <CrmDialog url={dialog.url} onSaved={() => void takeOwnChange()} onClose={() => setDialog(null)} />
      ) : null}
      {dialog?.kind === 'contacts' ? <ContactsDialog onClose={() => setDialog(null)} /> : null}
      {dialog?.kind === 'test' ? <TestDialog url={dialog.url} onClose={() => setDialog(null)} /> : null}
    </div>
  )
}

/** Reads, edits and saves the list; `theirs` is the list that someone else saved meanwhile. */
function useWebhookDraft() {
  const draft = useObservable(currentDraft)
  const setDraft = currentDraft.set
  const [theirs, setTheirs] = useState<ServerList | null>(null)
  const [errors, setErrors] = useState<readonly FieldError[]>([])
  const [error, setError] = useState<string | null>(null)
  const [options, setOptions] = useState<readonly WebhookOptions[]>([])
  const saves = useRef(0)

  const takeServerList = (response: ApiResult<Webhook[]>) => {
    const before = currentDraft.get()
    if (!response.ok) {
      if (before === null) setError(response.message)
      return
    }
    const { result, etag } = response
    if (before === null) setError(null)
    if (before === null || (before.etag !== etag && !isDraftChanged(before))) setDraft(newDraft(result, etag))
    else if (before.etag !== etag && sameWebhooks(before.base, result)) setDraft({ ...before, etag })
    else if (before.etag !== etag) setTheirs({ list: result, etag })
  }
  const load = async () => {
    const savesBefore = saves.current
    const token = accessToken.get()
    const response = await request<Webhook[]>('GET', '/integration/webhook')
    // A response that was asked for before a save may be older than the save, or before a logout another account's.
    if (savesBefore === saves.current && accessToken.get() === token) takeServerList(response)
  }
  const loadOptions = async () => {
    const response = await request<WebhookOptions[]>('GET', '/integration/webhook/options')
    if (response.ok) setOptions(response.result)
  }
  /** Applies the changes that a dialog made to the list; unsaved changes here are kept. */
  const takeOwnChange = async () => {
    saves.current += 1
    const token = accessToken.get()
    const [response] = await Promise.all([request<Webhook[]>('GET', '/integration/webhook'), loadOptions()])
    const now = currentDraft.get()
    if (!response.ok || accessToken.get() !== token) return
    const { result, etag } = response
    if (now === null || !isDraftChanged(now)) return setDraft(newDraft(result, etag))
    setDraft(rebaseDraft(mergeWebhooks(now.base, draftWebhooks(now), result), result, etag))
  }
  const loadAll = () => {
    void load()
    void loadOptions()
  }
  usePolling(loadAll, POLL_INTERVAL_MS, [])
  useReconnected(() => {
    setError(null)
    void load()
  })
  useLeaveWarning(draft !== null && isDraftChanged(draft))

  const save = async () => {
    if (draft === null) return
    saves.current += 1
    const token = accessToken.get()
    const response = await sendDraft(draft)
    const now = currentDraft.get()
    if (accessToken.get() !== token || now === null) return
    setErrors(response.ok ? [] : response.errors)
    setError(
      response.ok || CHANGED_MEANWHILE.has(response.status) || response.errors.length > 0 ? null : response.message,
    )
    if (response.ok) {
      setDraft(saveDraft(now, draft, response.result, response.etag))
      showToast('good', 'Saved. New events go to this list.')
      void refreshOverview()
    } else if (CHANGED_MEANWHILE.has(response.status)) await load()
  }
  const resolveConflict = (list: readonly Webhook[], from: ServerList) => {
    setDraft(rebaseDraft(list, from.list, from.etag))
    setTheirs(null)
    setErrors([])
  }
  const discard = () => {
    if (draft !== null) setDraft(newDraft(draft.base, draft.etag))
    setErrors([])
  }
  return { draft, options, theirs, error, errors, save, resolveConflict, discard, load, takeOwnChange }
}

/** The answers when others changed the list meanwhile: it has another tag, or a single URL was added or removed. */
const CHANGED_MEANWHILE: ReadonlySet<number> = new Set([404, 409, 412])

/**
 * Saves a draft, and returns the list that the server has then. A single webhook is appended or removed by itself, so
 * that the changes that others make at the same time are kept.
 */
async function sendDraft(draft: Draft): Promise<ApiResult<Webhook[]>> {
  const mine = draftWebhooks(draft)
  const change = singleChange(draft.base, mine)
  const ifMatch: Record<string, string> = draft.etag === null ? {} : { 'if-match': draft.etag }
  if (change === null) return await request<Webhook[]>('PUT', '/integration/webhook', mine, ifMatch)
  const response =
    change.kind === 'append'
      ? await request('POST', '/integration/webhook/item', change.webhook)
      : await request('DELETE', withQuery('/integration/webhook/item', { url: change.url }))
  if (!response.ok) {
    // The errors of the request are shown at the last webhook of the list.
    const errors = response.errors.map(({ path, message }) => ({
      path: path === '' ? '' : `/${mine.length - 1}${path}`,
      message,
    }))
    return { ...response, errors }
  }
  const read = await request<Webhook[]>('GET', '/integration/webhook')
  // The change is saved although the list could not be read. The older tag makes the next save find others' changes.
  return read.ok ? read : { ...response, result: mine, etag: draft.etag }
}

/** Makes the browser ask before the page is closed with unsaved changes. */
function useLeaveWarning(changed: boolean): void {
  useEffect(() => {
    if (!changed) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [changed])
}

function NoWebhooks() {
  return (
    <EmptyState icon="webhooks" title="No webhooks yet">
      <p>Add the URL of your CRM, bot or monitoring. It gets a signed POST for each call event that is switched on.</p>
      <p>
        To try it without a receiver, run this and add <code>http://127.0.0.1:9000/</code>. It prints what it receives:
        <code class="line">hookswitch listen --port 9000</code>
      </p>
      <p>
        For Bitrix24, HubSpot, Odoo and other CRMs choose “Connect a CRM”: it only asks for a key and needs no
        programming.
      </p>
    </EmptyState>
  )
}

type WebhookRowsProps = {
  draft: Draft
  options: readonly WebhookOptions[]
  errors: ReadonlyMap<number, string>
  onOpen: (dialog: RowDialog, url: string) => void
}

function WebhookRows({ draft, options, errors, onOpen }: WebhookRowsProps) {
  const now = useObservable(overview)
  const occurrences = new Map<string, number>()
  const healthOf = (url: string) => {
    const occurrence = occurrences.get(url) ?? 0
    occurrences.set(url, occurrence + 1)
    return now?.webhooks.find((one) => one.url === url && one.occurrence === occurrence) ?? null
  }
  return (
    <>
      <WebhookTableHead />
      <ul class="webhook-rows">
        {draft.rows.map((row) => (
          <WebhookRow
            key={row.key}
            row={row}
            health={row.saved === null ? null : healthOf(row.saved.url)}
            options={options.find(({ url }) => url === row.webhook.url) ?? null}
            error={errors.get(row.key) ?? null}
            copies={countUrl(draft, row.webhook.url)}
            onEdit={(change) => currentDraft.set(editRow(draft, row.key, change))}
            onRemove={(removed) => currentDraft.set(markRemoved(draft, row.key, removed))}
            onOpen={(kind) => onOpen(kind, row.webhook.url)}
          />
        ))}
      </ul>
    </>
  )
}
