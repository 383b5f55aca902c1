import { useEffect, useRef, useState } from 'preact/hooks'
import { forSwitches } from '../../../../lib/event-kinds.ts'
import type { FieldError } from '../../../../lib/fault.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { useFirstError } from '../../components/first-error.ts'
import { FormField } from '../../components/form-field.tsx'
import { Icon } from '../../components/icon.tsx'
import { showToast } from '../../components/toast.tsx'
import { type ApiResult, errorText, request, withQuery } from '../../lib/api.ts'
import { refreshOverview } from '../../lib/connection.ts'
import { crmAddressOf } from '../../lib/crm-addresses.ts'
import { type CrmForm, crmFormOf, fillLines, findCrmErrors, flowOfForm, linesOf } from '../../lib/crm-form.ts'
import { formatSentence } from '../../lib/format.ts'
import { anchorOf } from '../../lib/guide-search.ts'
import type {
  ContactSettings,
  CrmUser,
  FlowPreset,
  PresetCheck,
  PresetDirectory,
  WebhookOptions,
} from '../../lib/resources.ts'
import { CallPreview } from './call-preview.tsx'
import { CrmParameters, USER_LIST } from './crm-parameters.tsx'
import { WebhookDialog } from './webhook-dialog.tsx'

type Loaded = {
  readonly presets: readonly FlowPreset[]
  /** The options of the webhook; `null`: it is not in the list yet. */
  readonly options: WebhookOptions | null
  readonly contacts: ContactSettings
}

type CrmDialogProps = {
  /** The URL of a webhook in the list; `null`: a new one is made. */
  url: string | null
  /** Called after a change of the list. */
  onSaved: () => void
  onClose: () => void
}

/** Connects a CRM: choose it, fill in its parameters, check them, map its users, save. */
export function CrmDialog({ url, onSaved, onClose }: CrmDialogProps) {
  const [loaded, setLoaded] = useState<Loaded | null>(null)
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
        <PresetForm loaded={loaded} onSaved={onSaved} onClose={onClose} />
      )}
    </WebhookDialog>
  )
}

/** Reads what the dialog needs. Returns the error if that fails. */
async function load(url: string | null): Promise<Loaded | string> {
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
        <code>hookswitch webhook set URL --flow FILE</code>: see <GuideLink href="/help#/flows">the guide</GuideLink>.
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

function GuideLink({ href, children }: { href: string; children: string }) {
  return (
    <a href={href} target="_blank" rel="noopener">
      {children}
    </a>
  )
}

/** What a request to the CRM has shown, and for which form. */
type Tried = { readonly key: string; readonly isGood: boolean; readonly text: string; readonly response: string | null }

function PresetForm({ loaded, onSaved, onClose }: Omit<CrmDialogProps, 'url'> & { loaded: Loaded }) {
  const { presets } = loaded
  const [options, setOptions] = useState(loaded.options)
  const [contacts, setContacts] = useState(loaded.contacts)
  const [form, setForm] = useState<CrmForm | null>(() => storedForm(presets, loaded.options))
  const [looksUp, setLooksUp] = useState(form !== null && loaded.contacts?.preset === form.preset.name)
  const [users, setUsers] = useState<readonly CrmUser[] | null>(null)
  const [tried, setTried] = useState<Tried | null>(null)
  const [listing, setListing] = useState<string | null>(null)
  const [busy, setBusy] = useState<'checking' | 'reading' | 'saving' | null>(null)
  const [errors, setErrors] = useState<readonly FieldError[]>([])
  const [error, setError] = useState<string | null>(null)
  const element = useRef<HTMLFormElement>(null)
  useFirstError(element, errors)

  const isNew = options === null
  const change = (next: CrmForm) => {
    setForm(next)
    setErrors((now) => now.filter(({ path }) => isSameAt(path, form, next)))
  }
  const choose = (preset: FlowPreset) => {
    setForm(crmFormOf(preset, form?.url ?? ''))
    setLooksUp(contacts?.preset === preset.name)
    setUsers(null)
    setTried(null)
    setListing(null)
    setErrors([])
    setError(null)
  }

  const failed = (response: Extract<ApiResult<unknown>, { ok: false }>, { preset }: CrmForm) => {
    const found = response.errors.map((one) => atField(one, preset))
    setErrors(found)
    const isShown = (path: string) =>
      path === '/url' || preset.parameters.some((one) => path === `/parameters/${one.name}`)
    const others = found.filter(({ path }) => !isShown(path)).map(({ message }) => message)
    setError(found.length === 0 ? response.message : others.length === 0 ? null : formatSentence(others.join(' ')))
  }

  const check = async (given: CrmForm): Promise<boolean> => {
    const wrong = findCrmErrors(given).filter(({ path }) => isForCheck(given.preset, path))
    setErrors(wrong)
    setError(null)
    setTried(null)
    if (wrong.length > 0) return false
    setBusy('checking')
    const response = await request<PresetCheck>('POST', '/integration/webhook/preset/check', trialOf(given))
    setBusy(null)
    if (!response.ok) {
      failed(response, given)
      return false
    }
    const { result } = response
    const text = result.error === null ? response.message : formatSentence(result.error)
    setTried({ key: keyOf(given), isGood: result.error === null, text, response: result.response })
    return result.error === null
  }

  const fill = async (given: CrmForm, name: string) => {
    const wrong = findCrmErrors(given).filter(({ path }) => isForCheck(given.preset, path))
    setErrors(wrong)
    setError(null)
    setListing(null)
    if (wrong.length > 0) return
    setBusy('reading')
    const response = await request<PresetDirectory>('POST', '/integration/webhook/preset/directory', trialOf(given))
    setBusy(null)
    if (!response.ok) return failed(response, given)
    const { result } = response
    if (result.error !== null) return setListing(formatSentence(result.error))
    if (result.users.length === 0) return setListing('The CRM has no users that this key may see.')
    setUsers(result.users)
    setForm((now) =>
      now === null ? now : { ...now, values: { ...now.values, [name]: fillLines(linesOf(now, name), result.users) } },
    )
  }

  const save = async (given: CrmForm) => {
    const wrong = findCrmErrors(given)
    setErrors(wrong)
    setError(null)
    if (wrong.length > 0) return
    setBusy('saving')
    const saved = await saveWebhook(given, options)
    if (!saved.ok) {
      setBusy(null)
      return failed(saved, given)
    }
    const { result } = saved
    setOptions(result)
    onSaved()
    void refreshOverview()
    const wasLookedUp = contacts?.preset === given.preset.name
    if (looksUp !== wasLookedUp) {
      const body = looksUp ? { preset: given.preset.name } : null
      const response = await request<ContactSettings>('PUT', '/integration/contacts', body)
      if (!response.ok) {
        setBusy(null)
        return setError(`The webhook is saved, but callers are not looked up: ${errorText(response)}`)
      }
      setContacts(response.result)
    }
    setBusy(null)
    const stored = crmFormOf(given.preset, given.url.trim(), result.flow?.parameters)
    setForm(stored)
    // A key that was not checked yet is checked now, with the stored secrets.
    const isChecked = tried?.isGood === true && tried.key === keyOf(given)
    if (!isChecked && isCrm(given.preset) && !(await check(stored)))
      return showToast('bad', 'Saved, but the CRM does not accept it yet.')
    showToast('good', `Saved. Calls go to ${isCrm(given.preset) ? given.preset.title : 'this address'} from now on.`)
    onClose()
  }

  return (
    <>
      {isNew ? <Choice presets={crmsFirst(presets)} chosen={form?.preset ?? null} onChoose={choose} /> : null}
      {form === null ? (
        isNew ? null : (
          <ErrorMessage text="This version has no preset of this name: upgrade, or remove the webhook and connect the CRM again." />
        )
      ) : (
        <form
          ref={element}
          class="options-form crm-form"
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            void save(form)
          }}
        >
          {options?.problem === undefined ? null : (
            <ErrorMessage
              text={`The CRM refuses its authorization: ${options.problem.message}. Deliveries wait. Enter the secrets anew, check and save.`}
            />
          )}
          <Access form={form} errors={errors} users={users} isNew={isNew} onChange={change} />
          {isCrm(form.preset) ? (
            <CheckLine
              busy={busy}
              tried={tried !== null && tried.key === keyOf(form) ? tried : null}
              onCheck={() => void check(form)}
            />
          ) : null}
          <CrmParameters
            form={form}
            errors={errors}
            onChange={change}
            users={users}
            parameters={userParametersOf(form.preset)}
            onFill={
              isCrm(form.preset) ? (
                <div aria-live="polite">
                  <button type="button" disabled={busy !== null} onClick={() => void fill(form, mapOf(form.preset))}>
                    <Icon name="user" /> {busy === 'reading' ? 'Reading the users…' : 'Fill in from the CRM'}
                  </button>
                  {listing === null ? null : <p class="field-error">{listing}</p>}
                </div>
              ) : null
            }
          />
          <Users users={users} />
          <CrmParameters
            form={form}
            errors={errors}
            onChange={change}
            users={users}
            parameters={form.preset.parameters.filter((one) => groupOf(one) === 'switches')}
          />
          {form.preset.lookup ? (
            <label class="check-line">
              <input type="checkbox" checked={looksUp} onChange={(event) => setLooksUp(event.currentTarget.checked)} />
              <span>
                <b>Look callers up in this CRM</b>: events, calls and this page then show who calls, before the phone
                rings.
                {contacts !== null && contacts.preset !== form.preset.name ? ' This replaces the present look-up.' : ''}
              </span>
            </label>
          ) : null}
          <Preview key={form.preset.name} form={form} />
          <div class="actions end">
            <div class="form-error">{error === null ? null : <ErrorMessage text={error} />}</div>
            <button type="button" onClick={onClose}>
              Cancel
            </button>
            <button type="submit" class="primary" disabled={busy !== null}>
              {busy === 'saving' ? 'Saving…' : 'Save'}
            </button>
          </div>
        </form>
      )}
    </>
  )
}

function storedForm(presets: readonly FlowPreset[], options: WebhookOptions | null): CrmForm | null {
  const preset = presets.find(({ name }) => name === options?.flow?.preset)
  return preset === undefined || options === null ? null : crmFormOf(preset, options.url, options.flow?.parameters)
}

const trialOf = (form: CrmForm) => ({ url: form.url.trim(), ...flowOfForm(form) })

/** What decides whether the CRM accepts a request: a result counts as long as this stays. */
function keyOf({ url, preset, values }: CrmForm): string {
  const access = preset.parameters.filter((one) => ACCESS.has(groupOf(one))).map(({ name }) => values[name])
  return JSON.stringify([preset.name, url.trim(), access])
}

/** Whether a preset can check a key and list users: CRM presets can, and they look contacts up too. */
const isCrm = ({ lookup }: FlowPreset): boolean => lookup

const crmsFirst = (presets: readonly FlowPreset[]): FlowPreset[] => [
  ...presets.filter(isCrm),
  ...presets.filter((one) => !isCrm(one)),
]

/** Where a parameter stands in the form. */
type Group = 'access' | 'more' | 'users' | 'switches'
const ACCESS: ReadonlySet<Group> = new Set(['access', 'more'])

function groupOf({ name, type, required }: FlowPreset['parameters'][number]): Group {
  // The user is one of those that the map is filled with.
  if (type === 'map' || name === 'responsible') return 'users'
  if (type === 'boolean') return 'switches'
  return required || type === 'choice' ? 'access' : 'more'
}

/** Returns the map and then the user whom it proposes. */
const userParametersOf = ({ parameters }: FlowPreset) =>
  parameters
    .filter((one) => groupOf(one) === 'users')
    .toSorted((one, other) => Number(other.type === 'map') - Number(one.type === 'map'))

const mapOf = ({ parameters }: FlowPreset): string => parameters.find(({ type }) => type === 'map')?.name ?? ''

/** Returns whether a field has to be filled in before the CRM can be asked. */
const isForCheck = ({ parameters }: FlowPreset, path: string): boolean =>
  path === '/url' || parameters.some((one) => path === `/parameters/${one.name}` && ACCESS.has(groupOf(one)))

/** Returns whether a field has the same value in both forms. */
function isSameAt(path: string, form: CrmForm | null, next: CrmForm): boolean {
  if (path === '/url') return form?.url === next.url
  const name = path.split('/')[2] ?? ''
  return form?.values[name] === next.values[name]
}

/** Returns an error of the API at its field of the form, as a sentence. */
function atField({ path, message }: FieldError, { parameters }: FlowPreset): FieldError {
  const place = path.replace(/^\/flow(?=\/)/, '')
  if (place === '/url') return { path: place, message: formatSentence(`The address ${message}`) }
  const parameter = parameters.find(
    ({ name }) => place === `/parameters/${name}` || place.startsWith(`/parameters/${name}/`),
  )
  if (parameter === undefined) return { path: place, message }
  return { path: `/parameters/${parameter.name}`, message: formatSentence(`${parameter.title} ${message}`) }
}

/** Appends the webhook unless it is in the list, and stores its flow. */
async function saveWebhook(form: CrmForm, options: WebhookOptions | null): Promise<ApiResult<WebhookOptions>> {
  const url = form.url.trim()
  if (options === null) {
    // The flow switches on the events that it needs.
    const appended = await request('POST', '/integration/webhook/item', { url, ...forSwitches(() => false) })
    if (!appended.ok && appended.status === 409)
      return { ...appended, errors: [{ path: '/url', message: 'is in the list already: open it there' }] }
    if (!appended.ok) return appended
  }
  const body = { ...(options ?? { url, name: form.preset.title }), flow: flowOfForm(form) }
  const response = await request<WebhookOptions>('PUT', '/integration/webhook/options', body)
  // Without its flow it would be a webhook that nobody asked for.
  if (!response.ok && options === null) await request('DELETE', withQuery('/integration/webhook/item', { url }))
  return response
}

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
  const more = form.preset.parameters.filter((one) => groupOf(one) === 'more')
  const isUsed = more.some(({ name }) => form.values[name] !== '' || form.stored.includes(name))
  const isWrong = errors.some(({ path }) => more.some(({ name }) => path === `/parameters/${name}`))
  const parts = { form, errors, users, onChange }
  return (
    <>
      <p class="hint">
        {isCrm(form.preset) ? 'Where the address and the key are found' : 'What is sent'}:{' '}
        <GuideLink href={`/help#/crm/${anchorOf(section)}`}>
          {isCrm(form.preset) ? `the guide to ${form.preset.title}` : 'the guide'}
        </GuideLink>
        .
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
      <CrmParameters {...parts} parameters={form.preset.parameters.filter((one) => groupOf(one) === 'access')} />
      {more.length === 0 ? null : (
        <details open={isUsed || isWrong}>
          <summary>Only for some</summary>
          <CrmParameters {...parts} parameters={more} />
        </details>
      )}
    </>
  )
}

type CheckLineProps = { busy: string | null; tried: Tried | null; onCheck: () => void }

function CheckLine({ busy, tried, onCheck }: CheckLineProps) {
  return (
    <div class="crm-check" aria-live="polite">
      <button type="button" onClick={onCheck} disabled={busy !== null}>
        <Icon name="check" /> {busy === 'checking' ? 'Asking the CRM…' : 'Check'}
      </button>
      {tried === null ? null : (
        <>
          <p class={tried.isGood ? 'outcome good' : 'outcome bad'}>
            <Icon name={tried.isGood ? 'check' : 'cross'} />
            <span>{tried.text}</span>
          </p>
          {tried.response === null || tried.response === '' ? null : (
            <details>
              <summary>Its answer</summary>
              <CodeBlock text={tried.response} label="the answer of the CRM" />
            </details>
          )}
        </>
      )}
    </div>
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
      {isOpen ? <CallPreview form={form} /> : null}
    </details>
  )
}
