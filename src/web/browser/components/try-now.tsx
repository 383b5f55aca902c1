import { useState } from 'preact/hooks'
import { refreshOverview } from '../lib/connection.ts'
import { probeNow } from '../lib/webhook-requests.ts'
import { showToast } from './toast.tsx'

/** Most responses to a probe have arrived after this time. */
const REFRESH_AFTER_MS = 1_000

/** Shows the button that sends a pending delivery of a webhook at once. */
export function TryNow({ url, isSmall = false }: { url: string; isSmall?: boolean }) {
  const [isBusy, setBusy] = useState(false)
  const retry = async () => {
    setBusy(true)
    const error = await probeNow(url)
    setBusy(false)
    if (error !== null) return showToast('bad', error)
    showToast('good', 'A pending delivery is being sent as a probe. If it succeeds, the others follow in order.')
    setTimeout(() => void refreshOverview(), REFRESH_AFTER_MS)
  }
  return (
    <button type="button" class={isSmall ? 'button small' : 'button'} onClick={retry} disabled={isBusy}>
      Try now
    </button>
  )
}
