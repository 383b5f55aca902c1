import { overview } from '../lib/connection.ts'
import { formatMilliseconds, shortenUrl, urlWithoutUser } from '../lib/format.ts'
import { useObservable } from '../lib/observable.ts'
import type { Delivery } from '../lib/resources.ts'
import { routeHref } from '../lib/router.ts'
import { Icon, type IconName } from './icon.tsx'

/** How a delivery ended or why it has not, in a word. Trouble comes first. */
type Said = {
  readonly icon: IconName
  readonly tone: '' | 'bad' | 'warn'
  readonly text: string
  readonly rank: number
}

/** `isHeld`: its webhook is down or paused. */
function describeDelivery({ state, attempts_made: made, delivered_at, created_at }: Delivery, isHeld: boolean): Said {
  if (state === 'failed') return { icon: 'cross', tone: 'bad', text: 'failed', rank: 0 }
  if (state === 'cancelled') return { icon: 'ban', tone: '', text: 'cancelled', rank: 3 }
  if (state === 'delivered') {
    const ms = delivered_at === null ? null : Date.parse(delivered_at) - Date.parse(created_at)
    const again = made > 1 ? `${ordinal(made)} try, ` : ''
    return { icon: 'check', tone: '', text: `${again}${formatMilliseconds(ms)}`, rank: 4 }
  }
  if (isHeld) return { icon: 'clock', tone: 'warn', text: 'waits', rank: 1 }
  if (made > 0) return { icon: 'retry', tone: 'bad', text: `${ordinal(made)} try failed`, rank: 0 }
  return { icon: 'clock', tone: '', text: 'pending', rank: 2 }
}

const ordinal = (n: number): string => `${n}${n === 1 ? 'st' : n === 2 ? 'nd' : n === 3 ? 'rd' : 'th'}`

/** Shown beside a row; the others are a number. */
const MAX_SHOWN = 2

/** Shows the deliveries of an event, the troubled ones first: each webhook and what became of it, as a link. */
export function SentList({ deliveries }: { deliveries: readonly Delivery[] }) {
  const webhooks = useObservable(overview)?.webhooks ?? []
  const groups = Map.groupBy(deliveries, ({ url }) => url)
  const said = [...groups.values()]
    .flatMap((group) => {
      const all = group.map((delivery) => {
        const webhook = webhooks.find(({ url }) => url === delivery.url)
        const isHeld = webhook !== undefined && (webhook.paused || webhook.down_since !== null)
        return { delivery, name: webhook?.name ?? null, count: group.length, ...describeDelivery(delivery, isHeld) }
      })
      return all.toSorted((one, other) => one.rank - other.rank).slice(0, 1)
    })
    .toSorted((one, other) => one.rank - other.rank)
  if (said.length === 0) return null
  return (
    <span class="sent">
      {said.slice(0, MAX_SHOWN).map(({ delivery, name, icon, tone, text, count }) => (
        <a
          key={delivery.id}
          class={tone}
          href={routeHref('deliveries', delivery.id)}
          title={`${urlWithoutUser(delivery.url)}: ${delivery.state}`}
        >
          <Icon name={icon} />
          <span class="hidden">{delivery.state} </span>
          <bdi>{name ?? shortenUrl(delivery.url)}</bdi>
          <span class={tone === '' ? 'dim' : tone}>{count > 1 && tone === '' ? `${count} times, ${text}` : text}</span>
        </a>
      ))}
      {said.length > MAX_SHOWN ? (
        <span class="dim">
          <Icon name={said.at(-1)?.icon ?? 'check'} /> {said.length - MAX_SHOWN} more
        </span>
      ) : null}
    </span>
  )
}
