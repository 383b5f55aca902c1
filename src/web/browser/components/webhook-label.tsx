import { overview } from '../lib/connection.ts'
import { shortenUrl, urlWithoutUser } from '../lib/format.ts'
import { useObservable } from '../lib/observable.ts'

/** Returns the name that the options give to a URL, `null` if it has none. */
function useWebhookName(url: string): string | null {
  return useObservable(overview)?.webhooks.find((one) => one.url === url)?.name ?? null
}

/** Shows a webhook by its name, or by its address if it has none. */
export function WebhookLabel({ url }: { url: string }) {
  const name = useWebhookName(url)
  return <bdi title={urlWithoutUser(url)}>{name ?? shortenUrl(url)}</bdi>
}

/** Shows the address of a webhook: the host, and the rest in a lighter colour. `beside` is for narrow lists. */
export function WebhookAddress({ url, beside }: { url: string; beside?: string }) {
  const shown = urlWithoutUser(url).replace(/^https:\/\//, '')
  const [, host = shown, rest = ''] = /^((?:\w+:\/\/)?[^/]*)(.*)$/s.exec(shown) ?? []
  return (
    <span class="cut url" title={urlWithoutUser(url)}>
      <span class="soft">{host}</span>
      {decoded(rest === '/' ? '' : rest)}
      {beside === undefined ? null : <span class="in-row">{beside}</span>}
    </span>
  )
}

/** A topic of MQTT has braces, which a URL encodes. */
function decoded(path: string): string {
  return path.replace(/%7[bd]/gi, (code) => (code.toLowerCase() === '%7b' ? '{' : '}'))
}
