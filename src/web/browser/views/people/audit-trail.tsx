import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { CodeBlock } from '../../components/code-block.tsx'
import { Drawer } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ListFoot, ListProblem } from '../../components/list-foot.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { dayHeading, formatExactTime } from '../../lib/format.ts'
import { usePagedList } from '../../lib/paged-list.ts'
import type { AuditEntry } from '../../lib/resources.ts'
import { serverNowMs } from '../../lib/server-clock.ts'

/** Shows administrators who changed what, the newest first. */
export function AuditTrail({ tabs }: { tabs: VNode }) {
  const list = usePagedList<AuditEntry>('/audit', {})
  const [open, setOpen] = useState<AuditEntry | null>(null)
  return (
    <div class="view list">
      <header class="head">
        <h1>People</h1>
      </header>
      {tabs}
      <p class="soft">Who changed what in webhooks, PBXs, people and settings in the last 400 days.</p>
      <ListProblem list={list} />
      {list.items?.length === 0 ? (
        <EmptyState icon="clock" title="No changes yet">
          <p>Each change over the API, on this page or with a command appears here.</p>
        </EmptyState>
      ) : list.items === null && list.error !== null ? null : (
        <Table
          label="Changes"
          items={list.items}
          columns={columnsOf(setOpen)}
          keyOf={(entry) => `${entry.time} ${entry.action} ${list.items?.indexOf(entry)}`}
          groupOf={({ time }) => dayHeading(time, serverNowMs())}
        />
      )}
      <ListFoot list={list} />
      {open === null ? null : <EntryDrawer entry={open} onClose={() => setOpen(null)} />}
    </div>
  )
}

const whoOf = ({ user, operator }: AuditEntry): string => user ?? operator ?? 'the service'

/** All settings are in the API: here only the changed ones have room. */
const detailsOf = ({ details }: AuditEntry): [string, string][] =>
  Object.entries(details)
    .filter(([name]) => name !== 'settings')
    .map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') || 'none' : String(value)])

function whatOf(entry: AuditEntry): string {
  const details = detailsOf(entry).map(([name, value]) => `${name}: ${value}`)
  const what = entry.subject === null ? entry.description : `${entry.description} ${entry.subject}`
  return [what, ...details].join(' · ')
}

const columnsOf = (onOpen: (entry: AuditEntry) => void): Column<AuditEntry>[] => [
  { name: 'When', width: 92, place: 'a2', cell: ({ time }) => <Time at={time} as="seconds" /> },
  {
    name: 'Who',
    width: 200,
    place: 'b1',
    cell: (entry) => (
      <span class="cut" title={whoOf(entry)}>
        <bdi>{whoOf(entry)}</bdi>
      </span>
    ),
  },
  {
    name: 'What',
    place: 'a1',
    cell: (entry) => (
      <button type="button" class="bare cut" title={whatOf(entry)} onClick={() => onOpen(entry)}>
        <bdi>{whatOf(entry)}</bdi>
      </button>
    ),
  },
  {
    name: 'Account',
    width: 130,
    cell: ({ account }) => (
      <span class="cut" title={account ?? ''}>
        {account ?? '–'}
      </span>
    ),
  },
  {
    name: 'From',
    width: 132,
    place: 'b2',
    cell: ({ address, operator }) => (
      <span class="cut" title={address ?? ''}>
        {operator === null ? (address ?? '–') : 'command'}
      </span>
    ),
  },
]

function EntryDrawer({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const details = detailsOf(entry)
  return (
    <Drawer title={entry.description} onClose={onClose}>
      <div class="drawer-body">
        <div class="part">
          <dl class="facts">
            <dt>When</dt>
            <dd>{formatExactTime(entry.time)}</dd>
            <dt>Who</dt>
            <dd>
              {whoOf(entry)}
              {entry.operator === null ? '' : ', with a command'}
            </dd>
            {entry.address === null ? null : (
              <>
                <dt>From</dt>
                <dd>{entry.address}</dd>
              </>
            )}
            {entry.account === null ? null : (
              <>
                <dt>Account</dt>
                <dd>{entry.account}</dd>
              </>
            )}
            {entry.subject === null ? null : (
              <>
                <dt>Whom</dt>
                <dd>{entry.subject}</dd>
              </>
            )}
            {details.map(([name, value]) => (
              <>
                <dt key={name}>{name}</dt>
                <dd key={`${name} value`}>{value}</dd>
              </>
            ))}
          </dl>
        </div>
        <div class="part">
          <CodeBlock text={JSON.stringify(entry, null, 2)} label="the entry" head="as GET /audit returns it" />
        </div>
      </div>
    </Drawer>
  )
}
