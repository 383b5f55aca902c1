import { Tabs } from '../../components/choice.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { navigate, routeHref } from '../../lib/router.ts'
import { useIsAdmin } from '../../lib/user.ts'
import { AccountList } from './account-list.tsx'
import { AuditTrail } from './audit-trail.tsx'
import { UserList } from './user-list.tsx'

const TABS = [
  { value: '', text: 'People' },
  { value: 'accounts', text: 'Accounts' },
  { value: 'audit', text: 'Audit trail' },
] as const

/** Shows administrators the people, the accounts and who changed what. `tab`: which of them. */
export function PeopleView({ tab }: { tab: string | null }) {
  const isAdmin = useIsAdmin()
  const chosen = TABS.find(({ value }) => value === tab)?.value ?? ''
  if (isAdmin === false)
    return (
      <div class="view">
        <header class="head">
          <h1>People</h1>
        </header>
        <EmptyState icon="people" title="Only administrators see the people">
          <p>Ask the operator of this service.</p>
        </EmptyState>
      </div>
    )
  const tabs = (
    <Tabs
      label="What is shown"
      value={chosen}
      tabs={TABS}
      onChange={(value) => navigate(routeHref('people', value === '' ? null : value))}
    />
  )
  if (chosen === 'accounts') return <AccountList tabs={tabs} />
  return chosen === 'audit' ? <AuditTrail tabs={tabs} /> : <UserList tabs={tabs} />
}
