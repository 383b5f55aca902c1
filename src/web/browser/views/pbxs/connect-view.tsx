import { useEffect, useRef, useState } from 'preact/hooks'
import { AskAdmin } from '../../components/ask-admin.tsx'
import { Fold } from '../../components/fold.tsx'
import { Icon } from '../../components/icon.tsx'
import { liveState, overview } from '../../lib/connection.ts'
import { pluralize } from '../../lib/format.ts'
import { useObservable } from '../../lib/observable.ts'
import { newPbxFields, type PbxFields, withFreeName, withProduct } from '../../lib/pbx-fields.ts'
import { PRODUCT_NAMES } from '../../lib/pbx-products.ts'
import { usePbxs } from '../../lib/pbx-store.ts'
import { forgetProposedSecret, proposedSecret } from '../../lib/proposed-secret.ts'
import type { PbxFinding } from '../../lib/resources.ts'
import { currentRoute, routeHref } from '../../lib/router.ts'
import { useIsAdmin } from '../../lib/user.ts'
import { LiveCalls } from '../live/live-calls.tsx'
import { PbxForm, Step } from './pbx-form.tsx'
import { PbxReport } from './pbx-report.tsx'
import { PbxState } from './pbxs-view.tsx'

/** Shows how to connect a PBX, from its configuration to the first call. */
export function ConnectView() {
  const isAdmin = useIsAdmin()
  const [fields, setFields] = useState<PbxFields>(firstFields)
  const [saved, setSaved] = useState<Saved | null>(null)
  const { pbxs } = usePbxs()
  const taken = pbxs?.map(({ name }) => name) ?? []
  const onSaved = ({ name }: { name: string }, findings: readonly PbxFinding[]) => {
    forgetProposedSecret()
    setSaved({ name, findings })
  }
  useEffect(() => setFields((before) => withFreeName(before, taken)), [pbxs === null])
  // Another address, as after Back, is another product.
  const { product } = useObservable(currentRoute).query
  useEffect(() => setFields((before) => withProductOf(before, product)), [product])
  if (isAdmin === false) return <AskAdmin title="Connect a PBX" />
  return (
    <div class="view">
      <header class="head">
        <h1>Connect a PBX</h1>
        <p class="explanation">
          One step after the other, some 3 minutes. Nothing of the PBX is controlled: Hookswitch only reads.
        </p>
      </header>
      {saved === null ? (
        <PbxForm fields={fields} taken={taken} onChange={setFields} onSaved={onSaved} />
      ) : (
        <FirstCall {...saved} />
      )}
    </div>
  )
}

/** Returns the fields for the product that the address names. */
function firstFields(): PbxFields {
  return withProductOf(newPbxFields(proposedSecret()), currentRoute.get().query.product)
}

/** Returns the fields for the product in an address; the same fields for the same product or an address without one. */
function withProductOf(fields: PbxFields, product: string | undefined): PbxFields {
  const chosen = PRODUCT_NAMES.find((name) => name === product)
  return chosen === undefined || chosen === fields.product ? fields : withProduct(fields, chosen, proposedSecret())
}

/** A PBX that was just connected, with the findings of its check. */
type Saved = { readonly name: string; readonly findings: readonly PbxFinding[] }

/** Shows the state and the subjects of the new PBX, and then its first call as it happens. */
function FirstCall({ name, findings }: Saved) {
  const works = findings.filter(({ level }) => level === 'ok')
  const toDo = findings.filter(({ level }) => level !== 'ok')
  const heading = useRef<HTMLHeadingElement>(null)
  // The button that was pressed is gone: a screen reader goes on here.
  useEffect(() => heading.current?.focus(), [])
  const { calls } = useObservable(liveState)
  const now = useObservable(overview)
  const { pbxs } = usePbxs()
  const pbx = pbxs?.find((one) => one.name === name)
  // An administrator manages the PBXs of all accounts, and sees only the calls of one.
  const isMine = pbx === undefined || (pbx.account === now?.account && !/[?&]tenants=/.test(pbx.url ?? ''))
  const mine = [...calls.values()].filter((entry) => entry.pbx === name)
  const isUp = pbx?.state === 'up'
  return (
    <div class="steps">
      <section class={isUp ? 'step done' : 'step'}>
        <h2 ref={heading} tabIndex={-1}>
          {isUp ? `${name} is connected` : `Connecting to ${name}…`}
        </h2>
        <div>
          {pbx === undefined ? null : <PbxState pbx={pbx} />}
          {pbx?.error == null ? null : <p class="error">{pbx.error}</p>}
          {toDo.length === 0 ? null : <PbxReport findings={toDo} />}
          <Fold title="What works" value={pluralize(works.length, 'thing')}>
            <PbxReport findings={works} />
          </Fold>
        </div>
      </section>
      <Step title="Make a call">
        <p>
          {isMine
            ? `Call one of the phones of ${name}: it appears here as soon as it rings.`
            : pbx.account === now?.account
              ? 'Its calls belong to the accounts of its customers: their users see them, and you do not. Add an account and its user under People.'
              : `Its calls belong to the account ${pbx.account}: users of that account see them, and you do not.`}
        </p>
        <div aria-live="polite">{mine.length > 0 ? <LiveCalls calls={mine} count={mine.length} /> : null}</div>
        <div class="actions">
          {now !== null && now.webhooks.length > 0 ? (
            <a class="button primary" href={routeHref('live')}>
              To the live view
            </a>
          ) : (
            <>
              <a class="button primary" href={routeHref('webhooks', 'new')}>
                Next: add a webhook
                <Icon name="next" />
              </a>
              <a class="button quiet" href={routeHref('live')}>
                To the live view
              </a>
            </>
          )}
          <a class="button quiet" href={routeHref('pbxs')}>
            All PBXs
          </a>
        </div>
      </Step>
    </div>
  )
}
