import { useEffect, useId, useState } from 'preact/hooks'
import type { FieldError } from '../../../../lib/fault.ts'
import { HTTP_METHODS } from '../../../../outbound/http-methods.ts'
import { Drawer } from '../../components/dialog.tsx'
import { DialogForm } from '../../components/dialog-form.tsx'
import { Loading } from '../../components/empty-state.tsx'
import { ErrorMessage } from '../../components/error-message.tsx'
import { CheckField, FieldErrors, FormField, SelectField } from '../../components/form-field.tsx'
import { GuideLink } from '../../components/guide-link.tsx'
import { OutcomeLine } from '../../components/outcome-line.tsx'
import { showToast } from '../../components/toast.tsx'
import { errorText, request, withQuery } from '../../lib/api.ts'
import {
  CONTACT_FIELDS,
  type ContactsForm,
  contactSettingsOf,
  contactsFormOf,
  findContactsErrors,
  SPELLING_CHOICES,
  waitingOf,
} from '../../lib/contacts-form.ts'
import { formatSentence } from '../../lib/format.ts'
import type { Contact, ContactSettings, FlowPreset, WebhookOptions } from '../../lib/resources.ts'
import { HeaderLines } from './header-lines.tsx'

/** Where callers are looked up: nowhere, at a URL of its own, or in the CRM of a preset (its name). */
type Source = { readonly kind: 'none' } | { readonly kind: 'own' } | { readonly kind: 'preset'; readonly name: string }

type Loaded = {
  readonly settings: ContactSettings
  /** The presets to choose from: the webhooks' presets, and the stored one. */
  readonly presets: readonly FlowPreset[]
}

/** Shows and changes where callers are looked up, and tries a number. */
export function ContactsDialog({ onClose }: { onClose: () => void }) {
  const [loaded, setLoaded] = useState<Loaded | null>(null)
  const [error, setError] = useState<string | null>(null)
  useEffect(() => {
    void load().then((found) => (typeof found === 'string' ? setError(found) : setLoaded(found)))
  }, [])
  return (
    <Drawer title="Look up callers" onClose={onClose}>
      {loaded !== null ? (
        <ContactsSettings loaded={loaded} onClose={onClose} />
      ) : (
        <div class="drawer-body">
          {error === null ? <Loading what="the settings" /> : <ErrorMessage text={error} />}
        </div>
      )}
    </Drawer>
  )
}

/** Reads the settings and the presets for the dialog. Returns the error if that fails. */
async function load(): Promise<Loaded | string> {
  const [settings, options, presets] = await Promise.all([
    request<ContactSettings>('GET', '/integration/contacts'),
    request<WebhookOptions[]>('GET', '/integration/webhook/options'),
    request<FlowPreset[]>('GET', '/integration/webhook/preset'),
  ])
  if (!settings.ok) return settings.message
  if (!options.ok) return options.message
  if (!presets.ok) return presets.message
  const names = new Set([settings.result?.preset, ...options.result.map(({ flow }) => flow?.preset)])
  return { settings: settings.result, presets: presets.result.filter((one) => one.lookup && names.has(one.name)) }
}

function sourceOf(settings: ContactSettings): Source {
  if (settings === null) return { kind: 'none' }
  return settings.preset === undefined ? { kind: 'own' } : { kind: 'preset', name: settings.preset }
}

function ContactsSettings({ loaded: { settings, presets }, onClose }: { loaded: Loaded; onClose: () => void }) {
  const [stored, setStored] = useState(settings)
  const [source, setSource] = useState(() => sourceOf(settings))
  const [form, setForm] = useState(() => contactsFormOf(settings))
  const [errors, setErrors] = useState<readonly FieldError[]>([])
  const [error, setError] = useState<string | null>(null)
  const [isSaving, setSaving] = useState(false)
  const choose = (next: Source) => {
    setSource(next)
    setErrors([])
    setError(null)
  }
  const save = async () => {
    const wrong = source.kind === 'none' ? [] : findContactsErrors(form, source.kind === 'own')
    setErrors(wrong)
    setError(null)
    if (wrong.length > 0) return
    setSaving(true)
    const response = await request<ContactSettings>('PUT', '/integration/contacts', newSettingsOf(source, form, stored))
    setSaving(false)
    if (response.ok) {
      setStored(response.result)
      setForm(contactsFormOf(response.result))
      showToast('good', response.result === null ? 'Callers are not looked up.' : 'Saved. Try a number.')
      if (response.result === null) onClose()
      return
    }
    setErrors(
      response.errors.map(({ path, message }) => ({
        path,
        message: formatSentence(path === '/url' ? `the URL ${message}` : message),
      })),
    )
    const others = response.errors.filter(({ path }) => !SHOWN.test(path))
    setError(
      response.errors.length === 0
        ? response.message
        : others.length === 0
          ? null
          : formatSentence(others.map(({ path, message }) => `${path.slice(1)} ${message}`).join('. ')),
    )
  }
  return (
    <DialogForm
      errors={errors}
      error={error}
      action={isSaving ? 'Saving…' : 'Save'}
      cancel="Close"
      disabled={isSaving}
      onSubmit={() => void save()}
      onClose={onClose}
    >
      <div class="part">
        <p>
          Callers are looked up before the phone rings: events, calls and this page then have their name.{' '}
          <GuideLink guide="contacts">The guide</GuideLink>
        </p>
        <fieldset>
          <legend class="label">Where callers are looked up</legend>
          <div class="tiles pairs">
            <Choice title="Nowhere" isChosen={source.kind === 'none'} onChoose={() => choose({ kind: 'none' })} />
            {presets.map(({ name, title }) => (
              <Choice
                key={name}
                title={title}
                isChosen={source.kind === 'preset' && source.name === name}
                onChoose={() => choose({ kind: 'preset', name })}
              />
            ))}
            <Choice
              title="A URL of your own"
              isChosen={source.kind === 'own'}
              onChoose={() => choose({ kind: 'own' })}
            />
          </div>
        </fieldset>
      </div>
      {source.kind === 'own' ? <OwnRequest form={form} errors={errors} onChange={setForm} /> : null}
      {source.kind === 'none' ? null : <Waiting form={form} errors={errors} onChange={setForm} />}
      {stored === null ? null : <NumberTrial />}
    </DialogForm>
  )
}

/** Paths of errors that stand at a field. */
const SHOWN = /^\/(url|body|item|fields|spellings|budget_ms|cache_minutes|headers)(\/|$)/

/** Returns the settings to be sent. The stored preset keeps its URL and parameters. */
function newSettingsOf(source: Source, form: ContactsForm, stored: ContactSettings): ContactSettings {
  if (source.kind === 'none') return null
  if (source.kind === 'own') return contactSettingsOf(form)
  const before = stored?.preset === source.name ? stored : { preset: source.name }
  return { ...before, ...waitingOf(form) }
}

function Choice({ title, isChosen, onChoose }: { title: string; isChosen: boolean; onChoose: () => void }) {
  return (
    <label class="tile">
      <b>{title}</b>
      <input type="radio" name="source" checked={isChosen} onChange={onChoose} />
    </label>
  )
}

type PartProps = {
  form: ContactsForm
  errors: readonly FieldError[]
  onChange: (form: ContactsForm) => void
}

function OwnRequest({ form, errors, onChange }: PartProps) {
  return (
    <div class="part">
      <FormField
        label="URL"
        name="url"
        value={form.url}
        onInput={(url) => onChange({ ...form, url })}
        errors={errors}
        placeholder="https://crm.example.com/contacts?phone={{ number }}"
        hint="{{ number }} stands for the caller's number."
      />
      <SelectField
        label="Method"
        value={form.method}
        options={[['', 'GET, or POST with a body'], ...HTTP_METHODS.map((one) => [one, one] as const)]}
        onChange={(method) => onChange({ ...form, method: HTTP_METHODS.find((one) => one === method) ?? '' })}
      />
      <HeaderLines headers={form.headers} errors={errors} onChange={(headers) => onChange({ ...form, headers })} />
      {form.authorization == null ? null : (
        <p class="hint">The authorization of this request is kept. It can be changed over the API only.</p>
      )}
      <FormField
        label="Body (optional)"
        name="body"
        value={form.body}
        onInput={(body) => onChange({ ...form, body })}
        errors={errors}
        hint='JSON, as {"phone":{{ number }}}'
      />
      <FormField
        label="Where the answer has the contact (optional)"
        name="item"
        value={form.item}
        onInput={(item) => onChange({ ...form, item })}
        errors={errors}
        placeholder="/items/0"
        hint="A JSON pointer. Empty: the answer itself is the contact."
      />
      <fieldset>
        <legend class="label">Where the contact has its fields</legend>
        <p class="hint">JSON pointers within the contact. At least one is needed.</p>
        <div class="fields">
          {CONTACT_FIELDS.map(({ name, label, example }) => (
            <FormField
              key={name}
              label={label}
              name={`fields/${name}`}
              value={form.fields[name]}
              onInput={(pointer) => onChange({ ...form, fields: { ...form.fields, [name]: pointer } })}
              errors={errors}
              placeholder={example}
            />
          ))}
        </div>
        <FieldErrors errors={errors.filter(({ path }) => path === '/fields')} />
      </fieldset>
      <fieldset>
        <legend class="label">How the number is written</legend>
        <p class="hint">The chosen spellings are tried in this order until a contact is found.</p>
        {SPELLING_CHOICES.map(({ spelling, label }) => (
          <CheckField
            key={spelling}
            checked={form.spellings.includes(spelling)}
            onChange={(isChecked) =>
              onChange({
                ...form,
                spellings: SPELLING_CHOICES.map((one) => one.spelling).filter((one) =>
                  one === spelling ? isChecked : form.spellings.includes(one),
                ),
              })
            }
          >
            {label}
          </CheckField>
        ))}
        <FieldErrors errors={errors.filter(({ path }) => path === '/spellings')} />
      </fieldset>
    </div>
  )
}

function Waiting({ form, errors, onChange }: PartProps) {
  return (
    <div class="part fields">
      <FormField
        label="Calls wait at most (ms)"
        name="budget_ms"
        value={form.budgetMs}
        onInput={(budgetMs) => onChange({ ...form, budgetMs })}
        errors={errors}
        placeholder="300"
        hint="0 to 2000"
      />
      <FormField
        label="Keep answers for (minutes)"
        name="cache_minutes"
        value={form.cacheMinutes}
        onInput={(cacheMinutes) => onChange({ ...form, cacheMinutes })}
        errors={errors}
        placeholder="10"
        hint="0 to 1440. A number without a contact: 1 minute."
      />
    </div>
  )
}

/** Looks a number up with the saved settings. */
function NumberTrial() {
  const id = useId()
  const [number, setNumber] = useState('')
  const [found, setFound] = useState<{ readonly isGood: boolean; readonly text: string } | null>(null)
  const [isBusy, setBusy] = useState(false)
  const lookUp = async () => {
    setBusy(true)
    const response = await request<Contact | null>('GET', withQuery('/contact', { number: number.trim() }))
    setBusy(false)
    if (!response.ok) return setFound({ isGood: false, text: errorText(response) })
    const { result } = response
    if (result === null)
      return setFound({ isGood: false, text: 'No contact was found, or your system did not answer in time.' })
    const { name, company, id: key, owner } = result
    const parts = [name ?? key, company, owner === null ? null : `extension ${owner}`]
    setFound({ isGood: true, text: parts.filter((part) => part !== null).join(', ') })
  }
  return (
    <div class="part" aria-live="polite">
      <label class="label" for={id}>
        Try a number with the saved settings
      </label>
      <div class="with-button">
        <input
          id={id}
          type="text"
          inputMode="tel"
          autoComplete="off"
          value={number}
          placeholder="+4930123456"
          onInput={({ currentTarget }) => setNumber(currentTarget.value)}
        />
        <button class="button" type="button" disabled={isBusy || number.trim() === ''} onClick={() => void lookUp()}>
          {isBusy ? 'Looking up…' : 'Look up'}
        </button>
      </div>
      {found === null ? null : <OutcomeLine isGood={found.isGood}>{found.text}</OutcomeLine>}
    </div>
  )
}
