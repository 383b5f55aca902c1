import type { ComponentChildren } from 'preact'
import type { PagedList } from '../lib/paged-list.ts'
import { ErrorMessage } from './error-message.tsx'
import { Icon } from './icon.tsx'

type PagedSectionProps<T> = {
  label: string
  list: PagedList<T>
  /** How many newer items there are by now. */
  newCount?: number
  children: ComponentChildren
}

/** Shows a list that is read page by page: its error, its rows, and buttons for newer and older ones. */
export function PagedSection<T>({ label, list, newCount = 0, children }: PagedSectionProps<T>) {
  return (
    <>
      {list.error === null ? null : <ErrorMessage text={list.error} onRetry={list.reload} />}
      <section
        class="card"
        aria-label={label}
        aria-busy={list.isLoading}
        // Nothing was read, and nothing is being read.
        hidden={list.items === null && list.error !== null}
      >
        <p class={newCount > 0 ? 'more newer' : 'visually-hidden'} role="status">
          {newCount > 0 ? (
            <button type="button" onClick={list.reload} disabled={list.isLoading}>
              <Icon name="up" /> {newCount.toLocaleString()} new
            </button>
          ) : null}
        </p>
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
