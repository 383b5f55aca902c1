import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Menulist, Search } from '../../components/choice.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { ConfirmDialog, Drawer } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Icon } from '../../components/icon.tsx'
import { Menu, type MenuItem } from '../../components/menu.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { showToast } from '../../components/toast.tsx'
import { errorText, request } from '../../lib/api.ts'
import { pickFilters } from '../../lib/filters.ts'
import { formatAgo, formatDateTime } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import { type Person, usePeople } from '../../lib/people.ts'
import { currentRoute, replaceRoute, routeHref } from '../../lib/router.ts'
import { serverNowMs } from '../../lib/server-clock.ts'
import { useUser } from '../../lib/user.ts'
import { PersonDrawer } from './person-drawer.tsx'

const FILTERS = ['q', 'account'] as const
type Filters = Partial<Record<(typeof FILTERS)[number], string>>

/** Shows the people who can log in, and adds, changes and removes them. */
export function UserList({ tabs }: { tabs: VNode }) {
  const filters: Filters = pickFilters(useObservable(currentRoute).query, FILTERS)
  const { people, reload } = usePeople()
  const me = useUser()
  const [edited, setEdited] = useState<Person | 'new' | null>(null)
  const [removing, setRemoving] = useState<Person | null>(null)
  const [invited, setInvited] = useState<Invitation | null>(null)
  const accounts = [...new Set(people?.map(({ account }) => account))].sort()
  const shown = people?.filter((one) => matches(one, filters)) ?? null
  const set = (changes: Filters) =>
    replaceRoute(routeHref('people', null, { ...pickFilters(currentRoute.get().query, FILTERS), ...changes }))
  const act = async (path: string, said: string) => {
    const response = await request<Invitation>('POST', path)
    if (!response.ok) return showToast('bad', errorText(response))
    if ('link' in response.result) setInvited(response.result)
    else showToast('good', said)
    reload()
  }
  const itemsOf = (person: Person): MenuItem[] => [
    { text: 'Change', icon: 'options', onChoose: () => setEdited(person) },
    {
      text: 'Link for a new password',
      icon: 'key',
      onChoose: () => void act(`/user/${person.id}/link`, ''),
    },
    {
      text: 'Log out everywhere',
      icon: 'exit',
      onChoose: () =>
        void act(`/user/${person.id}/logout`, `${person.name} is logged out, and all API tokens are revoked.`),
    },
    { text: 'Remove…', icon: 'trash', isDanger: true, isApart: true, onChoose: () => setRemoving(person) },
  ]
  return (
    <div class="view list">
      <header class="head">
        <h1>People</h1>
        <div class="actions push">
          <button type="button" class="button primary" onClick={() => setEdited('new')}>
            <Icon name="plus" />
            Add a person
          </button>
        </div>
      </header>
      {tabs}
      <search class="bar" aria-label="Filter the people">
        <Search label="Name, e-mail or account" value={filters.q ?? ''} onChange={(q) => set({ q })} />
        {accounts.length < 2 ? null : (
          <div class="bar-more">
            <Menulist
              label="Account"
              value={filters.account ?? ''}
              options={[['', 'Any account'], ...accounts.map((name) => [name, name] as const)]}
              onChange={(account) => set({ account })}
            />
          </div>
        )}
      </search>
      {shown?.length === 0 ? (
        <EmptyState icon="people" title="Nobody is like that">
          <p class="actions">
            <a class="button" href={routeHref('people')}>
              Show all
            </a>
          </p>
        </EmptyState>
      ) : (
        <Table
          label="People"
          items={shown}
          columns={columnsOf(me?.id ?? null, setEdited, itemsOf)}
          keyOf={({ id }) => String(id)}
        />
      )}
      {edited === null ? null : (
        <PersonDrawer
          person={edited === 'new' ? null : edited}
          accounts={accounts}
          onSaved={(saved) => {
            setEdited(null)
            if (saved.link !== undefined) setInvited({ name: saved.name, link: saved.link })
            reload()
          }}
          onClose={() => setEdited(null)}
        />
      )}
      {invited === null ? null : <InvitationDrawer invitation={invited} onClose={() => setInvited(null)} />}
      {removing === null ? null : (
        <ConfirmRemoval person={removing} onRemoved={reload} onClose={() => setRemoving(null)} />
      )}
    </div>
  )
}

function matches({ name, email, account }: Person, { q = '', account: only = '' }: Filters): boolean {
  return (only === '' || account === only) && `${name} ${email} ${account}`.toLowerCase().includes(q.toLowerCase())
}

const columnsOf = (
  myId: number | null,
  onEdit: (person: Person) => void,
  itemsOf: (person: Person) => MenuItem[],
): Column<Person>[] => [
  {
    name: 'Name',
    width: '27%',
    place: 'a1',
    cell: (person) => (
      <span class="cut">
        <button type="button" class="bare" onClick={() => onEdit(person)}>
          <bdi>{person.name}</bdi>
        </button>
        {person.id === myId ? <span class="dim"> you</span> : null}
      </span>
    ),
  },
  {
    name: 'E-mail',
    place: 'b1',
    cell: ({ email }) => (
      <span class="cut" title={email}>
        {email}
      </span>
    ),
  },
  { name: 'Role', width: 130, place: 'a2', cell: ({ type }) => (type === 'ADMIN' ? 'administrator' : 'user') },
  {
    name: 'Account',
    width: '18%',
    place: 'b2',
    cell: ({ account }) => (
      <span class="cut" title={account}>
        {account}
      </span>
    ),
  },
  { name: 'Last log-in', width: 150, isEnd: true, cell: (person) => lastLogIn(person) },
  {
    name: 'Actions',
    isNameHidden: true,
    width: 52,
    place: 'menu',
    cell: (person) => <Menu label={`More for ${person.name}`} items={itemsOf(person)} />,
  },
]

function lastLogIn({ last_login_at: at, invited_until: until }: Person): string {
  if (at !== null) return formatAgo(at, serverNowMs())
  return until === null ? 'never' : `invited until ${formatDateTime(until, serverNowMs())}`
}

/** A link with which a person chooses a password. */
type Invitation = { readonly name: string; readonly link: string }

function InvitationDrawer({ invitation: { name, link }, onClose }: { invitation: Invitation; onClose: () => void }) {
  return (
    <Drawer title={`A link for ${name}`} onClose={onClose}>
      <div class="drawer-body">
        <div class="part">
          <p>
            With this link <bdi>{name}</bdi> chooses a password, once and within 3 days. Send it in a way that nobody
            else reads. It is not shown again.
          </p>
          <CodeBlock text={link} label="the link" />
        </div>
      </div>
      <div class="drawer-foot">
        <span class="push" />
        <button type="button" class="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Drawer>
  )
}

function ConfirmRemoval({
  person,
  onRemoved,
  onClose,
}: {
  person: Person
  onRemoved: () => void
  onClose: () => void
}) {
  const remove = async () => {
    onClose()
    const response = await request('DELETE', `/user/${person.id}`)
    if (response.ok) showToast('good', `${person.name} is removed.`)
    else showToast('bad', errorText(response))
    onRemoved()
  }
  return (
    <ConfirmDialog
      title={`Remove ${person.name}?`}
      text={`${person.email} can no longer log in, and its sessions and API tokens end at once. What the account ${person.account} has stays.`}
      action="Remove"
      danger
      onConfirm={() => void remove()}
      onClose={onClose}
    />
  )
}
