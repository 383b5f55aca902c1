import { useEffect, useRef, useState } from 'preact/hooks'
import { errorText, type QueryParameters, request, withQuery } from './api.ts'
import { useReconnected } from './connection.ts'
import type { Page } from './resources.ts'

export type PagedList<T> = {
  /** `null` until the first page has arrived. */
  readonly items: readonly T[] | null
  /** Counts how often the first page was read. */
  readonly version: number
  readonly hasMore: boolean
  readonly isLoading: boolean
  readonly error: string | null
  loadMore(): void
  reload(): void
  /** Changes items that were read. */
  update(change: (items: readonly T[]) => readonly T[]): void
}

/** Reads a list of the API page by page, and from its start again whenever the path or the query changes. */
export function usePagedList<T>(path: string, query: QueryParameters): PagedList<T> {
  const [items, setItems] = useState<readonly T[] | null>(null)
  const [cursor, setCursor] = useState<string | null>(null)
  const [version, setVersion] = useState(0)
  const [error, setError] = useState<string | null>(null)
  const [isLoading, setLoading] = useState(false)
  const turns = useRef(0)
  const pagesRead = useRef(0)
  const url = withQuery(path, query)
  const read = async (from: string | null) => {
    const turn = ++turns.current
    setLoading(true)
    const response = await request<Page<T>>(
      'GET',
      withQuery(path, { ...query, ...(from === null ? {} : { cursor: from }) }),
    )
    // A newer request was made meanwhile: this response is out of date.
    if (turn !== turns.current) return
    setLoading(false)
    setError(response.ok ? null : errorText(response))
    if (!response.ok) return
    if (from === null) setVersion((before) => before + 1)
    pagesRead.current = from === null ? 1 : pagesRead.current + 1
    setItems((before) => (from === null ? response.result.items : [...(before ?? []), ...response.result.items]))
    setCursor(response.result.next_cursor)
    // A page may be empty although older items match: keep following the cursor.
    if (response.result.items.length === 0 && response.result.next_cursor !== null)
      void read(response.result.next_cursor)
  }
  useEffect(() => {
    setCursor(null)
    void read(null)
  }, [url])
  // Older pages that the user is reading stay, unless reading failed.
  useReconnected(() => {
    if (error !== null || pagesRead.current < 2) void read(null)
  })
  return {
    items,
    version,
    hasMore: cursor !== null,
    isLoading,
    error,
    loadMore: () => void read(cursor),
    reload: () => void read(null),
    update: (change) => setItems((before) => before && change(before)),
  }
}
