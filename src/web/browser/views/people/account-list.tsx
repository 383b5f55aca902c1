import type { VNode } from 'preact'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { pluralize } from '../../lib/format.ts'
import { type Account, useAccounts } from '../../lib/people.ts'
import { routeHref } from '../../lib/router.ts'

/** Shows the accounts: each has its own people, webhooks and calls. */
export function AccountList({ tabs }: { tabs: VNode }) {
  return (
    <div class="view list">
      <header class="head">
        <h1>People</h1>
      </header>
      {tabs}
      <p class="soft">An account has its own people, webhooks and calls. It is made by its first person.</p>
      <Table
        label="Accounts"
        items={useAccounts()}
        columns={COLUMNS}
        keyOf={({ name }) => name}
        hrefOf={({ name }) => routeHref('people', null, { account: name })}
      />
    </div>
  )
}

const count = (name: string, pick: (account: Account) => number): Column<Account> => ({
  name,
  width: 110,
  isEnd: true,
  cell: (account) => pick(account).toLocaleString('en'),
})

const COLUMNS: readonly Column<Account>[] = [
  {
    name: 'Account',
    place: 'a1',
    cell: ({ name }) => (
      <a class="cut" href={routeHref('people', null, { account: name })} title={name}>
        {name}
      </a>
    ),
  },
  {
    name: 'People, webhooks and PBXs',
    isNameHidden: true,
    width: 1,
    place: 'b1',
    cell: ({ users, webhooks, pbxs }) => (
      <span class="in-row">
        {users === 1 ? '1 person' : `${users} people`}, {pluralize(webhooks, 'webhook')},{' '}
        {pluralize(pbxs, 'PBX', 'PBXs')}
      </span>
    ),
  },
  count('People', ({ users }) => users),
  count('Webhooks', ({ webhooks }) => webhooks),
  count('PBXs', ({ pbxs }) => pbxs),
  { name: 'Since', width: 170, place: 'a2', isEnd: true, cell: ({ created_at: at }) => <Time at={at} as="date" /> },
]
