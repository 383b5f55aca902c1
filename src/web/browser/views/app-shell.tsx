import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { version } from '../../../../package.json'
import { Icon, type IconName, Logo } from '../components/icon.tsx'
import { Menu, type MenuItem } from '../components/menu.tsx'
import { loadSetUp, SetUpPart } from '../components/set-up-part.tsx'
import { connectionState, overview } from '../lib/connection.ts'
import { logOut } from '../lib/log-out.ts'
import { useObservable } from '../lib/observable.ts'
import { isDisconnected } from '../lib/problems.ts'
import { currentRoute, navigate, routeHref } from '../lib/router.ts'
import { THEMES, theme } from '../lib/theme.ts'
import { useIsAdmin, useUser } from '../lib/user.ts'
import { troubleSince } from '../lib/webhook-state.ts'
import { CallDetail } from './calls/call-detail.tsx'
import { CallDrawer } from './calls/call-drawer.tsx'
import { CallList } from './calls/call-list.tsx'
import { DeliveryDetailView } from './deliveries/delivery-detail.tsx'
import { DeliveryList } from './deliveries/delivery-list.tsx'
import { LiveView } from './live/live-view.tsx'
import { PhonesView } from './phones/phones-view.tsx'
import { WebhooksView } from './webhooks/webhooks-view.tsx'

type View = {
  readonly name: string
  readonly title: string
  readonly icon: IconName
  readonly isForAdmins?: boolean
  readonly show: (id: string | null) => VNode
}

const LIVE: View = { name: 'live', title: 'Live', icon: 'live', show: () => <LiveView /> }
const CALLS: View = {
  name: 'calls',
  title: 'Calls',
  icon: 'calls',
  show: (id) => (id === null ? <CallList /> : <CallDetail key={id} id={id} />),
}
const PHONES: View = { name: 'phones', title: 'Phones & queues', icon: 'phone', show: (id) => <PhonesView tab={id} /> }
const WEBHOOKS: View = { name: 'webhooks', title: 'Webhooks', icon: 'webhooks', show: (id) => <WebhooksView id={id} /> }
const DELIVERIES: View = {
  name: 'deliveries',
  title: 'Deliveries',
  icon: 'deliveries',
  show: (id) => (id === null ? <DeliveryList /> : <DeliveryDetailView key={id} id={id} />),
}
const PBXS: View = {
  name: 'pbxs',
  title: 'PBXs',
  icon: 'pbx',
  isForAdmins: true,
  show: (id) => (
    <SetUpPart>{({ PbxsView, PbxEdit }) => (id === null ? <PbxsView /> : <PbxEdit key={id} name={id} />)}</SetUpPart>
  ),
}
const PEOPLE: View = {
  name: 'people',
  title: 'People',
  icon: 'people',
  isForAdmins: true,
  show: (id) => <SetUpPart>{({ PeopleView }) => <PeopleView tab={id} />}</SetUpPart>,
}
const ACCOUNT: View = {
  name: 'account',
  title: 'Your account',
  icon: 'user',
  show: () => <SetUpPart>{({ AccountView }) => <AccountView />}</SetUpPart>,
}
const MORE: View = { name: 'more', title: 'More', icon: 'list', show: () => <MoreView /> }

const GROUPS = [
  { label: 'Calls', views: [LIVE, CALLS, PHONES] },
  { label: 'Events', views: [WEBHOOKS, DELIVERIES] },
  { label: 'Set-up', views: [PBXS, PEOPLE] },
] as const
/** The bar of a phone; everything else is under More. */
const BAR = [LIVE, CALLS, WEBHOOKS, DELIVERIES, MORE] as const

const OTHERS: readonly View[] = [
  {
    name: 'connect',
    title: 'Connect a PBX',
    icon: 'pbx',
    show: () => <SetUpPart>{({ ConnectView }) => <ConnectView />}</SetUpPart>,
  },
  ACCOUNT,
  MORE,
]
const NOWHERE: View = { name: 'nowhere', title: 'Not found', icon: 'help', show: () => <Nowhere /> }
const ALL = [...GROUPS.flatMap(({ views }) => views), ...OTHERS]

/** Shows the frame of the page, with the navigation and the view that is open. */
export function AppShell() {
  const route = useObservable(currentRoute)
  const state = useObservable(connectionState)
  const main = useRef<HTMLElement>(null)
  const view = ALL.find(({ name }) => name === route.view) ?? NOWHERE
  // A drawer opens over its list: the list stays where it is.
  const place = view === WEBHOOKS ? null : route.id
  const isFirst = useRef(true)
  useEffect(() => {
    // Loaded before somebody opens a view for setting up, and after the first view of the page.
    if (state === 'up') void loadSetUp().catch(() => undefined)
  }, [state])
  useLayoutEffect(() => {
    document.title = `${view.title} · Hookswitch`
    // A screen reader goes on at the top of the new view; the first one must not steal the focus.
    if (!isFirst.current) main.current?.focus({ preventScroll: true })
    isFirst.current = false
    scrollTo(0, 0)
  }, [view, place])
  return (
    <div class="shell" data-connection={state}>
      <button type="button" class="skip button" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header class="side">
        <a class="brand" href={routeHref('live')} aria-label={`Hookswitch ${version}, live view`}>
          <Logo />
          Hookswitch <small>{version}</small>
        </a>
        <Navigation view={view} />
        <div class="side-foot">
          <a class="nav-item" href="/help" target="_blank" rel="noopener">
            <Icon name="help" />
            <span>Help and API</span>
          </a>
          <AccountMenu />
        </div>
      </header>
      <main id="content" ref={main} tabIndex={-1}>
        <NotLive />
        {view.show(route.id)}
        <CallDrawer />
      </main>
      <nav class="bottom" aria-label="Views">
        {BAR.map((one) => (
          <a key={one.name} href={routeHref(one.name)} {...current(one === view || (one === MORE && !isInBar(view)))}>
            <Icon name={one.icon} />
            <span>{one.title}</span>
            <TroubleCount of={one === MORE ? 'pbxs' : one.name} />
          </a>
        ))}
      </nav>
    </div>
  )
}

const isInBar = (view: View): boolean => BAR.some((one) => one === view)

function Navigation({ view }: { view: View }) {
  const isAdmin = useIsAdmin()
  return (
    <>
      {GROUPS.map(({ label, views }) => {
        const shown = views.filter((one) => one.isForAdmins !== true || isAdmin)
        if (shown.length === 0) return null
        return (
          <nav key={label} aria-label={label}>
            {shown.map((one) => (
              <NavItem key={one.name} view={one} isCurrent={one === view} />
            ))}
          </nav>
        )
      })}
    </>
  )
}

function NavItem({ view: { name, title, icon }, isCurrent }: { view: View; isCurrent: boolean }) {
  return (
    <a class="nav-item" href={routeHref(name)} {...current(isCurrent)}>
      <Icon name={icon} />
      <span>{title}</span>
      <TroubleCount of={name} />
    </a>
  )
}

/** Returns the attribute that marks the link to the view that is open. */
const current = (isCurrent: boolean): { 'aria-current'?: 'page' } => (isCurrent ? { 'aria-current': 'page' } : {})

/** Shows how many webhooks have trouble, or how many PBXs are not connected, if any. */
function TroubleCount({ of }: { of: string }) {
  const now = useObservable(overview)
  const count =
    of === 'webhooks'
      ? now?.webhooks.filter((one) => troubleSince(one) !== null).length
      : of === 'pbxs'
        ? now?.pbxs.filter(isDisconnected).length
        : 0
  if (count === undefined || count === 0) return null
  return (
    <span class="count bad push">
      {count}
      <span class="hidden">{of === 'pbxs' ? ' not connected' : ' with trouble'}</span>
    </span>
  )
}

/** Says that the page does not get changes from the service. */
function NotLive() {
  const state = useObservable(connectionState)
  return (
    <div role="status">
      {state === 'lost' ? (
        <p class="note warn not-live">
          <Icon name="alert" />
          Hookswitch does not answer: what you see may be out of date. Reconnecting…
        </p>
      ) : null}
    </div>
  )
}

const THEME_ICONS = { system: 'system', light: 'sun', dark: 'moon' } as const
const THEME_TEXTS = { system: 'Theme of the system', light: 'Light theme', dark: 'Dark theme' } as const

/** Returns the entries for the theme, the account and logging out. */
function useAccountItems(): readonly MenuItem[] {
  const chosen = useObservable(theme)
  return [
    { text: 'Password and sessions', icon: 'key', onChoose: () => navigate(routeHref('account')) },
    ...THEMES.map((name, at) => ({
      text: THEME_TEXTS[name],
      icon: THEME_ICONS[name],
      isChecked: chosen === name,
      isApart: at === 0,
      onChoose: () => theme.set(name),
    })),
    { text: 'Log out', icon: 'exit', isApart: true, onChoose: logOut },
  ]
}

function AccountMenu() {
  const user = useUser()
  const account = useObservable(overview)?.account
  const name = user?.name ?? ''
  return (
    <Menu label="Your account" styles="me" items={useAccountItems()}>
      <span class="avatar" aria-hidden="true">
        {initialsOf(name)}
      </span>
      <span class="cut">
        <bdi>{name}</bdi>
        <small class="cut">{account === undefined ? '' : `account ${account}`}</small>
      </span>
      <Icon name="choose" />
    </Menu>
  )
}

const initialsOf = (name: string): string =>
  name
    .split(/\s+/)
    .map((word) => [...word][0] ?? '')
    .slice(0, 2)
    .join('')
    .toUpperCase()

/** Shows, on a phone, the views that have no place in its bar. */
function MoreView() {
  const isAdmin = useIsAdmin()
  return (
    <div class="view">
      <header class="head">
        <h1>More</h1>
      </header>
      <nav class="more-list" aria-label="More">
        <NavItem view={PHONES} isCurrent={false} />
        {isAdmin ? <NavItem view={PBXS} isCurrent={false} /> : null}
        {isAdmin ? <NavItem view={PEOPLE} isCurrent={false} /> : null}
        <MoreLink href="/help" icon="help">
          Help
        </MoreLink>
        <MoreLink href="/docs" icon="book">
          API
        </MoreLink>
        {useAccountItems().map(({ text, icon, isChecked, onChoose }) => (
          <button key={text} type="button" class="nav-item" aria-pressed={isChecked} onClick={onChoose}>
            <Icon name={isChecked === true ? 'check' : (icon ?? 'user')} />
            <span>{text}</span>
          </button>
        ))}
      </nav>
    </div>
  )
}

function MoreLink({ href, icon, children }: { href: string; icon: IconName; children: ComponentChildren }) {
  return (
    <a class="nav-item" href={href} target="_blank" rel="noopener">
      <Icon name={icon} />
      <span>{children}</span>
    </a>
  )
}

function Nowhere() {
  return (
    <div class="view">
      <header class="head">
        <h1>There is no such view</h1>
      </header>
      <p class="soft">The address does not lead anywhere: perhaps the link is of another version.</p>
      <p class="actions">
        <a class="button" href={routeHref('live')}>
          Live
        </a>
      </p>
    </div>
  )
}
