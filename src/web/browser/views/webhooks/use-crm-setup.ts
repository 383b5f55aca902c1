import { useState } from 'preact/hooks'
import { forSwitches } from '../../../../events/kinds.ts'
import type { FieldError } from '../../../../lib/fault.ts'
import { showToast } from '../../components/toast.tsx'
import { type ApiResult, errorText, request, withQuery } from '../../lib/api.ts'
import { refreshOverview } from '../../lib/connection.ts'
import {
  accessKeyOf,
  type CrmForm,
  crmFormOf,
  fillLines,
  findAccessErrors,
  findCrmErrors,
  flowOfForm,
  isCrm,
  isSameField,
  linesOf,
  placeErrors,
  storedCrmForm,
} from '../../lib/crm-form.ts'
import { formatSentence } from '../../lib/format.ts'
import type {
  ContactSettings,
  CrmUser,
  FlowPreset,
  Phone,
  PresetCheck,
  PresetDirectory,
  WebhookOptions,
} from '../../lib/resources.ts'

/** The state on the server before a CRM is set up. */
export type StoredSetup = {
  readonly presets: readonly FlowPreset[]
  /** The options of the webhook; `null`: it is not in the list yet. */
  readonly options: WebhookOptions | null
  readonly contacts: ContactSettings
  /** The phones of the PBXs: their extensions are proposed. */
  readonly phones: readonly Phone[]
}

/** The outcome of a request to the CRM, and the access that it was made with. */
export type CheckedAccess = {
  readonly key: string
  readonly isGood: boolean
  readonly text: string
  /** Problems to expect although the CRM accepts the access. */
  readonly warnings: readonly string[]
  readonly response: string | null
}

type Handlers = {
  /** Called after a change of the list. */
  readonly onSaved: () => void
  /** Called when everything is saved and the CRM accepts it. */
  readonly onDone: () => void
}

/** Keeps the form that connects a CRM: checks its access, reads its users, and saves it. */
export function useCrmSetup(stored: StoredSetup, { onSaved, onDone }: Handlers) {
  const [options, setOptions] = useState(stored.options)
  const [contacts, setContacts] = useState(stored.contacts)
  const [form, setForm] = useState<CrmForm | null>(() => firstForm(stored))
  const [looksUp, setLooksUp] = useState(form !== null && contacts?.preset === form.preset.name)
  const [users, setUsers] = useState<readonly CrmUser[] | null>(null)
  const [usersError, setUsersError] = useState<string | null>(null)
  const [checked, setChecked] = useState<CheckedAccess | null>(null)
  const [busy, setBusy] = useState<'checking' | 'reading' | 'saving' | null>(null)
  const [errors, setErrors] = useState<readonly FieldError[]>([])
  const [error, setError] = useState<string | null>(null)

  const change = (next: CrmForm) => {
    setForm(next)
    setErrors((now) => now.filter(({ path }) => isSameField(path, form, next)))
  }
  const choose = (preset: FlowPreset) => {
    setForm(crmFormOf(preset, form?.url ?? ''))
    setLooksUp(contacts?.preset === preset.name)
    setUsers(null)
    setUsersError(null)
    setChecked(null)
    setErrors([])
    setError(null)
  }
  /** Shows the errors of a form. Returns whether there are none. */
  const accept = (found: readonly FieldError[]): boolean => {
    setErrors(found)
    setError(null)
    return found.length === 0
  }
  const showFailure = (response: Extract<ApiResult<unknown>, { ok: false }>, { preset }: CrmForm) => {
    const { atFields, others } = placeErrors(response.errors, preset)
    setErrors(atFields)
    if (response.errors.length === 0) setError(response.message)
    else setError(others.length === 0 ? null : formatSentence(others.map(({ message }) => message).join(' ')))
  }

  /** Asks the CRM whether it accepts the access. */
  const check = async (given: CrmForm): Promise<boolean> => {
    setChecked(null)
    if (!accept(findAccessErrors(given))) return false
    setBusy('checking')
    const response = await request<PresetCheck>('POST', '/integration/webhook/preset/check', trialOf(given))
    setBusy(null)
    if (!response.ok) {
      showFailure(response, given)
      return false
    }
    const { result } = response
    const text = result.error === null ? response.message : formatSentence(result.error)
    const { error: refusal, warnings, response: answer } = result
    setChecked({ key: accessKeyOf(given), isGood: refusal === null, text, warnings, response: answer })
    return result.error === null
  }

  /** Reads the users of the CRM into its map of extensions. */
  const readUsers = async (given: CrmForm) => {
    setUsersError(null)
    if (!accept(findAccessErrors(given))) return
    setBusy('reading')
    const response = await request<PresetDirectory>('POST', '/integration/webhook/preset/directory', trialOf(given))
    setBusy(null)
    if (!response.ok) return showFailure(response, given)
    const { result } = response
    if (result.error !== null) return setUsersError(formatSentence(result.error))
    if (result.users.length === 0) return setUsersError('The CRM has no users that this key may see.')
    const map = given.preset.parameters.find(({ type }) => type === 'map')?.name ?? ''
    setUsers(result.users)
    setForm((now) =>
      now === null
        ? now
        : {
            ...now,
            values: {
              ...now.values,
              [map]: fillLines(linesOf(now, map), result.users),
            },
          },
    )
  }

  /** Switches the look-up of callers in this CRM on or off. Returns the error if that fails. */
  const saveLookUp = async ({ preset }: CrmForm): Promise<string | null> => {
    if (looksUp === (contacts?.preset === preset.name)) return null
    const body = looksUp ? { preset: preset.name } : null
    const response = await request<ContactSettings>('PUT', '/integration/contacts', body)
    if (!response.ok) return `The webhook is saved, but callers are not looked up: ${errorText(response)}`
    setContacts(response.result)
    return null
  }

  const save = async (given: CrmForm) => {
    if (!accept(findCrmErrors(given))) return
    setBusy('saving')
    const saved = await saveWebhook(given, options)
    if (!saved.ok) {
      setBusy(null)
      return showFailure(saved, given)
    }
    setOptions(saved.result)
    onSaved()
    void refreshOverview()
    const failure = await saveLookUp(given)
    setBusy(null)
    if (failure !== null) return setError(failure)
    const next = crmFormOf(given.preset, given.url.trim(), saved.result.flow?.parameters)
    setForm(next)
    // A key that was not checked yet is checked now, with the stored secrets.
    const isChecked = checked?.isGood === true && checked.key === accessKeyOf(given)
    if (!isChecked && isCrm(given.preset) && !(await check(next)))
      return showToast('bad', 'Saved, but the CRM does not accept it yet.')
    showToast('good', `Saved. Calls go to ${isCrm(given.preset) ? given.preset.title : 'this address'} from now on.`)
    onDone()
  }

  return {
    options,
    contacts,
    form,
    looksUp,
    users,
    usersError,
    /** The outcome of the last check, unless the access has changed since. */
    checked: form !== null && checked?.key === accessKeyOf(form) ? checked : null,
    busy,
    errors,
    error,
    change,
    choose,
    setLooksUp,
    check,
    readUsers,
    save,
  }
}

/** Returns the form of the stored flow, or the first CRM's form for a new webhook. */
function firstForm({ presets, options }: StoredSetup): CrmForm | null {
  const first = presets.find(isCrm)
  if (options !== null || first === undefined) return storedCrmForm(presets, options)
  return crmFormOf(first, '')
}

const trialOf = (form: CrmForm) => ({ url: form.url.trim(), ...flowOfForm(form) })

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
  // A webhook without its flow was not asked for.
  if (!response.ok && options === null) await request('DELETE', withQuery('/integration/webhook/item', { url }))
  return response
}
