import { useEffect, useRef, useState } from 'preact/hooks'
import { type Query, request, withQuery } from './api.ts'
import type { Paged } from './resources.ts'

export type Pages<T> = {
  readonly items: readonly T[] | null
  readonly hasMore: boolean
  readonly busy: boolean
  readonly problem: string | null
  more(): void
  again(): void
}

/** A list that is read page by page, from its start again whenever what is asked for changes. */
export function usePages<T>(path: string, query: Query): Pages<T> {
  const [items, setItems] = useState<readonly T[] | null>(null)
  const [cursor, setCursor] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const asked = useRef(0)
  const what = withQuery(path, query)
  const read = async (from: string | null) => {
    const turn = ++asked.current
    setBusy(true)
    const answer = await request<Paged<T>>(
      'GET',
      withQuery(path, { ...query, ...(from === null ? {} : { cursor: from }) }),
    )
    // An answer to what was asked before is of no use any more.
    if (turn !== asked.current) return
    setBusy(false)
    setProblem(answer.ok ? null : answer.errors.map((fault) => fault.message).join(' ') || answer.message)
    if (!answer.ok) return
    setItems((before) => (from === null ? answer.result.items : [...(before ?? []), ...answer.result.items]))
    setCursor(answer.result.next_cursor)
    // Nothing in so much of the list: the rest is looked through, too.
    if (answer.result.items.length === 0 && answer.result.next_cursor !== null) void read(answer.result.next_cursor)
  }
  useEffect(() => {
    setCursor(null)
    void read(null)
  }, [what])
  return { items, hasMore: cursor !== null, busy, problem, more: () => void read(cursor), again: () => void read(null) }
}
