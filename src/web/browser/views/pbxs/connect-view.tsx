import { useEffect, useState } from 'preact/hooks'
import { PbxBadge } from '../../components/badge.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { liveState, overview } from '../../lib/connection.ts'
import { useObservable } from '../../lib/observable.ts'
import { newPbxFields, type PbxFields, withFreeName } from '../../lib/pbx-fields.ts'
import { usePbxs } from '../../lib/pbx-store.ts'
import { forgetProposedSecret, proposedSecret } from '../../lib/proposed-secret.ts'
import { routeHref } from '../../lib/router.ts'
import { useIsAdmin } from '../../lib/user.ts'
import { LiveCalls } from '../live/live-calls.tsx'
import { AskAdmin } from '../live/no-pbx.tsx'
import { PbxForm } from './pbx-form.tsx'
import { PbxSetup } from './pbx-setup.tsx'

/** Shows how to connect a PBX, from its configuration to the first call. */
export function ConnectView() {
  const isAdmin = useIsAdmin()
  const [fields, setFields] = useState<PbxFields>(() => newPbxFields(proposedSecret()))
  const [saved, setSaved] = useState<string | null>(null)
  const { pbxs } = usePbxs()
  const taken = pbxs?.map(({ name }) => name) ?? []
  const onSaved = ({ name }: { name: string }) => {
    forgetProposedSecret()
    setSaved(name)
  }
  useEffect(() => setFields((before) => withFreeName(before, taken)), [pbxs === null])
  return (
    <div class="view connect-view">
      <header class="view-head">
        <h1>Connect a PBX</h1>
      </header>
      {isAdmin === false ? (
        <AskAdmin />
      ) : saved === null ? (
        <div class="connect-grid">
          <section class="card" aria-labelledby="connect-1">
            <header class="card-head">
              <h2 id="connect-1">1. Where is it?</h2>
            </header>
            <div class="pad">
              <PbxForm fields={fields} taken={taken} onChange={setFields} onSaved={onSaved} />
            </div>
          </section>
          <section class="card" aria-labelledby="connect-2">
            <header class="card-head">
              <h2 id="connect-2">2. Let it accept the connection</h2>
            </header>
            <div class="pad">
              <PbxSetup fields={fields} />
            </div>
          </section>
        </div>
      ) : (
        <FirstCall name={saved} />
      )}
    </div>
  )
}

/** Shows the state of the new PBX, and then its first call as it happens. */
function FirstCall({ name }: { name: string }) {
  const { calls } = useObservable(liveState)
  const now = useObservable(overview)
  const { pbxs } = usePbxs()
  const pbx = pbxs?.find((one) => one.name === name)
  // An administrator manages the PBXs of all accounts, and sees only the calls of one.
  const isMine = pbx === undefined || (pbx.account === now?.account && !/[?&]tenants=/.test(pbx.url ?? ''))
  const mine = [...calls.values()].filter((entry) => entry.pbx === name)
  return (
    <section class="card" aria-labelledby="first-call">
      <header class="card-head">
        <h2 id="first-call">3. The first call</h2>
        {pbx === undefined ? null : <PbxBadge pbx={pbx} />}
      </header>
      <div aria-live="polite">
        {mine.length > 0 ? (
          <LiveCalls calls={mine} count={mine.length} />
        ) : (
          <EmptyState
            icon="calls"
            title={
              pbx?.state !== 'up' ? 'Connecting to the PBX…' : isMine ? 'Connected. Now make a call.' : 'Connected.'
            }
          >
            {pbx?.error != null ? (
              <p>{pbx.error}</p>
            ) : isMine ? (
              <p>Call one of the phones of {name}: the call appears here as soon as it starts.</p>
            ) : (
              <p>
                Its calls belong to{' '}
                {pbx?.account === now?.account ? 'the accounts of its customers' : `the account ${pbx?.account}`}: users
                of that account see them, and you do not.
              </p>
            )}
          </EmptyState>
        )}
      </div>
      <div class="actions end pad first-call-actions">
        <a class="button" href={routeHref('pbxs')}>
          All PBXs
        </a>
        {now !== null && now.webhooks.length > 0 ? (
          <a class="button primary" href={routeHref('live')}>
            Live view
          </a>
        ) : (
          <a class="button primary" href={routeHref('webhooks')}>
            Next: add a webhook
          </a>
        )}
      </div>
    </section>
  )
}
