import { EmptyState, Loading } from '../../components/empty-state.tsx'
import { Icon } from '../../components/icon.tsx'
import { PagedSection } from '../../components/paged-section.tsx'
import { Time } from '../../components/time.tsx'
import { usePagedList } from '../../lib/paged-list.ts'
import type { AuditEntry } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'

/** Shows administrators who changed what, the newest first. */
export function AuditView() {
  const list = usePagedList<AuditEntry>('/audit', {})
  return (
    <div class="view">
      <a class="back" href={routeHref('account')}>
        <Icon name="back" /> Account
      </a>
      <header class="view-head">
        <h1>Audit trail</h1>
        <p class="view-sub">
          Who changed what in webhooks, options, PBXs, users, tokens and settings in the last 400 days.
        </p>
        <button type="button" onClick={list.reload}>
          <Icon name="retry" /> Refresh
        </button>
      </header>
      <PagedSection label="Changes" list={list}>
        <AuditTable items={list.items} />
      </PagedSection>
    </div>
  )
}

function AuditTable({ items }: { items: readonly AuditEntry[] | null }) {
  if (items === null) return <Loading what="changes" />
  if (items.length === 0)
    return (
      <EmptyState icon="clock" title="No changes yet">
        <p>Each change over the API, on this page or with a command appears here.</p>
      </EmptyState>
    )
  return (
    <table class="rows stack audit">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Who</th>
          <th scope="col">Account</th>
          <th scope="col">What</th>
        </tr>
      </thead>
      <tbody>
        {items.map((entry, at) => (
          <tr key={`${entry.time} ${at}`}>
            <td class="muted">
              <Time at={entry.time} day />
            </td>
            <td class="break">
              {entry.user ?? entry.operator ?? 'the service'}
              <span class="muted"> {entry.operator === null ? entry.address : 'command'}</span>
            </td>
            <td class="break">{entry.account ?? '–'}</td>
            <td class="break">
              {entry.description}
              {entry.subject === null ? null : <b> {entry.subject}</b>}
              <Details details={entry.details} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Details({ details }: Pick<AuditEntry, 'details'>) {
  // All settings are in the API: here only those that were changed have room.
  const shown = Object.entries(details).filter(([name]) => name !== 'settings')
  if (shown.length === 0) return null
  return (
    <p class="muted break">
      {shown
        .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') || 'none' : value}`)
        .join(' · ')}
    </p>
  )
}
