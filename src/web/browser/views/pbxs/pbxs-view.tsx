import { useState } from 'preact/hooks'
import { PBX_FACTS } from '../../../../pbx/source/pbx-facts.ts'
import { AskAdmin } from '../../components/ask-admin.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Icon } from '../../components/icon.tsx'
import { Menu } from '../../components/menu.tsx'
import { State } from '../../components/state.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { showToast } from '../../components/toast.tsx'
import { errorText, request } from '../../lib/api.ts'
import { refreshOverview } from '../../lib/connection.ts'
import { formatDateTime, pluralize } from '../../lib/format.ts'
import { usePbxs } from '../../lib/pbx-store.ts'
import type { Pbx } from '../../lib/resources.ts'
import { navigate, routeHref } from '../../lib/router.ts'
import { serverNowMs } from '../../lib/server-clock.ts'
import type { Tone } from '../../lib/tone.ts'
import { useIsAdmin } from '../../lib/user.ts'
import { NodeList } from './node-list.tsx'

const STATES: Readonly<Record<Pbx['state'], readonly [Tone, string]>> = {
  up: ['good', 'connected'],
  connecting: ['wait', 'connecting'],
  down: ['bad', 'not connected'],
  refused: ['bad', 'refused'],
}

/** Shows the state of a PBX. */
export function PbxState({ pbx: { state } }: { pbx: Pick<Pbx, 'state'> }) {
  const [tone, text] = STATES[state]
  return <State tone={tone}>{text}</State>
}

/** Shows the PBXs, those that are not connected first, and the nodes that watch them; administrators change them. */
export function PbxsView() {
  return useIsAdmin() === false ? <AskAdmin title="PBXs" /> : <PbxList />
}

function PbxList() {
  const { pbxs, error, reload } = usePbxs()
  const [removing, setRemoving] = useState<Pbx | null>(null)
  const sorted = pbxs?.toSorted(
    (one, other) => Number(one.state === 'up') - Number(other.state === 'up') || one.name.localeCompare(other.name),
  )
  return (
    <div class="view list">
      <header class="head">
        <h1>PBXs</h1>
        <div class="actions push">
          <a class="button primary" href={routeHref('connect')}>
            <Icon name="plus" />
            Connect a PBX
          </a>
        </div>
      </header>
      {error === null ? null : <ErrorMessage text={error} onRetry={reload} />}
      {sorted?.length === 0 ? (
        <EmptyState icon="pbx" title="There is no PBX yet">
          <p>Connect an Asterisk (FreePBX, Issabel) or a FreeSWITCH (FusionPBX): its calls appear as they happen.</p>
        </EmptyState>
      ) : sorted === undefined && error !== null ? null : (
        <Table
          label="PBXs"
          items={sorted ?? null}
          columns={columnsOf(sorted ?? [], setRemoving)}
          keyOf={({ name }) => name}
          hrefOf={({ name }) => routeHref('pbxs', name)}
        />
      )}
      <NodeList />
      {removing === null ? null : (
        <ConfirmRemoval pbx={removing} onRemoved={reload} onClose={() => setRemoving(null)} />
      )}
    </div>
  )
}

/** Shows how many calls are up; a narrow list has no heading that says so. */
function CallCount({ calls }: Pick<Pbx, 'calls'>) {
  return (
    <>
      {calls.toLocaleString('en')}
      <span class="in-row">{calls === 1 ? ' call' : ' calls'}</span>
    </>
  )
}

const columnsOf = (pbxs: readonly Pbx[], onRemove: (pbx: Pbx) => void): Column<Pbx>[] => [
  ...factColumns(new Set(pbxs.map(({ account }) => account)).size > 1),
  // PBXs from the settings have no menu.
  ...(pbxs.some(({ source }) => source === 'store') ? [menuColumn(onRemove)] : []),
]

const factColumns = (hasAccounts: boolean): Column<Pbx>[] => [
  { name: 'State', width: 136, place: 'b2', cell: (pbx) => <PbxState pbx={pbx} /> },
  {
    name: 'Name',
    width: '16%',
    place: 'a1',
    cell: ({ name }) => (
      <a class="cut" href={routeHref('pbxs', name)} title={name}>
        {name}
      </a>
    ),
  },
  { name: 'Kind', width: 112, cell: ({ kind }) => PBX_FACTS[kind].title },
  {
    name: 'Address',
    width: '17%',
    place: 'b1',
    cell: ({ address, error }) => (
      <span class="cut url" title={address}>
        {address}
        {error === null ? null : <span class="in-row"> · {error}</span>}
      </span>
    ),
  },
  ...(hasAccounts
    ? [{ name: 'Account', width: '11%', cell: ({ account }: Pbx) => <span class="cut">{account ?? ''}</span> }]
    : []),
  { name: 'Calls', width: 64, place: 'a2', isEnd: true, cell: ({ calls }) => <CallCount calls={calls} /> },
  {
    name: 'Since',
    cell: ({ since, error }) => {
      const text = [since === null ? '' : formatDateTime(since, serverNowMs()), error ?? '']
        .filter((one) => one !== '')
        .join(', ')
      return (
        <span class="cut" title={text}>
          {text}
        </span>
      )
    },
  },
]

const menuColumn = (onRemove: (pbx: Pbx) => void): Column<Pbx> => ({
  name: 'Actions',
  isNameHidden: true,
  width: 36,
  place: 'menu',
  cell: (pbx) =>
    pbx.source === 'store' ? (
      <Menu
        label={`More for ${pbx.name}`}
        items={[
          { text: 'Change', icon: 'options', onChoose: () => navigate(routeHref('pbxs', pbx.name)) },
          { text: 'Its calls', icon: 'calls', onChoose: () => navigate(routeHref('calls', null, { pbx: pbx.name })) },
          { text: 'Its phones', icon: 'phone', onChoose: () => navigate(routeHref('phones', null, { pbx: pbx.name })) },
          { text: 'Remove…', icon: 'trash', isDanger: true, isApart: true, onChoose: () => onRemove(pbx) },
        ]}
      />
    ) : null,
})

function ConfirmRemoval({
  pbx,
  onRemoved,
  onClose,
}: {
  pbx: Pbx
  onRemoved: () => Promise<void>
  onClose: () => void
}) {
  const { name, calls } = pbx
  const remove = async () => {
    onClose()
    const response = await request('DELETE', `/pbx/${encodeURIComponent(name)}`)
    if (response.ok) showToast('good', `${name} is removed.`)
    else showToast('bad', errorText(response))
    await Promise.all([onRemoved(), refreshOverview()])
  }
  return (
    <ConfirmDialog
      title={`Remove ${name}?`}
      text={
        calls === 0
          ? 'Hookswitch then no longer follows its calls. Stored events are kept.'
          : `${pluralize(calls, 'active call')} ${calls === 1 ? 'ends' : 'end'} with the cause "unknown". Stored events are kept.`
      }
      action="Remove"
      danger
      onConfirm={() => void remove()}
      onClose={onClose}
    />
  )
}
