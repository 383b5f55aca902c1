import type { ComponentChildren } from 'preact'
import type { PagedList } from '../lib/paged-list.ts'
import { ErrorMessage } from './error-message.tsx'

type PagedSectionProps = { label: string; list: PagedList<unknown>; children: ComponentChildren }

/** Shows a list that is read page by page: its error, its rows, and a button for older ones. */
export function PagedSection({ label, list, children }: PagedSectionProps) {
  return (
    <>
      {list.error === null ? null : <ErrorMessage text={list.error} onRetry={list.reload} />}
      <section class="card" aria-label={label} aria-busy={list.isLoading}>
        {children}
        {list.hasMore ? (
          <p class="more">
            <button type="button" onClick={list.loadMore} disabled={list.isLoading}>
              {list.isLoading ? 'Loading…' : 'Show older'}
            </button>
          </p>
        ) : null}
      </section>
    </>
  )
}
