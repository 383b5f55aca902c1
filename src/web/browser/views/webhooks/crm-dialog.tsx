import { useEffect, useState } from 'preact/hooks'
import type { FieldError } from '../../../../lib/fault.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { DialogForm } from '../../components/dialog-form.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { CheckField, FormField } from '../../components/form-field.tsx'
import { GuideLink } from '../../components/guide-link.tsx'
import { Icon } from '../../components/icon.tsx'
import { OutcomeLine } from '../../components/outcome-line.tsx'
import { request } from '../../lib/api.ts'
import { crmAddressOf } from '../../lib/crm-addresses.ts'
import { type CrmForm, isCrm, parametersIn } from '../../lib/crm-form.ts'
import { formatSentence } from '../../lib/format.ts'
import { anchorOf } from '../../lib/guide-search.ts'
import type { ContactSettings, CrmUser, FlowPreset, WebhookOptions } from '../../lib/resources.ts'
import { CrmParameters, USER_LIST } from './crm-parameters.tsx'
import { PreviewedCall } from './previewed-call.tsx'
import { type CheckedAccess, type StoredSetup, useCrmSetup } from './use-crm-setup.ts'
import { WebhookDialog } from './webhook-dialog.tsx'

type CrmDialogProps = {
  /** The URL of a webhook in the list; `null`: a new one is made. */
  url: string | null
  /** Called after a change of the list. */
  onSaved: () => void
  onClose: () => void
}

/** Connects a CRM: choose it, fill in its parameters, check them, map its users, save. */
export function CrmDialog({ url, onSaved, onClose }: CrmDialogProps) {
  const [loaded, setLoaded] = useState<StoredSetup | null>(null)
  const [error, setError] = useState<string | null>(null)
  useEffect(() => {
    void load(url).then((found) => (typeof found === 'string' ? setError(found) : setLoaded(found)))
  }, [])
  const flow = loaded?.options?.flow ?? null
  const isOwn = flow?.steps !== undefined
  return (
    <WebhookDialog
      title={isOwn ? 'Requests of its own' : url === null ? 'Connect a CRM' : 'CRM'}
      url={url}
      error={error}
      loading={loaded === null ? 'the CRMs' : null}
      onClose={onClose}
    >
      {loaded === null ? null : isOwn ? (
        <OwnSteps flow={flow} onClose={onClose} />
      ) : (
        <PresetForm stored={loaded} onSaved={onSaved} onClose={onClose} />
      )}
    </WebhookDialog>
  )
}

/** Reads what the dialog needs. Returns the error if that fails. */
async function load(url: string | null): Promise<StoredSetup | string> {
  const [presets, options, contacts] = await Promise.all([
    request<FlowPreset[]>('GET', '/integration/webhook/preset'),
    request<WebhookOptions[]>('GET', '/integration/webhook/options'),
    request<ContactSettings>('GET', '/integration/contacts'),
  ])
  if (!presets.ok) return presets.message
  if (!options.ok) return options.message
  if (!contacts.ok) return contacts.message
  const found = options.result.find((one) => one.url === url) ?? null
  if (url !== null && found === null) return 'This URL is no longer in the saved list.'
  return { presets: presets.result, options: found, contacts: contacts.result }
}

function OwnSteps({ flow, onClose }: { flow: WebhookOptions['flow']; onClose: () => void }) {
  return (
    <>
      <p class="dialog-text">
        These requests are made for each event, in this order. They are changed over the API, or with{' '}
        <code>hookswitch webhook set URL --flow FILE</code>: see <GuideLink guide="flows">the guide</GuideLink>.
      </p>
      <CodeBlock text={JSON.stringify(flow, null, 2)} label="the steps" />
      <div class="actions end">
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </>
  )
}

function PresetForm({ stored, onSaved, onClose }: Omit<CrmDialogProps, 'url'> & { stored: StoredSetup }) {
  const setup = useCrmSetup(stored, { onSaved, onDone: onClose })
  const { form, options, errors, users, busy } = setup
  const isNew = options === null
  const choice = isNew ? (
    <Choice presets={crmsFirst(stored.presets)} chosen={form?.preset ?? null} onChoose={setup.choose} />
  ) : null
  if (form === null)
    return (
      choice ?? (
        <ErrorMessage text="This version has no preset of this name: upgrade, or remove the webhook and connect the CRM again." />
      )
    )
  const { preset } = form
  const fields = { form, errors, users, onChange: setup.change }
  return (
    <>
      {choice}
      <DialogForm
        styles="options-form crm-form"
        errors={errors}
        error={setup.error}
        action={busy === 'saving' ? 'Saving…' : 'Save'}
        disabled={busy !== null}
        onSubmit={() => void setup.save(form)}
        onClose={onClose}
      >
        {options?.problem === undefined ? null : (
          <ErrorMessage
            text={`The CRM refuses its authorization: ${options.problem.message}. Deliveries wait. Enter the secrets anew, check and save.`}
          />
        )}
        <Access {...fields} isNew={isNew} />
        {isCrm(preset) ? (
          <AccessCheck busy={busy} checked={setup.checked} onCheck={() => void setup.check(form)} />
        ) : null}
        <CrmParameters
          {...fields}
          parameters={parametersIn(preset, 'users')}
          onFill={
            isCrm(preset) ? (
              <div aria-live="polite">
                <button type="button" disabled={busy !== null} onClick={() => void setup.readUsers(form)}>
                  <Icon name="user" /> {busy === 'reading' ? 'Reading the users…' : 'Fill in from the CRM'}
                </button>
                {setup.usersError === null ? null : <p class="field-error">{setup.usersError}</p>}
              </div>
            ) : null
          }
        />
        <Users users={users} />
        <CrmParameters {...fields} parameters={parametersIn(preset, 'switches')} />
        {isCrm(preset) ? (
          <LookUp preset={preset} contacts={setup.contacts} checked={setup.looksUp} onChange={setup.setLooksUp} />
        ) : null}
        <Preview key={preset.name} form={form} />
      </DialogForm>
    </>
  )
}

const crmsFirst = (presets: readonly FlowPreset[]): FlowPreset[] => [
  ...presets.filter(isCrm),
  ...presets.filter((one) => !isCrm(one)),
]

type ChoiceProps = {
  presets: readonly FlowPreset[]
  chosen: FlowPreset | null
  onChoose: (preset: FlowPreset) => void
}

function Choice({ presets, chosen, onChoose }: ChoiceProps) {
  return (
    <fieldset class="crm-choice">
      <legend>Where to?</legend>
      {presets.map((preset) => (
        <label key={preset.name}>
          <input type="radio" name="preset" checked={chosen?.name === preset.name} onChange={() => onChoose(preset)} />
          <span>{preset.title}</span>
        </label>
      ))}
    </fieldset>
  )
}

type AccessProps = {
  form: CrmForm
  errors: readonly FieldError[]
  users: readonly CrmUser[] | null
  isNew: boolean
  onChange: (form: CrmForm) => void
}

function Access({ form, errors, users, isNew, onChange }: AccessProps) {
  const { example, section } = crmAddressOf(form.preset.name)
  const more = parametersIn(form.preset, 'more')
  const isUsed = more.some(({ name }) => form.values[name] !== '' || form.stored.includes(name))
  const isWrong = errors.some(({ path }) => more.some(({ name }) => path === `/parameters/${name}`))
  const parts = { form, errors, users, onChange }
  return (
    <>
      <p class="hint">
        {isCrm(form.preset) ? 'Where the address and the key are found' : 'What is sent'}:{' '}
        <GuideLink guide="crm" anchor={anchorOf(section)}>
          {isCrm(form.preset) ? `the guide to ${form.preset.title}` : 'the guide'}
        </GuideLink>
        .{isCrm(form.preset) ? ` ${triedSentence(form.preset)}` : ''}
      </p>
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
      ) : null}
      <CrmParameters {...parts} parameters={parametersIn(form.preset, 'access')} />
      {more.length === 0 ? null : (
        <details open={isUsed || isWrong}>
          <summary>Only for some</summary>
          <CrmParameters {...parts} parameters={more} />
        </details>
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
    <div class="crm-check" aria-live="polite">
      <button type="button" onClick={onCheck} disabled={busy !== null}>
        <Icon name="check" /> {busy === 'checking' ? 'Asking the CRM…' : 'Check'}
      </button>
      {checked === null ? null : (
        <>
          <OutcomeLine isGood={checked.isGood}>
            <span>{checked.text}</span>
          </OutcomeLine>
          {checked.warnings.map((warning) => (
            <p key={warning} class="field-error">
              {formatSentence(warning)}
            </p>
          ))}
          {checked.response === null || checked.response === '' ? null : (
            <details>
              <summary>Its answer</summary>
              <CodeBlock text={checked.response} label="the answer of the CRM" />
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
        <b>Look callers up in this CRM</b>: events, calls and this page then show who calls, before the phone rings.
        {contacts !== null && contacts.preset !== preset.name ? ' This replaces the present look-up.' : ''}
      </span>
    </CheckField>
  )
}

/** The proposals for fields that hold a user of the CRM. */
function Users({ users }: { users: readonly CrmUser[] | null }) {
  if (users === null) return null
  return (
    <datalist id={USER_LIST}>
      {users.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </datalist>
  )
}

function Preview({ form }: { form: CrmForm }) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>What a call would cause</summary>
      {isOpen ? <PreviewedCall form={form} /> : null}
    </details>
  )
}
