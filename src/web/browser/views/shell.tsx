import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { request } from '../lib/api.ts'
import { link, overview } from '../lib/connection.ts'
import { place, placeHref } from '../lib/router.ts'
import { dropToken } from '../lib/session.ts'
import { useCell } from '../lib/state.ts'
import { Icon, type IconName, Mark } from '../parts/icon.tsx'
import { Account } from './account.tsx'
import { CallDetail } from './call-detail.tsx'
import { CallList } from './call-list.tsx'
import { DeliveryDetailView } from './delivery-detail.tsx'
import { DeliveryList } from './delivery-list.tsx'
import { LiveView } from './live.tsx'
import { ThemeSwitch } from './theme-switch.tsx'
import { WebhooksView } from './webhooks.tsx'

type Entry = { view: string; title: string; icon: IconName; list: () => VNode; detail?: (id: string) => VNode }

const VIEWS: readonly [Entry, ...Entry[]] = [
  { view: 'live', title: 'Live', icon: 'live', list: () => <LiveView /> },
  { view: 'webhooks', title: 'Webhooks', icon: 'webhooks', list: () => <WebhooksView /> },
  {
    view: 'deliveries',
    title: 'Deliveries',
    icon: 'deliveries',
    list: () => <DeliveryList />,
    detail: (id) => <DeliveryDetailView key={id} id={id} />,
  },
  {
    view: 'calls',
    title: 'Calls',
    icon: 'calls',
    list: () => <CallList />,
    detail: (id) => <CallDetail key={id} id={id} />,
  },
]

export function Shell() {
  const here = useCell(place)
  const [account, setAccount] = useState(false)
  const main = useRef<HTMLElement>(null)
  const entry = VIEWS.find(({ view }) => view === here.view) ?? VIEWS[0]
  const shown = `${entry.view}/${here.id ?? ''}`
  const first = useRef(true)
  useEffect(() => {
    document.title = `${entry.title} · Hookswitch`
    // A new view begins at its top, and a screen reader goes on from there; the very first one does not steal the focus.
    if (!first.current) main.current?.focus({ preventScroll: true })
    first.current = false
    scrollTo(0, 0)
  }, [shown])
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header class="rail">
        <a class="brand" href={placeHref('live')} aria-label="Hookswitch, live view">
          <Mark />
          <span>Hookswitch</span>
        </a>
        <nav aria-label="Views">
          {VIEWS.map(({ view, title, icon }) => (
            <a key={view} href={placeHref(view)} {...(view === entry.view ? { 'aria-current': 'page' as const } : {})}>
              <Icon name={icon} />
              <span>{title}</span>
              <Sign view={view} />
            </a>
          ))}
        </nav>
        <div class="rail-foot">
          <LinkState />
          <a class="rail-link" href="/docs" target="_blank" rel="noopener">
            <Icon name="book" />
            <span>API docs</span>
          </a>
          <button type="button" class="rail-link" onClick={() => setAccount(true)}>
            <Icon name="user" />
            <span>Account</span>
          </button>
          <button type="button" class="rail-link" onClick={logOut}>
            <Icon name="exit" />
            <span>Log out</span>
          </button>
          <ThemeSwitch />
        </div>
      </header>
      <main id="content" ref={main} tabIndex={-1}>
        {here.id !== null && entry.detail !== undefined ? entry.detail(here.id) : entry.list()}
      </main>
      {account ? <Account onClose={() => setAccount(false)} /> : null}
    </div>
  )
}

async function logOut(): Promise<void> {
  await request('POST', '/auth/logout')
  dropToken(null)
}

/** What stands beside a view's name: how many calls are up, how many webhooks are down. */
function Sign({ view }: { view: string }) {
  const seen = useCell(overview)
  if (seen === null) return null
  const down = seen.webhooks.filter((webhook) => webhook.down_since !== null).length
  if (view === 'webhooks' && down > 0)
    return (
      <b class="sign bad">
        {down}
        <span class="hidden"> down</span>
      </b>
    )
  return null
}

function LinkState() {
  const state = useCell(link)
  const text = { connecting: 'Connecting…', up: 'Connected', lost: 'Reconnecting…' }[state]
  return (
    <p class={`link ${state}`} role="status">
      <i class="dot" aria-hidden="true" />
      {text}
    </p>
  )
}
