import { useState } from 'preact/hooks'
import { PBX_FACTS, PBX_PROTOCOLS } from '../../../../lib/pbx-kinds.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { CheckField, FormField } from '../../components/form-field.tsx'
import { Icon, type IconName } from '../../components/icon.tsx'
import { type ApiResult, errorText, request } from '../../lib/api.ts'
import { refreshOverview } from '../../lib/connection.ts'
import { findNameError, findPortError, type PbxFields, pbxUrlOf, withProduct } from '../../lib/pbx-fields.ts'
import { PBX_PRODUCTS, type PbxProduct, PRODUCT_NAMES } from '../../lib/pbx-products.ts'
import { proposedSecret } from '../../lib/proposed-secret.ts'
import type { Pbx, PbxFinding } from '../../lib/resources.ts'

type PbxFormProps = {
  fields: PbxFields
  onChange: (fields: PbxFields) => void
  /** Whether the PBX exists: its name stays then. */
  isKnown?: boolean
  /** The names that a new PBX cannot have. */
  taken?: readonly string[]
  onSaved: (pbx: Pbx) => void
}

/** Asks for the address and the login of a PBX, checks them, and connects to it. */
export function PbxForm({ fields, onChange, isKnown = false, taken = [], onSaved }: PbxFormProps) {
  const [busy, setBusy] = useState<'checking' | 'saving' | null>(null)
  const [findings, setFindings] = useState<readonly PbxFinding[] | null>(null)
  const [error, setError] = useState<string | null>(null)
  const url = pbxUrlOf(fields)
  const choose = (product: PbxProduct) => {
    setError(null)
    setFindings(null)
    onChange(withProduct(fields, product, proposedSecret()))
  }

  const save = async () => {
    setBusy('saving')
    const response = await request<Pbx>('PUT', `/pbx/${encodeURIComponent(fields.name.trim())}`, { url })
    setBusy(null)
    setError(describeFailure(response))
    if (!response.ok) return
    await refreshOverview()
    onSaved(response.result)
  }
  const check = async (event: Event) => {
    event.preventDefault()
    setFindings(null)
    const wrong = findNameError(fields, taken) ?? findPortError(fields)
    setError(wrong)
    if (wrong !== null) return
    setBusy('checking')
    const response = await request<PbxFinding[]>('POST', '/pbx/check', { url })
    setBusy(null)
    if (!response.ok) return setError(describeFailure(response))
    setFindings(response.result)
    if (!response.result.some(({ level }) => level === 'missing')) await save()
  }
  return (
    <form class="pbx-form" onSubmit={check}>
      <ProductChoice chosen={fields.product} onChange={choose} />
      <Fields fields={fields} onChange={onChange} isKnown={isKnown} />
      <div aria-live="polite">
        {busy === 'checking' ? (
          <p class="loading">Connecting to the PBX and listening to its events for 5 seconds…</p>
        ) : null}
        {error === null ? null : <ErrorMessage text={error} />}
        {findings === null || busy !== null ? null : <PbxReport findings={findings} />}
      </div>
      <div class="actions end">
        {findings === null || busy !== null ? null : (
          <button type="button" onClick={() => void save()}>
            Connect anyway
          </button>
        )}
        <button type="submit" class="primary" disabled={busy !== null}>
          {findings === null ? 'Check and connect' : 'Check again'}
        </button>
      </div>
    </form>
  )
}

/** Returns why a request failed, `null` if it succeeded: the error of the URL is the end of a sentence. */
function describeFailure(response: ApiResult<unknown>): string | null {
  if (response.ok) return null
  return response.errors.length === 0 ? response.message : `This PBX ${errorText(response)}`
}

type FieldsProps = Pick<PbxFormProps, 'fields' | 'onChange'> & { isKnown: boolean }

function Fields({ fields, onChange, isKnown }: FieldsProps) {
  const { kind, port, isOverTls } = PBX_PROTOCOLS[fields.protocol]
  const { hasUser, secretTitle } = PBX_FACTS[kind]
  const field = (name: 'name' | 'host' | 'port' | 'user' | 'account' | 'more', label: string, hint?: string) => (
    <FormField
      label={label}
      name={name}
      value={fields[name]}
      onInput={(value) => onChange({ ...fields, [name]: value })}
      required={name === 'name' || name === 'host' || name === 'user'}
      {...(hint === undefined ? {} : { hint })}
    />
  )
  return (
    <>
      <div class="pbx-fields">
        {isKnown ? null : field('name', 'Name', 'Shown in events and on this page.')}
        {field('host', 'Host', 'The name or the address of the PBX, as seen from this service.')}
        {field('port', 'Port', `Empty: ${port}.`)}
        {hasUser ? field('user', 'User', 'The name of its section in manager.conf.') : null}
        <FormField
          label={secretTitle}
          name="secret"
          value={fields.secret}
          onInput={(secret) => onChange({ ...fields, secret })}
          hint={secretHint(fields, isKnown)}
          required
        />
      </div>
      {kind === 'asterisk' ? (
        <CheckField
          checked={isOverTls}
          onChange={(checked) => onChange({ ...fields, protocol: checked ? 'amis' : 'ami', port: '' })}
        >
          Over TLS
        </CheckField>
      ) : null}
      <details class="pbx-more">
        <summary>More</summary>
        <div class="pbx-fields">
          {field('account', 'Account', 'The customer who owns its calls. Empty: default.')}
          {field('more', 'Parameters', 'For example trunks=carrier*&country=UZ: see Connect a PBX under Help.')}
        </div>
      </details>
    </>
  )
}

function secretHint({ product }: PbxFields, isKnown: boolean): string {
  if (isKnown) return '*** keeps the stored one.'
  if (PBX_PRODUCTS[product].hasOwnSecret) return 'The one that the PBX has already.'
  return 'Made for you, and already in the lines to write into the PBX.'
}

type ProductChoiceProps = { chosen: PbxProduct; onChange: (product: PbxProduct) => void }

function ProductChoice({ chosen, onChange }: ProductChoiceProps) {
  return (
    <fieldset class="segmented" aria-label="Kind of PBX">
      {PRODUCT_NAMES.map((one) => (
        <label key={one}>
          <input type="radio" name="kind" value={one} checked={chosen === one} onChange={() => onChange(one)} />
          {PBX_PRODUCTS[one].title}
        </label>
      ))}
    </fieldset>
  )
}

const ICON = { ok: 'check', missing: 'cross', advice: 'alert' } as const satisfies Record<string, IconName>
const TITLE = { ok: 'Works', missing: 'Problem', advice: 'Advice' } as const

/** Shows the findings of a PBX check, the missing things first, each with the line to add. */
function PbxReport({ findings }: { findings: readonly PbxFinding[] }) {
  const order = ['missing', 'advice', 'ok']
  const sorted = findings.toSorted((one, other) => order.indexOf(one.level) - order.indexOf(other.level))
  return (
    <ul class="pbx-report" aria-label="Report of the check">
      {sorted.map(({ level, text, line }) => (
        <li key={text} class={level}>
          <Icon name={ICON[level]} />
          <div>
            <p>
              <b>{TITLE[level]}:</b> {text}
            </p>
            {line === undefined ? null : <CodeBlock text={line} label={`the line ${line}`} />}
          </div>
        </li>
      ))}
    </ul>
  )
}
