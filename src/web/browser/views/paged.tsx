import type { ComponentChildren } from 'preact'
import type { Pages } from '../lib/pages.ts'
import { Problem } from '../parts/shown.tsx'

/** A list that is read page by page: what is wrong, its rows, and the way to older ones. */
export function Paged({
  label,
  pages,
  children,
}: {
  label: string
  pages: Pages<unknown>
  children: ComponentChildren
}) {
  return (
    <>
      {pages.problem === null ? null : <Problem text={pages.problem} again={pages.again} />}
      <section class="card" aria-label={label} aria-busy={pages.busy}>
        {children}
        {pages.hasMore ? (
          <p class="more">
            <button type="button" onClick={pages.more} disabled={pages.busy}>
              {pages.busy ? 'Loading…' : 'Show older'}
            </button>
          </p>
        ) : null}
      </section>
    </>
  )
}
