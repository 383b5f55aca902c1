import { useState } from 'preact/hooks'
import { PBX_FACTS } from '../../../../lib/pbx-kinds.ts'
import { PbxBadge } from '../../components/badge.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Icon } from '../../components/icon.tsx'
import { Time } from '../../components/time.tsx'
import { showToast } from '../../components/toast.tsx'
import { errorText, request } from '../../lib/api.ts'
import { refreshOverview } from '../../lib/connection.ts'
import { pluralize } from '../../lib/format.ts'
import { usePbxs } from '../../lib/pbx-store.ts'
import type { Pbx } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'
import { useIsAdmin } from '../../lib/user.ts'
import { AskAdmin } from '../live/no-pbx.tsx'

/** Shows the PBXs with their state; administrators add, change and remove them. */
export function PbxsView() {
  const isAdmin = useIsAdmin()
  const { pbxs, error, reload } = usePbxs()
  const [removing, setRemoving] = useState<Pbx | null>(null)
  const remove = async ({ name }: Pbx) => {
    setRemoving(null)
    const response = await request('DELETE', `/pbx/${encodeURIComponent(name)}`)
    if (response.ok) showToast('good', `${name} is removed.`)
    else showToast('bad', errorText(response))
    await Promise.all([reload(), refreshOverview()])
  }
  return (
    <div class="view">
      <header class="view-head">
        <h1>PBXs</h1>
        {isAdmin ? (
          <a class="button primary" href={routeHref('connect')}>
            <Icon name="plus" /> Connect a PBX
          </a>
        ) : null}
      </header>
      {error === null ? null : <ErrorMessage text={error} onRetry={reload} />}
      {pbxs === null || isAdmin === null ? (
        <Loading what="the PBXs" />
      ) : pbxs.length === 0 && !isAdmin ? (
        <AskAdmin />
      ) : pbxs.length === 0 ? (
        <p class="muted">There is no PBX yet.</p>
      ) : (
        <ul class="pbx-list">
          {pbxs.map((pbx) => (
            <PbxCard key={pbx.name} pbx={pbx} onRemove={() => setRemoving(pbx)} />
          ))}
        </ul>
      )}
      {removing === null ? null : (
        <ConfirmDialog
          title={`Remove ${removing.name}?`}
          text={
            removing.calls === 0
              ? 'Hookswitch then no longer follows its calls. Stored events are kept.'
              : `${pluralize(removing.calls, 'active call')} ${removing.calls === 1 ? 'ends' : 'end'} with the cause "unknown". Stored events are kept.`
          }
          action="Remove"
          danger
          onConfirm={() => void remove(removing)}
          onClose={() => setRemoving(null)}
        />
      )}
    </div>
  )
}

function PbxCard({ pbx, onRemove }: { pbx: Pbx; onRemove: () => void }) {
  const { name, kind, address, since, error, calls, account, source } = pbx
  return (
    <li class="card pbx-card">
      <header class="card-head">
        <h2>
          {name} <PbxBadge pbx={pbx} />
        </h2>
        {source === 'store' ? (
          <div class="actions">
            <a class="button" href={routeHref('pbxs', name)} aria-label={`Change ${name}`}>
              Change
            </a>
            <button type="button" onClick={onRemove} aria-label={`Remove ${name}`}>
              Remove
            </button>
          </div>
        ) : null}
      </header>
      <dl class="facts pad">
        <dt>Kind</dt>
        <dd>{PBX_FACTS[kind].title}</dd>
        <dt>Address</dt>
        <dd class="break">{address}</dd>
        {account === undefined ? null : (
          <>
            <dt>Account</dt>
            <dd class="break">{account}</dd>
          </>
        )}
        <dt>Since</dt>
        <dd>
          <Time at={since} day />
        </dd>
        <dt>Calls</dt>
        <dd>
          {calls.toLocaleString()}
          {pbx.events_per_second > 0 ? `, ${pbx.events_per_second.toLocaleString()} events a second` : ''}
        </dd>
        {error === null ? null : (
          <>
            <dt>Problem</dt>
            <dd class="break">{error}</dd>
          </>
        )}
      </dl>
      {source === 'settings' ? (
        <p class="hint pad">This PBX is set with --pbx: change that setting, and restart the service.</p>
      ) : null}
    </li>
  )
}
