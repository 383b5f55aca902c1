import { useEffect, useState } from 'preact/hooks'
import { createAnswerOrder } from './answer-order.ts'
import type { ApiResult } from './api.ts'
import { useReconnected } from './connection.ts'
import { accessToken } from './session.ts'

/** Calls `load` at once and then at an interval while the page is visible; it begins again when `inputs` change. */
export function usePolling(load: () => void, everyMs: number, inputs: readonly unknown[]): void {
  useEffect(() => {
    load()
    const timer = setInterval(() => {
      if (!document.hidden) load()
    }, everyMs)
    return () => clearInterval(timer)
  }, inputs)
}

/** Returns the answer to a request, asked again at an interval; `null` before the first. A failure keeps the answer. */
export function usePolled<T>(
  read: () => Promise<ApiResult<T>>,
  everyMs: number,
  inputs: readonly unknown[] = [],
): T | null {
  const [value, setValue] = useState<T | null>(null)
  const [order] = useState(createAnswerOrder)
  const load = async () => {
    const token = accessToken.get()
    const isNewest = order.ask()
    const response = await read()
    // Another user may have logged in meanwhile, who must not see this account.
    if (response.ok && accessToken.get() === token && isNewest()) setValue(response.result)
  }
  usePolling(load, everyMs, inputs)
  useReconnected(load)
  return value
}
