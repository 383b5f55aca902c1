import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { PBX_FACTS, PBX_PROTOCOLS } from '../../../../pbx/source/pbx-facts.ts'
import { Segments } from '../../components/choice.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Fold } from '../../components/fold.tsx'
import { CheckField, FormField } from '../../components/form-field.tsx'
import { Icon } from '../../components/icon.tsx'
import { InlineText } from '../../components/inline-text.tsx'
import { type ApiResult, errorText, request } from '../../lib/api.ts'
import { refreshOverview } from '../../lib/connection.ts'
import {
  countryOf,
  describeSecretRisk,
  findNameError,
  findPortError,
  hasDomainsAsCustomers,
  isLocal,
  type PbxFields,
  pbxUrlOf,
  withCountry,
  withDomainsAsCustomers,
  withPlace,
  withProduct,
} from '../../lib/pbx-fields.ts'
import { PBX_PRODUCTS, PRODUCT_NAMES } from '../../lib/pbx-products.ts'
import { pbxSetupOf } from '../../lib/pbx-setup-text.ts'
import { proposedSecret } from '../../lib/proposed-secret.ts'
import type { Pbx, PbxFinding } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'
import { PbxReport } from './pbx-report.tsx'

type PbxFormProps = {
  fields: PbxFields
  onChange: (fields: PbxFields) => void
  /** Whether the PBX exists: its name stays then. */
  isKnown?: boolean
  /** The names that a new PBX cannot have. */
  taken?: readonly string[]
  /** `findings`: the findings of its check. */
  onSaved: (pbx: Pbx, findings: readonly PbxFinding[]) => void
}

/** Asks step by step for the address and the login of a PBX, checks them, and connects to it. */
export function PbxForm({ fields, onChange, isKnown = false, taken = [], onSaved }: PbxFormProps) {
  const [busy, setBusy] = useState<'checking' | 'saving' | null>(null)
  const [findings, setFindings] = useState<readonly PbxFinding[] | null>(null)
  const [error, setError] = useState<string | null>(null)
  const url = pbxUrlOf(fields)
  const choose = (changed: PbxFields) => {
    setError(null)
    setFindings(null)
    onChange(changed)
  }
  const save = async (found: readonly PbxFinding[]) => {
    setBusy('saving')
    const response = await request<Pbx>('PUT', `/pbx/${encodeURIComponent(fields.name.trim())}`, { url })
    setBusy(null)
    setError(describeFailure(response))
    if (!response.ok) return
    await refreshOverview()
    onSaved(response.result, found)
  }
  const check = async (event: Event) => {
    event.preventDefault()
    setFindings(null)
    const wrong = findNameError(fields, taken) ?? findPortError(fields) ?? refusedSecret(fields)
    setError(wrong)
    if (wrong !== null) return
    if (busy !== null) return
    setBusy('checking')
    const response = await request<PbxFinding[]>('POST', '/pbx/check', { url })
    setBusy(null)
    if (!response.ok) return setError(describeFailure(response))
    setFindings(response.result)
    if (!response.result.some(({ level }) => level === 'missing')) await save(response.result)
  }
  return (
    <form class="steps" onSubmit={check}>
      {isKnown ? null : <ProductStep fields={fields} onChange={choose} />}
      <PlaceStep fields={fields} isKnown={isKnown} onChange={onChange} />
      {isLocal(fields) && !isKnown ? <CommandStep product={fields.product} /> : null}
      <AcceptStep fields={fields} isKnown={isKnown} onChange={onChange} />
      <Step title={isKnown ? 'Check and save' : 'Check and connect'}>
        <p>Hookswitch logs in, reads phones, trunks and queues, and listens for 5 seconds. It controls nothing.</p>
        <div aria-live="polite">
          {busy === 'checking' ? (
            <p class="hint">Connecting to the PBX and listening to its events for 5 seconds…</p>
          ) : null}
          {error === null ? null : <ErrorMessage text={error} />}
          {findings === null || busy !== null ? null : <PbxReport findings={findings} />}
        </div>
        <div class="actions">
          {/* A button that is switched off loses the focus. */}
          <button type="submit" class="button primary" aria-disabled={busy !== null}>
            {findings !== null ? 'Check again' : isKnown ? 'Check and save' : 'Check and connect'}
          </button>
          {findings === null || busy !== null ? null : (
            <button class="button" type="button" onClick={() => void save(findings)}>
              {isKnown ? 'Save anyway' : 'Connect anyway'}
            </button>
          )}
          {/* In another tab: the entries of this form stay. */}
          {findings !== null && busy === null && hasDomainsAsCustomers(fields) ? (
            <a class="button" href={routeHref('people')} target="_blank" rel="noopener">
              Add an account with its first user
            </a>
          ) : null}
        </div>
      </Step>
    </form>
  )
}

/** Shows a numbered step. */
export function Step({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="step">
      <h2>{title}</h2>
      <div>{children}</div>
    </section>
  )
}

const refusedSecret = (fields: PbxFields): string | null => {
  const risk = describeSecretRisk(fields)
  return risk?.isError === true ? risk.text : null
}

/** Returns why a request failed, `null` if it succeeded: the error of the URL is the end of a sentence. */
function describeFailure(response: ApiResult<unknown>): string | null {
  if (response.ok) return null
  return response.errors.length === 0 ? response.message : `This PBX ${errorText(response)}`
}

type StepProps = { fields: PbxFields; onChange: (fields: PbxFields) => void; isKnown?: boolean }

function ProductStep({ fields, onChange }: StepProps) {
  return (
    <Step title="Which PBX?">
      <fieldset aria-label="Kind of PBX">
        <div class="tiles">
          {PRODUCT_NAMES.map((one) => (
            <label key={one} class="tile">
              <b>{PBX_PRODUCTS[one].title}</b>
              <input
                type="radio"
                name="kind"
                value={one}
                checked={fields.product === one}
                onChange={() => onChange(withProduct(fields, one, proposedSecret()))}
              />
              <small>{PBX_PRODUCTS[one].hint}</small>
            </label>
          ))}
        </div>
      </fieldset>
    </Step>
  )
}

function PlaceStep({ fields, onChange, isKnown = false }: StepProps) {
  const { port } = PBX_PROTOCOLS[fields.protocol]
  return (
    <Step title="Where is it?">
      <div class="actions">
        <span class="label">Hookswitch runs</span>
        <Segments
          label="Hookswitch runs"
          value={isLocal(fields) ? 'same' : 'other'}
          options={[
            ['same', 'on the PBX'],
            ['other', 'on another machine'],
          ]}
          onChange={(place) => onChange(withPlace(fields, place === 'same'))}
        />
      </div>
      <div class="fields three">
        {isKnown ? null : (
          <FormField
            label="Name"
            name="name"
            value={fields.name}
            onInput={(name) => onChange({ ...fields, name })}
            hint="In events and on this page."
            required
          />
        )}
        <FormField
          label="Host"
          name="host"
          value={fields.host}
          onInput={(host) => onChange({ ...fields, host })}
          hint="Its name or address, as this service reaches it."
          required
        />
        <FormField
          label="Port"
          name="port"
          value={fields.port}
          onInput={(text) => onChange({ ...fields, port: text })}
          placeholder={String(port)}
          hint={`Empty: ${port}.`}
        />
        <FormField
          label="Country"
          name="country"
          value={countryOf(fields)}
          onInput={(country) => onChange(withCountry(fields, country))}
          placeholder="DE"
          hint="Two letters. CRMs then find callers by +49…"
        />
      </div>
    </Step>
  )
}

function CommandStep({ product }: Pick<PbxFields, 'product'>) {
  const { hasOwnSecret } = PBX_PRODUCTS[product]
  return (
    <Step title="Let one command do it, or go on by hand">
      <p>
        On the PBX, this {hasOwnSecret ? 'reads the password' : 'writes the lines'} of the next step, and adds the PBX.
        It asks before it writes; <code>--undo</code> takes it back.
      </p>
      <CodeBlock text="sudo hookswitch pbx setup" label="the command that sets it up" />
    </Step>
  )
}

function AcceptStep({ fields, onChange, isKnown = false }: StepProps) {
  const { product, protocol } = fields
  const { intro, caution, copies, hint } = pbxSetupOf(fields, proposedSecret('calls'))
  const { hasOwnSecret } = PBX_PRODUCTS[product]
  const risk = describeSecretRisk(fields)
  return (
    <Step title={hasOwnSecret ? 'Enter the password that FusionPBX has' : 'Let it accept Hookswitch'}>
      {caution === undefined ? null : (
        <p class="note warn">
          <Icon name="alert" />
          <span>
            <InlineText text={caution} />
          </span>
        </p>
      )}
      <p>
        <InlineText text={intro} />
      </p>
      {copies.map(({ before, file, text, label }) => (
        <>
          {before === undefined ? null : (
            <p key={`${label} before`}>
              <InlineText text={before} />
            </p>
          )}
          <CodeBlock
            key={label}
            text={text}
            label={label}
            {...(file === undefined ? {} : { head: <code>{file}</code> })}
          />
        </>
      ))}
      <p class="hint">
        <InlineText text={hint} />
      </p>
      {hasOwnSecret ? <SecretField fields={fields} isKnown={isKnown} onChange={onChange} /> : null}
      {risk === null ? null : (
        <p class={risk.isError ? 'error' : 'error caution'}>
          <Icon name="alert" />
          {risk.text}
        </p>
      )}
      {product === 'fusionpbx' ? (
        <CheckField
          checked={hasDomainsAsCustomers(fields)}
          onChange={(checked) => onChange(withDomainsAsCustomers(fields, checked))}
        >
          <span>
            Each domain is a customer
            <small>
              A call of acme.example belongs to the account acme.example. Without this, all calls are yours.
            </small>
          </span>
        </CheckField>
      ) : null}
      <MoreFold fields={fields} isKnown={isKnown} onChange={onChange} hasSecret={!hasOwnSecret} protocol={protocol} />
    </Step>
  )
}

function SecretField({ fields, onChange, isKnown = false }: StepProps) {
  const { secretTitle } = PBX_FACTS[PBX_PROTOCOLS[fields.protocol].kind]
  const hint = isKnown
    ? '*** keeps the stored one.'
    : PBX_PRODUCTS[fields.product].hasOwnSecret
      ? 'The one that the PBX has already.'
      : 'Made for you, and already in the lines above.'
  return (
    <FormField
      label={secretTitle}
      name="secret"
      value={fields.secret}
      onInput={(secret) => onChange({ ...fields, secret })}
      hint={hint}
      required
    />
  )
}

function describeSecret({ secret }: PbxFields): string {
  if (secret === '***') return 'the stored secret'
  return secret === proposedSecret() ? 'a secret made for you' : 'your own secret'
}

type MoreFoldProps = StepProps & { hasSecret: boolean; protocol: PbxFields['protocol'] }

function MoreFold({ fields, onChange, isKnown = false, hasSecret, protocol }: MoreFoldProps) {
  const { kind, isOverTls } = PBX_PROTOCOLS[protocol]
  const { hasUser, secretTitle } = PBX_FACTS[kind]
  const value = [
    ...(hasUser ? [fields.user, ...(hasSecret ? [describeSecret(fields)] : []), isOverTls ? 'TLS' : 'no TLS'] : []),
    fields.account === '' ? 'account default' : `account ${fields.account}`,
    ...(fields.more === '' ? [] : [fields.more]),
  ]
  const title = hasUser
    ? `User, ${secretTitle.toLowerCase()}, TLS, account`
    : hasSecret
      ? `${secretTitle}, account`
      : 'Account and more'
  return (
    <Fold title={title} value={value.join(', ')}>
      <div class="fields">
        {hasUser ? (
          <FormField
            label="User"
            name="user"
            value={fields.user}
            onInput={(user) => onChange({ ...fields, user })}
            hint="The name of its section in the file."
            required
          />
        ) : null}
        {hasSecret ? <SecretField fields={fields} isKnown={isKnown} onChange={onChange} /> : null}
        <FormField
          label="Account"
          name="account"
          value={fields.account}
          onInput={(account) => onChange({ ...fields, account })}
          hint="The customer who owns its calls. Empty: default."
        />
        <FormField
          label="Parameters"
          name="more"
          value={fields.more}
          onInput={(more) => onChange({ ...fields, more })}
          hint="For example trunks=carrier*&timezone=UTC: see Connect a PBX under Help."
        />
      </div>
      {kind === 'asterisk' ? (
        <CheckField
          checked={isOverTls}
          onChange={(checked) => onChange({ ...fields, protocol: checked ? 'amis' : 'ami', port: '' })}
        >
          <span>
            Over TLS
            <small>Its events then cross the network encrypted.</small>
          </span>
        </CheckField>
      ) : null}
    </Fold>
  )
}
