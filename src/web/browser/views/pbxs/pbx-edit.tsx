import { useState } from 'preact/hooks'
import { PBX_FACTS } from '../../../../pbx/source/pbx-facts.ts'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Icon } from '../../components/icon.tsx'
import { Time } from '../../components/time.tsx'
import { showToast } from '../../components/toast.tsx'
import { formatSentence } from '../../lib/format.ts'
import { type PbxFields, pbxFieldsOf } from '../../lib/pbx-fields.ts'
import { usePbxs } from '../../lib/pbx-store.ts'
import type { Pbx } from '../../lib/resources.ts'
import { navigate, routeHref } from '../../lib/router.ts'
import { PbxForm } from './pbx-form.tsx'
import { PbxState } from './pbxs-view.tsx'

/** Shows a PBX: how it is, and the form that changes it. */
export function PbxEdit({ name }: { name: string }) {
  const { pbxs, error } = usePbxs()
  const [changed, setChanged] = useState<PbxFields | null>(null)
  const pbx = pbxs?.find((one) => one.name === name)
  const fields = changed ?? (pbx?.url === undefined ? null : pbxFieldsOf(pbx.url, name))
  const onSaved = () => {
    showToast('good', `${name} is changed. The service connects to it now.`)
    navigate(routeHref('pbxs'))
  }
  return (
    <div class="view">
      <div class="title">
        <a class="back" href={routeHref('pbxs')}>
          <Icon name="back" /> PBXs
        </a>
        <header class="head">
          <h1>
            <bdi>{name}</bdi>
          </h1>
          {pbx === undefined ? null : <PbxState pbx={pbx} />}
        </header>
      </div>
      {error === null ? null : <ErrorMessage text={error} />}
      {pbx === undefined ? (
        pbxs === null ? (
          <Loading what="the PBX" />
        ) : (
          <ErrorMessage text="There is no PBX with this name that you may change." />
        )
      ) : (
        <PbxContent pbx={pbx} fields={fields} onChange={setChanged} onSaved={onSaved} />
      )}
    </div>
  )
}

type ContentProps = { pbx: Pbx; fields: PbxFields | null; onChange: (fields: PbxFields) => void; onSaved: () => void }

function PbxContent({ pbx, fields, onChange, onSaved }: ContentProps) {
  return (
    <>
      {pbx.error === null ? null : <ErrorMessage text={`${formatSentence(pbx.error)} Its calls are not seen.`} />}
      {pbx.source === 'settings' || fields === null ? (
        <>
          <dl class="facts">
            <dt>Kind</dt>
            <dd>{PBX_FACTS[pbx.kind].title}</dd>
            <dt>Address</dt>
            <dd class="mono">{pbx.address}</dd>
            <dt>Account</dt>
            <dd>{pbx.account ?? 'by its customers'}</dd>
            <dt>Calls now</dt>
            <dd>{pbx.calls.toLocaleString('en')}</dd>
            <dt>Since</dt>
            <dd>
              <Time at={pbx.since} />
            </dd>
          </dl>
          <p class="note">
            <Icon name="alert" />
            This PBX is set with --pbx: change that setting, and restart the service.
          </p>
        </>
      ) : (
        <>
          <p class="hint">
            A different host or port means a different PBX: its live calls then end with the cause "unknown".
          </p>
          <PbxForm fields={fields} onChange={onChange} isKnown onSaved={onSaved} />
        </>
      )}
    </>
  )
}
