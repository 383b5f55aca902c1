import type { EventBody } from '../../../../events/bodies.ts'
import { isOfCall } from '../../../../events/event-subject.ts'
import { phraseOf } from '../../../../events/phrase.ts'
import { SentList } from '../../components/delivery-link.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { overview } from '../../lib/connection.ts'
import { formatParty, formatStage, formatTransfer, humanize } from '../../lib/format.ts'
import type { FeedEvent } from '../../lib/live-state.ts'
import { describeNoDeliveries } from '../../lib/no-deliveries.ts'
import { useObservable } from '../../lib/observable.ts'
import type { WebhookHealth } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'
import { serverNowMs } from '../../lib/server-clock.ts'

/** As many as fit beside the rest of the view; Deliveries has all. */
const MAX_ROWS = 30

/** Shows events as they occur, the newest first, each with what became of it. */
export function EventFeed({ feed }: { feed: readonly FeedEvent[] | null }) {
  const webhooks = useObservable(overview)?.webhooks ?? []
  return (
    <Table
      label="Latest events"
      kind="feed"
      items={feed?.slice(0, MAX_ROWS) ?? null}
      columns={columnsOf(webhooks)}
      keyOf={({ id }) => id}
      hrefOf={({ callId }) => (callId === null ? routeHref('phones') : routeHref('calls', callId))}
    />
  )
}

const columnsOf = (webhooks: readonly WebhookHealth[]): Column<FeedEvent>[] => [
  { name: 'Time', width: 108, place: 'a2', cell: ({ at }) => <Time at={at} as="ms" /> },
  { name: 'Event', width: 148, cell: ({ name }) => <span class="cut">{humanize(name)}</span> },
  {
    name: 'What happened',
    place: 'a1',
    cell: ({ body, deliveries, name, callId }) => {
      const text = body === null ? (deliveries[0]?.subject ?? humanize(name)) : describeEvent(body)
      return callId === null ? (
        <span class="cut key" title={text}>
          <bdi>{text}</bdi>
        </span>
      ) : (
        <a
          class="cut"
          href={routeHref('calls', callId)}
          title={text}
          // A narrow list has no column for the event.
          data-event={text === humanize(name) ? undefined : humanize(name)}
        >
          <bdi>{text}</bdi>
        </a>
      )
    },
  },
  {
    name: 'Deliveries',
    width: '37%',
    place: 'b1',
    isEnd: true,
    cell: ({ deliveries, at, name }) =>
      deliveries.length === 0 ? (
        <span class="dim">{describeNoDeliveries(webhooks, name, serverNowMs() - Date.parse(at))}</span>
      ) : (
        <SentList deliveries={deliveries} />
      ),
  },
]

function describeEvent(body: EventBody): string {
  if (!isOfCall(body)) return phraseOf(body)
  const { data } = body
  if ('by' in data) return data.by === null ? '' : formatParty(data.by)
  if ('stage' in data) return formatStage(data.stage)
  if ('transfer' in data) return formatTransfer(data.transfer)
  const parties = `${formatParty(data.call.from)} → ${formatParty(data.call.to)}`
  return data.call.result === null ? parties : `${parties}: ${humanize(data.call.result)}`
}
