import { useEffect, useState } from 'preact/hooks'
import { type ApiResult, request } from './api.ts'
import { useReconnected } from './connection.ts'
import type { Pbx } from './resources.ts'

const EVERY_MS = 2_000

type PbxsNow = { readonly pbxs: readonly Pbx[] | null; readonly error: string | null; reload(): Promise<void> }

/** Returns the PBXs with their state, which is read again and again as long as the component is shown. */
export function usePbxs(): PbxsNow {
  const [pbxs, setPbxs] = useState<readonly Pbx[] | null>(null)
  const [error, setError] = useState<string | null>(null)
  const reload = async () => {
    const response: ApiResult<Pbx[]> = await request('GET', '/pbx')
    setError(response.ok ? null : response.message)
    if (response.ok) setPbxs(response.result)
  }
  useEffect(() => {
    void reload()
    const timer = setInterval(() => {
      if (!document.hidden) void reload()
    }, EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  useReconnected(() => void reload())
  return { pbxs, error, reload }
}
