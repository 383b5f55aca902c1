import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Icon, type IconName, Logo } from '../components/icon.tsx'
import { ThemeSwitch } from '../components/theme-switch.tsx'
import { connectionState, overview } from '../lib/connection.ts'
import { logOut } from '../lib/log-out.ts'
import { useObservable } from '../lib/observable.ts'
import { currentRoute, routeHref } from '../lib/router.ts'
import { useIsAdmin } from '../lib/user.ts'
import { AccountView } from './account/account-view.tsx'
import { AuditView } from './account/audit-view.tsx'
import { CallDetail } from './calls/call-detail.tsx'
import { CallList } from './calls/call-list.tsx'
import { DeliveryDetailView } from './deliveries/delivery-detail.tsx'
import { DeliveryList } from './deliveries/delivery-list.tsx'
import { LiveView } from './live/live-view.tsx'
import { ConnectView } from './pbxs/connect-view.tsx'
import { PbxEdit } from './pbxs/pbx-edit.tsx'
import { PbxsView } from './pbxs/pbxs-view.tsx'
import { PhonesView } from './phones/phones-view.tsx'
import { WebhooksView } from './webhooks/webhooks-view.tsx'

type View = { name: string; title: string; icon: IconName; list: () => VNode; detail?: (id: string) => VNode }

const VIEWS: readonly [View, ...View[]] = [
  { name: 'live', title: 'Live', icon: 'live', list: () => <LiveView /> },
  { name: 'webhooks', title: 'Webhooks', icon: 'webhooks', list: () => <WebhooksView /> },
  {
    name: 'deliveries',
    title: 'Deliveries',
    icon: 'deliveries',
    list: () => <DeliveryList />,
    detail: (id) => <DeliveryDetailView key={id} id={id} />,
  },
  {
    name: 'calls',
    title: 'Calls',
    icon: 'calls',
    list: () => <CallList />,
    detail: (id) => <CallDetail key={id} id={id} />,
  },
  { name: 'phones', title: 'Phones', icon: 'phone', list: () => <PhonesView /> },
]
const PBXS: View = {
  name: 'pbxs',
  title: 'PBXs',
  icon: 'pbx',
  list: () => <PbxsView />,
  detail: (name) => <PbxEdit key={name} name={name} />,
}
const CONNECT: View = { name: 'connect', title: 'Connect a PBX', icon: 'pbx', list: () => <ConnectView /> }
const AUDIT: View = { name: 'audit', title: 'Audit trail', icon: 'clock', list: () => <AuditView /> }
const ACCOUNT: View = { name: 'account', title: 'Account', icon: 'user', list: () => <AccountView /> }

/** Shows the frame of the page, with the navigation and the view that is open. */
export function AppShell() {
  const route = useObservable(currentRoute)
  const main = useRef<HTMLElement>(null)
  const isAdmin = useIsAdmin()
  const view = [...VIEWS, PBXS, CONNECT, ACCOUNT, AUDIT].find(({ name }) => name === route.view) ?? VIEWS[0]
  const isFirst = useRef(true)
  useLayoutEffect(() => {
    document.title = `${view.title} · Hookswitch`
    // A screen reader goes on at the top of the new view; the first one must not steal the focus.
    if (!isFirst.current) main.current?.focus({ preventScroll: true })
    isFirst.current = false
    scrollTo(0, 0)
  }, [view, route.id])
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header class="sidebar">
        <a class="brand" href={routeHref('live')} aria-label="Hookswitch, live view">
          <Logo />
          <span>Hookswitch</span>
        </a>
        <nav aria-label="Views">
          {[...VIEWS, ...(isAdmin ? [PBXS] : [])].map(({ name, title, icon }) => (
            <a key={name} href={routeHref(name)} {...current(name, view)}>
              <Icon name={icon} />
              <span>{title}</span>
              {name === 'webhooks' ? <DownCount /> : null}
            </a>
          ))}
        </nav>
        <div class="sidebar-foot">
          <ConnectionStatus />
          <a class="sidebar-link" href="/help" target="_blank" rel="noopener">
            <Icon name="help" />
            <span>Help</span>
          </a>
          <a class="sidebar-link" href="/docs" target="_blank" rel="noopener">
            <Icon name="book" />
            <span>API docs</span>
          </a>
          <a class="sidebar-link" href={routeHref('account')} {...current('account', view)}>
            <Icon name="user" />
            <span>Account</span>
          </a>
          <button type="button" class="sidebar-link log-out" onClick={logOut}>
            <Icon name="exit" />
            <span>Log out</span>
          </button>
          <ThemeSwitch />
        </div>
      </header>
      <main id="content" ref={main} tabIndex={-1}>
        {route.id !== null && view.detail !== undefined ? view.detail(route.id) : view.list()}
      </main>
    </div>
  )
}

/** Returns the attribute that marks the link to the view that is open. */
function current(name: string, view: View): { 'aria-current'?: 'page' } {
  return name === view.name ? { 'aria-current': 'page' } : {}
}

/** Shows how many webhooks are down or refuse, if any. */
function DownCount() {
  const now = useObservable(overview)
  const down = (now?.webhooks ?? []).filter((one) => one.down_since !== null || one.refusing_since !== null).length
  if (down === 0) return null
  return (
    <b class="nav-count">
      {down}
      <span class="visually-hidden"> down or refusing</span>
    </b>
  )
}

function ConnectionStatus() {
  const state = useObservable(connectionState)
  const text = { connecting: 'Connecting…', up: 'Up to date', lost: 'Reconnecting…' }[state]
  return (
    <p
      class={`connection ${state}`}
      role="status"
      title="Whether this page gets changes from the service as they happen; PBXs have their own state"
    >
      <i class="dot" aria-hidden="true" />
      {text}
    </p>
  )
}
