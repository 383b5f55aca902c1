import { useEffect, useRef } from 'preact/hooks'
import { formatSentence } from '../lib/format.ts'
import type { PagedList } from '../lib/paged-list.ts'
import { ErrorMessage } from './error-message.tsx'

/** Shows why a list could not be read. */
export function ListProblem<T>({ list }: { list: PagedList<T> }) {
  return list.error === null ? null : <ErrorMessage text={formatSentence(list.error)} onRetry={list.reload} />
}

type ListFootProps<T> = {
  list: PagedList<T>
  /** How many there are in all, if that is known. */
  total?: number | null
}

/** Shows how much of a list was read, and reads on when it comes into view. */
export function ListFoot<T>({ list, total = null }: ListFootProps<T>) {
  const { items, hasMore, isLoading, loadMore, error } = list
  const element = useRef<HTMLParagraphElement>(null)
  const readOn = useRef(loadMore)
  readOn.current = loadMore
  const canReadOn = hasMore && !isLoading && error === null
  useEffect(() => {
    if (element.current === null || !canReadOn) return
    const seen = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting === true) readOn.current()
    })
    seen.observe(element.current)
    return () => seen.disconnect()
  }, [canReadOn, items?.length])
  if (items === null || (items.length === 0 && !hasMore)) return null
  const shown = items.length.toLocaleString('en')
  return (
    <p ref={element} class="more">
      {total !== null && total >= items.length
        ? `${shown} of ${total.toLocaleString('en')}`
        : `${shown} ${hasMore ? 'read' : 'in all'}`}
      {hasMore ? (
        <>
          {' · '}
          <button type="button" class="button small quiet" onClick={loadMore} disabled={isLoading}>
            {isLoading ? 'Loading…' : 'Show older'}
          </button>
        </>
      ) : null}
    </p>
  )
}
