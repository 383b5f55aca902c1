import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { FieldError } from '../../../../lib/fault.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { Drawer } from '../../components/dialog.tsx'
import { DialogForm } from '../../components/dialog-form.tsx'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { Fold } from '../../components/fold.tsx'
import { CheckField, FormField, SelectField } from '../../components/form-field.tsx'
import { GuideLink } from '../../components/guide-link.tsx'
import { OutcomeLine } from '../../components/outcome-line.tsx'
import { WebhookLabel } from '../../components/webhook-label.tsx'
import { request } from '../../lib/api.ts'
import { crmAddressOf } from '../../lib/crm-addresses.ts'
import { type CrmForm, isCrm, parametersIn } from '../../lib/crm-form.ts'
import { formatSentence } from '../../lib/format.ts'
import { anchorOf } from '../../lib/guide-search.ts'
import type { ContactSettings, CrmUser, FlowPreset, Phone, WebhookOptions } from '../../lib/resources.ts'
import { CrmParameters } from './crm-parameters.tsx'
import { PreviewedCall } from './previewed-call.tsx'
import { type CheckedAccess, type StoredSetup, useCrmSetup } from './use-crm-setup.ts'

type CrmDialogProps = {
  /** The URL of a webhook in the list. */
  url: string
  /** Called after a change of the list. */
  onSaved: () => void
  onClose: () => void
}

/** Shows and changes the requests that a webhook sends to a CRM. */
export function CrmDialog({ url, onSaved, onClose }: CrmDialogProps) {
  const { loaded, error } = useStored(url)
  const flow = loaded?.options?.flow ?? null
  const isOwn = flow?.steps !== undefined
  return (
    <Drawer title={isOwn ? 'Requests of its own' : 'CRM'} onClose={onClose} beside={<WebhookLabel url={url} />}>
      {loaded === null ? (
        <div class="drawer-body">{error === null ? <Loading what="the CRM" /> : <ErrorMessage text={error} />}</div>
      ) : isOwn ? (
        <OwnSteps flow={flow} onClose={onClose} />
      ) : (
        <PresetForm stored={loaded} onSaved={onSaved} onClose={onClose} />
      )}
    </Drawer>
  )
}

type NewCrmProps = Omit<CrmDialogProps, 'url'> & {
  /** The part above the form: the choice of the kind of webhook. */
  before: ComponentChildren
}

/** Connects a CRM: choose it, fill in its parameters, check them, map its users, save. */
export function NewCrm({ before, onSaved, onClose }: NewCrmProps) {
  const { loaded, error } = useStored(null)
  if (loaded === null)
    return (
      <div class="drawer-body">
        {before}
        {error === null ? <Loading what="the CRMs" /> : <ErrorMessage text={error} />}
      </div>
    )
  return <PresetForm before={before} stored={loaded} onSaved={onSaved} onClose={onClose} />
}

/** Reads the state before a CRM is set up. `url` `null`: for a new webhook. */
function useStored(url: string | null): { loaded: StoredSetup | null; error: string | null } {
  const [loaded, setLoaded] = useState<StoredSetup | null>(null)
  const [error, setError] = useState<string | null>(null)
  useEffect(() => {
    void load(url).then((found) => (typeof found === 'string' ? setError(found) : setLoaded(found)))
  }, [])
  return { loaded, error }
}

/** Returns the stored state, or why it could not be read. */
async function load(url: string | null): Promise<StoredSetup | string> {
  const [presets, options, contacts, phones] = await Promise.all([
    request<FlowPreset[]>('GET', '/integration/webhook/preset'),
    request<WebhookOptions[]>('GET', '/integration/webhook/options'),
    request<ContactSettings>('GET', '/integration/contacts'),
    request<Phone[]>('GET', '/phone'),
  ])
  if (!presets.ok) return presets.message
  if (!options.ok) return options.message
  if (!contacts.ok) return contacts.message
  const found = options.result.find((one) => one.url === url) ?? null
  if (url !== null && found === null) return 'This address is no longer in the list.'
  // Phones are proposals: without them extensions are typed.
  return { presets: presets.result, options: found, contacts: contacts.result, phones: phones.ok ? phones.result : [] }
}

function OwnSteps({ flow, onClose }: { flow: WebhookOptions['flow']; onClose: () => void }) {
  return (
    <>
      <div class="drawer-body">
        <div class="part">
          <p>
            These requests are made for each event, in this order. They are changed over the API, or with{' '}
            <code>hookswitch webhook set URL --flow FILE</code>: see <GuideLink guide="flows">the guide</GuideLink>.
          </p>
          <CodeBlock text={JSON.stringify(flow, null, 2)} label="the steps" head="The steps" />
        </div>
      </div>
      <div class="drawer-foot">
        <span class="push" />
        <button type="button" class="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </>
  )
}

type PresetFormProps = Omit<CrmDialogProps, 'url'> & { before?: ComponentChildren; stored: StoredSetup }

function PresetForm({ before, stored, onSaved, onClose }: PresetFormProps) {
  const setup = useCrmSetup(stored, { onSaved, onDone: onClose })
  const { form, options, errors, users, busy } = setup
  const isNew = options === null
  if (form === null)
    return (
      <div class="drawer-body">
        {before}
        <ErrorMessage text="This version has no preset of this name: upgrade, or remove the webhook and connect the CRM again." />
      </div>
    )
  const { preset } = form
  const fields = { form, errors, users, phones: stored.phones, onChange: setup.change }
  return (
    <DialogForm
      errors={errors}
      error={setup.error}
      action={busy === 'saving' ? 'Saving…' : isNew ? 'Add webhook' : 'Save'}
      disabled={busy !== null}
      onSubmit={() => void setup.save(form)}
      onClose={onClose}
    >
      {before}
      {options?.problem === undefined ? null : (
        <ErrorMessage
          text={`The CRM refuses its authorization: ${options.problem.message}. Deliveries wait. Enter the secrets anew, check and save.`}
        />
      )}
      <div class="part">
        <div class="fields">
          {isNew ? <Choice presets={crmsFirst(stored.presets)} chosen={preset} onChoose={setup.choose} /> : null}
          <Access {...fields} isNew={isNew} />
        </div>
        {isCrm(preset) ? (
          <AccessCheck busy={busy} checked={setup.checked} onCheck={() => void setup.check(form)} />
        ) : null}
      </div>
      {parametersIn(preset, 'users').length === 0 ? null : (
        <div class="part">
          <CrmParameters
            {...fields}
            parameters={parametersIn(preset, 'users')}
            onFill={
              isCrm(preset) ? (
                <div aria-live="polite">
                  <button
                    class="button small"
                    type="button"
                    disabled={busy !== null}
                    onClick={() => void setup.readUsers(form)}
                  >
                    {busy === 'reading' ? 'Reading the users…' : 'Fill in from the CRM'}
                  </button>
                  {setup.usersError === null ? null : <p class="error">{setup.usersError}</p>}
                </div>
              ) : null
            }
          />
        </div>
      )}
      <div class="part">
        <CrmParameters {...fields} parameters={parametersIn(preset, 'switches')} />
        {isCrm(preset) ? (
          <LookUp preset={preset} contacts={setup.contacts} checked={setup.looksUp} onChange={setup.setLooksUp} />
        ) : null}
      </div>
      <Preview key={preset.name} form={form} />
    </DialogForm>
  )
}

const crmsFirst = (presets: readonly FlowPreset[]): FlowPreset[] => [
  ...presets.filter(isCrm),
  ...presets.filter((one) => !isCrm(one)),
]

type ChoiceProps = {
  presets: readonly FlowPreset[]
  chosen: FlowPreset
  onChoose: (preset: FlowPreset) => void
}

function Choice({ presets, chosen, onChoose }: ChoiceProps) {
  const { section, guide } = crmAddressOf(chosen)
  return (
    <SelectField
      label="CRM"
      value={chosen.name}
      options={presets.map(({ name, title }) => [name, title])}
      onChange={(name) => {
        const preset = presets.find((one) => one.name === name)
        if (preset !== undefined) onChoose(preset)
      }}
      hint={
        <GuideLink guide={guide} anchor={anchorOf(section)}>
          {isCrm(chosen) ? 'Where its address and key are found' : 'What is sent'}
        </GuideLink>
      }
    />
  )
}

type AccessProps = {
  form: CrmForm
  errors: readonly FieldError[]
  users: readonly CrmUser[] | null
  phones: readonly Phone[]
  isNew: boolean
  onChange: (form: CrmForm) => void
}

function Access({ form, errors, users, phones, isNew, onChange }: AccessProps) {
  const { example, section, guide } = crmAddressOf(form.preset)
  const more = parametersIn(form.preset, 'more')
  const set = more.filter(({ name }) => form.values[name] !== '' || form.stored.includes(name))
  const isWrong = errors.some(({ path }) => more.some(({ name }) => path === `/parameters/${name}`))
  const parts = { form, errors, users, phones, onChange }
  return (
    <>
      {isCrm(form.preset) && <p class={isNew ? 'hint' : 'hint wide'}>{triedSentence(form.preset)}</p>}
      {isNew ? (
        <FormField
          label="Address"
          name="url"
          value={form.url}
          onInput={(url) => onChange({ ...form, url })}
          errors={errors}
          placeholder={example}
          hint={`As ${example}`}
        />
      ) : (
        <p class="hint wide">
          <GuideLink guide={guide} anchor={anchorOf(section)}>
            The guide to {form.preset.title}
          </GuideLink>
        </p>
      )}
      <CrmParameters {...parts} parameters={parametersIn(form.preset, 'access')} />
      {more.length === 0 ? null : (
        <div class="wide">
          <Fold
            title="Only for some"
            value={set.map(({ title }) => title).join(', ') || 'nothing set'}
            isOpen={set.length > 0 || isWrong}
          >
            <CrmParameters {...parts} parameters={more} />
          </Fold>
        </div>
      )}
    </>
  )
}

const triedSentence = ({ tried }: FlowPreset): string =>
  tried === null
    ? 'It follows the documentation of the vendor: nobody has tried it on the real system yet.'
    : `It was tried on ${tried}.`

type AccessCheckProps = { busy: string | null; checked: CheckedAccess | null; onCheck: () => void }

function AccessCheck({ busy, checked, onCheck }: AccessCheckProps) {
  return (
    <div class="actions" aria-live="polite">
      <button class="button" type="button" onClick={onCheck} disabled={busy !== null}>
        {busy === 'checking' ? 'Asking the CRM…' : 'Check'}
      </button>
      {checked === null ? null : (
        <>
          <OutcomeLine isGood={checked.isGood}>{checked.text}</OutcomeLine>
          {checked.warnings.map((warning) => (
            <p key={warning} class="error caution wide">
              {formatSentence(warning)}
            </p>
          ))}
          {checked.response === null || checked.response === '' ? null : (
            <details class="wide">
              <summary>Its answer</summary>
              <CodeBlock text={checked.response} label="the answer of the CRM" head="Answer of the CRM" />
            </details>
          )}
        </>
      )}
    </div>
  )
}

type LookUpProps = {
  preset: FlowPreset
  contacts: ContactSettings
  checked: boolean
  onChange: (checked: boolean) => void
}

/** Shows whether callers are looked up in this CRM. */
function LookUp({ preset, contacts, checked, onChange }: LookUpProps) {
  return (
    <CheckField checked={checked} onChange={onChange}>
      <span>
        Look callers up in this CRM
        <small>
          Events, calls and this page then show who calls, before the phone rings.
          {contacts !== null && contacts.preset !== preset.name ? ' This replaces the present look-up.' : ''}
        </small>
      </span>
    </CheckField>
  )
}

function Preview({ form }: { form: CrmForm }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <Fold title="What a call would cause" value="nothing is sent" onOpen={() => setOpen(true)}>
      {isOpen ? <PreviewedCall form={form} /> : null}
    </Fold>
  )
}
