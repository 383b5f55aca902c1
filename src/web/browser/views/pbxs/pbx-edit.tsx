import { useState } from 'preact/hooks'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Icon } from '../../components/icon.tsx'
import { showToast } from '../../components/toast.tsx'
import { type PbxFields, pbxFieldsOf } from '../../lib/pbx-fields.ts'
import { usePbxs } from '../../lib/pbx-store.ts'
import { navigate, routeHref } from '../../lib/router.ts'
import { PbxForm } from './pbx-form.tsx'
import { PbxSetup } from './pbx-setup.tsx'

/** Shows the form that changes a PBX. */
export function PbxEdit({ name }: { name: string }) {
  const { pbxs, error } = usePbxs()
  const [changed, setChanged] = useState<PbxFields | null>(null)
  const url = pbxs?.find((one) => one.name === name)?.url
  const fields = changed ?? (url === undefined ? null : pbxFieldsOf(url, name))
  const onSaved = () => {
    showToast('good', `${name} is changed. The service connects to it now.`)
    navigate(routeHref('pbxs'))
  }
  return (
    <div class="view connect-view">
      <header class="view-head">
        <h1>{name}</h1>
        <a class="button" href={routeHref('pbxs')}>
          <Icon name="back" /> All PBXs
        </a>
      </header>
      {error === null ? null : <ErrorMessage text={error} />}
      {fields === null ? (
        pbxs === null ? (
          <Loading what="the PBX" />
        ) : (
          <ErrorMessage text="There is no PBX with this name that you may change." />
        )
      ) : (
        <div class="connect-grid">
          <section class="card" aria-labelledby="change-pbx">
            <header class="card-head">
              <h2 id="change-pbx">Address and login</h2>
            </header>
            <div class="pad">
              <PbxForm fields={fields} onChange={setChanged} isKnown onSaved={onSaved} />
              <p class="hint">
                A different host or port means a different PBX: its live calls then end with the cause "unknown".
              </p>
            </div>
          </section>
          <section class="card" aria-labelledby="pbx-lines">
            <header class="card-head">
              <h2 id="pbx-lines">What the PBX needs</h2>
            </header>
            <div class="pad">
              <PbxSetup fields={fields} />
            </div>
          </section>
        </div>
      )}
    </div>
  )
}
