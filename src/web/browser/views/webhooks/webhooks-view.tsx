import { useState } from 'preact/hooks'
import { EVENT_NAMES } from '../../../../events/kinds.ts'
import { isMqttUrl } from '../../../../outbound/mqtt-url.ts'
import { Menulist, Search, Tabs } from '../../components/choice.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Icon } from '../../components/icon.tsx'
import { Menu } from '../../components/menu.tsx'
import { SetUpPart } from '../../components/set-up-part.tsx'
import { State } from '../../components/state.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { showToast } from '../../components/toast.tsx'
import { WebhookAddress } from '../../components/webhook-label.tsx'
import { overview } from '../../lib/connection.ts'
import { pickFilters } from '../../lib/filters.ts'
import { formatAgo, formatPendingCount, humanize } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import type { WebhookHealth } from '../../lib/resources.ts'
import { currentRoute, navigate, replaceRoute, routeHref } from '../../lib/router.ts'
import { serverNowMs } from '../../lib/server-clock.ts'
import { removeWebhook, setPaused } from '../../lib/webhook-requests.ts'
import {
  describeEvents,
  describeLast,
  troubleSince,
  webhookKey,
  webhookName,
  webhookState,
} from '../../lib/webhook-state.ts'
import { AddWebhook } from './add-webhook.tsx'
import { WebhookDrawer } from './webhook-drawer.tsx'

const FILTERS = ['q', 'event', 'state'] as const
type Filters = Partial<Record<(typeof FILTERS)[number], string>>

/** Whether a webhook belongs under a tab. */
const TABS: Readonly<Record<string, (webhook: WebhookHealth) => boolean>> = {
  '': () => true,
  trouble: (one) => troubleSince(one) !== null,
  pending: ({ pending }) => pending > 0,
  paused: ({ paused }) => paused,
  filtered: ({ filtered }) => filtered,
}
const TAB_TEXTS = { '': 'All', trouble: 'Trouble', pending: 'Pending', paused: 'Paused', filtered: 'Filtered' } as const

/** Shows the webhooks, those with trouble first. `id`: the one whose drawer is open. */
export function WebhooksView({ id }: { id: string | null }) {
  const now = useObservable(overview)
  const filters: Filters = pickFilters(useObservable(currentRoute).query, FILTERS)
  const [removing, setRemoving] = useState<WebhookHealth | null>(null)
  const [looksUp, setLooksUp] = useState(false)
  const hrefOf = (key: string | null) => routeHref('webhooks', key, filters)
  const setFilter = (name: keyof Filters, value: string) =>
    // A docked drawer stays open.
    replaceRoute(routeHref('webhooks', id, { ...pickFilters(currentRoute.get().query, FILTERS), [name]: value }))
  const all = now?.webhooks ?? null
  const found = all?.filter((one) => matches(one, filters)) ?? null
  const shown = found?.filter(TABS[filters.state ?? ''] ?? (() => true)).toSorted(troubledFirst) ?? null
  const open = all?.find((one) => webhookKey(one) === id)
  const close = () => navigate(hrefOf(null))
  return (
    <div class="view list">
      <header class="head">
        <h1>Webhooks</h1>
        {all === null || shown === null || all.length === 0 ? null : (
          <p>{shown.length === all.length ? all.length : `${shown.length} of ${all.length}`}</p>
        )}
        <div class="actions push">
          <button type="button" class="button" onClick={() => setLooksUp(true)}>
            Look up callers
          </button>
          <a class="button primary" href={hrefOf('new')}>
            <Icon name="plus" />
            <span>
              Add<span class="wide-only"> webhook</span>
            </span>
          </a>
        </div>
      </header>
      {all?.length === 0 ? (
        <NoWebhooks />
      ) : (
        <>
          <search class="bar" aria-label="Filter the webhooks">
            <Search label="Name, address or event" value={filters.q ?? ''} onChange={(q) => setFilter('q', q)} />
            <div class="bar-more">
              <Menulist
                label="Event"
                value={filters.event ?? ''}
                options={[['', 'Any event'], ...EVENT_NAMES.map((name) => [name, humanize(name)] as const)]}
                onChange={(event) => setFilter('event', event)}
              />
            </div>
          </search>
          <Tabs
            label="State"
            value={filters.state ?? ''}
            tabs={Object.entries(TAB_TEXTS).map(([value, text]) => ({
              value,
              text,
              count: found === null ? null : found.filter(TABS[value] ?? (() => true)).length,
              isBad: value === 'trouble',
            }))}
            onChange={(state) => setFilter('state', state)}
          />
          {shown?.length === 0 ? (
            <EmptyState icon="filter" title="No webhook is like that">
              <p class="actions">
                <a class="button" href={routeHref('webhooks')}>
                  Show all
                </a>
              </p>
            </EmptyState>
          ) : (
            <Table
              label="Webhooks"
              items={shown}
              columns={columnsOf(setRemoving)}
              keyOf={webhookKey}
              hrefOf={(one) => hrefOf(webhookKey(one))}
              isCurrent={(one) => webhookKey(one) === id}
            />
          )}
        </>
      )}
      {id === null ? null : id === 'new' ? (
        <AddWebhook onClose={close} />
      ) : open === undefined ? (
        all === null ? null : (
          <ErrorMessage text="This webhook is not in the list. Perhaps it was removed, or has another address now." />
        )
      ) : (
        <WebhookDrawer key={id} webhook={open} onRemove={() => setRemoving(open)} onClose={close} />
      )}
      {looksUp ? (
        <SetUpPart>{({ ContactsDialog }) => <ContactsDialog onClose={() => setLooksUp(false)} />}</SetUpPart>
      ) : null}
      {removing === null ? null : (
        <ConfirmRemoval
          webhook={removing}
          copies={all?.filter(({ url }) => url === removing.url).length ?? 1}
          onRemoved={() => {
            if (id !== null) close()
          }}
          onClose={() => setRemoving(null)}
        />
      )}
    </div>
  )
}

function matches(webhook: WebhookHealth, { q = '', event = '' }: Filters): boolean {
  if (event !== '' && !webhook.events.some((name) => name === event)) return false
  const text = `${webhookName(webhook)} ${webhookKey(webhook)} ${webhook.events.map(humanize).join(' ')}`
  return text.toLowerCase().includes(q.toLowerCase())
}

function troubledFirst(one: WebhookHealth, other: WebhookHealth): number {
  const rank = (webhook: WebhookHealth) => (troubleSince(webhook) === null ? 1 : 0)
  return rank(one) - rank(other) || webhookName(one).localeCompare(webhookName(other), 'en')
}

const columnsOf = (onRemove: (webhook: WebhookHealth) => void): Column<WebhookHealth>[] => [
  {
    name: 'State',
    width: 104,
    place: 'b2',
    cell: (one) => {
      const { tone, text } = webhookState(one, serverNowMs())
      return <State tone={tone}>{text}</State>
    },
  },
  {
    name: 'Name',
    width: '20%',
    place: 'a1',
    cell: (one) => (
      <a class="cut" href={routeHref('webhooks', webhookKey(one))} title={webhookName(one)}>
        <bdi>{webhookName(one)}</bdi>
      </a>
    ),
  },
  {
    name: 'Address',
    place: 'b1',
    cell: (one) => <WebhookAddress url={one.url} beside={` · ${describeEvents(one.events)}`} />,
  },
  {
    name: 'Gets',
    width: '16%',
    cell: (one) => (
      <span class="cut" title={describeEvents(one.events)}>
        {describeEvents(one.events)}
        {one.filtered ? <span class="dim"> · filtered</span> : null}
      </span>
    ),
  },
  { name: 'Last answer', width: '16.5%', cell: (one) => <LastAnswer webhook={one} /> },
  {
    name: 'Pending',
    width: 68,
    place: 'a2',
    isEnd: true,
    cell: ({ pending, paused }) => (
      <span class={pending === 0 ? 'hidden' : paused ? '' : 'warn'}>{formatPendingCount(pending)}</span>
    ),
  },
  {
    name: 'Actions',
    isNameHidden: true,
    width: 36,
    place: 'menu',
    cell: (one) => <WebhookMenu webhook={one} onRemove={() => onRemove(one)} />,
  },
]

function LastAnswer({ webhook: { last, url } }: { webhook: WebhookHealth }) {
  if (last === null) return <span class="dim">none yet</span>
  const isBad = last.error !== null || (last.status !== null && last.status >= 300)
  const text = last.status ?? (last.error === null ? 'accepted' : isMqttUrl(url) ? 'refused' : 'no answer')
  return (
    <span class="cut" title={describeLast(last)}>
      <span class={isBad ? 'bad' : ''}>{text}</span> <span class="dim">· {formatAgo(last.at, serverNowMs())}</span>
    </span>
  )
}

type WebhookMenuProps = { webhook: WebhookHealth; onRemove: () => void }

function WebhookMenu({ webhook, onRemove }: WebhookMenuProps) {
  const { url, paused } = webhook
  const pause = async () => {
    const error = await setPaused(url, !paused)
    if (error !== null) showToast('bad', error)
    else
      showToast(
        'good',
        paused ? 'Resumed: what has waited is sent in order.' : 'Paused: deliveries wait, and do not expire.',
      )
  }
  return (
    <Menu
      label={`More for ${webhookName(webhook)}`}
      items={[
        { text: 'Open', icon: 'options', onChoose: () => navigate(routeHref('webhooks', webhookKey(webhook))) },
        {
          text: 'Its deliveries',
          icon: 'deliveries',
          onChoose: () => navigate(routeHref('deliveries', null, { webhook: webhookKey(webhook) })),
        },
        { text: paused ? 'Resume' : 'Pause', icon: paused ? 'play' : 'pause', onChoose: () => void pause() },
        { text: 'Remove…', icon: 'trash', isDanger: true, isApart: true, onChoose: onRemove },
      ]}
    />
  )
}

type ConfirmRemovalProps = {
  webhook: WebhookHealth
  /** How often the list has its address. */
  copies: number
  onRemoved: () => void
  onClose: () => void
}

function ConfirmRemoval({ webhook, copies, onRemoved, onClose }: ConfirmRemovalProps) {
  const { url, pending } = webhook
  const remove = async () => {
    onClose()
    const error = await removeWebhook(url)
    if (error !== null) return showToast('bad', error)
    showToast('good', `${webhookName(webhook)} is removed.`)
    onRemoved()
  }
  const all = copies > 1 ? ` Its address is in the list ${copies} times: all of them are removed.` : ''
  return (
    <ConfirmDialog
      title={`Remove ${webhookName(webhook)}?`}
      text={`${pending === 0 ? 'It gets no more events.' : `It gets no more events, and its ${formatPendingCount(pending)} pending deliveries are cancelled.`} Its secret and options are kept for a year, in case it is added again.${all}`}
      action="Remove"
      danger
      onConfirm={() => void remove()}
      onClose={onClose}
    />
  )
}

function NoWebhooks() {
  return (
    <EmptyState icon="webhooks" title="No webhooks yet">
      <p>Add the address of your CRM, chat, bot or monitoring: it gets a signed POST for each event that you choose.</p>
      <p class="actions">
        <a class="button primary" href={routeHref('webhooks', 'new')}>
          <Icon name="plus" />
          Add webhook
        </a>
      </p>
      <p>
        To try it without a receiver, run <code class="nowrap">hookswitch listen --port 9000</code> and add{' '}
        <code>http://127.0.0.1:9000/</code>: it prints what it receives.
      </p>
    </EmptyState>
  )
}
