import { shownUrl } from '../../../lib/shown-url.ts'
import { overview } from '../lib/connection.ts'
import { shortenUrl } from '../lib/format.ts'
import { useObservable } from '../lib/observable.ts'

/** Returns the name that the options give to a URL, `null` if it has none. */
function useWebhookName(url: string): string | null {
  return useObservable(overview)?.webhooks.find((one) => one.url === url)?.name ?? null
}

/** Shows a webhook: its name, if it has one, beside its URL. `whole`: the URL is not shortened. */
export function WebhookLabel({ url, whole = false }: { url: string; whole?: boolean }) {
  const name = useWebhookName(url)
  const address = whole ? shownUrl(url) : shortenUrl(url)
  if (name === null) return <>{address}</>
  return (
    <>
      <b class="webhook-name">{name}</b> <span class="muted">{address}</span>
    </>
  )
}
