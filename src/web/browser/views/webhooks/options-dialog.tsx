import { useEffect, useState } from 'preact/hooks'
import { FILTER_KEYS, FILTER_NAMES } from '../../../../events/filter.ts'
import { EVENT_KINDS, FURTHER_NAMES } from '../../../../events/kinds.ts'
import type { FieldError } from '../../../../lib/fault.ts'
import { isMqttUrl } from '../../../../outbound/mqtt-url.ts'
import { DialogForm } from '../../components/dialog-form.tsx'
import { CheckField, FieldErrors, FormField } from '../../components/form-field.tsx'
import { InlineText } from '../../components/inline-text.tsx'
import { showToast } from '../../components/toast.tsx'
import { request } from '../../lib/api.ts'
import { refreshOverview } from '../../lib/connection.ts'
import { humanize } from '../../lib/format.ts'
import { findFormErrors, formOf, type OptionsForm, optionsOf } from '../../lib/options-form.ts'
import type { WebhookOptions } from '../../lib/resources.ts'
import { BodyOptions } from './body-options.tsx'
import { HeaderLines } from './header-lines.tsx'
import { WebhookDialog } from './webhook-dialog.tsx'

/** Shows and changes the options of one URL, with a live preview of what its receiver gets. */
export function OptionsDialog({ url, onClose }: { url: string; onClose: () => void }) {
  const [form, setForm] = useState<OptionsForm | null>(null)
  const [error, setError] = useState<string | null>(null)
  const [errors, setErrors] = useState<readonly FieldError[]>([])
  const load = async () => {
    const response = await request<WebhookOptions[]>('GET', '/integration/webhook/options')
    if (!response.ok) return setError(response.message)
    const found = response.result.find((one) => one.url === url)
    if (found === undefined) return setError('This URL is no longer in the saved list.')
    setForm(formOf(found))
  }
  useEffect(() => void load(), [])
  const save = async () => {
    if (form === null) return
    const wrong = findFormErrors(form)
    setErrors(wrong)
    if (wrong.length > 0) return
    const response = await request<WebhookOptions>('PUT', '/integration/webhook/options', optionsOf(url, form))
    setErrors(response.ok ? [] : response.errors)
    setError(response.ok || response.errors.length > 0 ? null : response.message)
    if (!response.ok) return
    showToast('good', response.result.paused ? 'Saved. Nothing is sent to this URL for now.' : 'Options saved.')
    void refreshOverview()
    onClose()
  }
  return (
    <WebhookDialog
      title="Options"
      url={url}
      error={error}
      loading={form === null ? 'the options' : null}
      onClose={onClose}
    >
      {form === null ? null : (
        <DialogForm
          styles="options-form"
          errors={errors}
          action="Save options"
          onSubmit={() => void save()}
          onClose={onClose}
        >
          <DeliveryOptions form={form} errors={errors} onChange={setForm} isMqtt={isMqttUrl(url)} />
          <EventOptions form={form} errors={errors} onChange={setForm} />
          <FilterOptions form={form} errors={errors} onChange={setForm} />
          <HeaderLines headers={form.headers} errors={errors} onChange={(headers) => setForm({ ...form, headers })} />
          {form.others.flow ? (
            <p class="hint">
              This webhook sends the requests of its {form.others.flow.preset === undefined ? 'steps' : 'CRM'}.
            </p>
          ) : (
            <BodyOptions url={url} form={form} errors={errors} onChange={setForm} />
          )}
        </DialogForm>
      )}
    </WebhookDialog>
  )
}

type PartProps = {
  form: OptionsForm
  errors: readonly FieldError[]
  onChange: (form: OptionsForm) => void
}

function DeliveryOptions({ form, errors, onChange, isMqtt }: PartProps & { isMqtt: boolean }) {
  return (
    <>
      <FormField
        label="Name"
        name="name"
        value={form.name}
        onInput={(name) => onChange({ ...form, name })}
        errors={errors}
        hint="Shown beside the URL."
      />
      <CheckField checked={form.paused} onChange={(paused) => onChange({ ...form, paused })}>
        Paused: send nothing for now. Deliveries stay pending, do not expire, and are sent in order afterwards.
      </CheckField>
      <CheckField checked={form.strict} onChange={(strict) => onChange({ ...form, strict })}>
        Strict order: an event waits until the previous event of its call is delivered or has failed.
      </CheckField>
      <FormField
        label="Attempts per second, at most"
        name="max_per_second"
        value={form.maxPerSecond}
        onInput={(maxPerSecond) => onChange({ ...form, maxPerSecond })}
        errors={errors}
        hint="From 0.1 to 1,000. Empty: as fast as the receiver answers."
      />
      {isMqtt ? (
        <CheckField checked={form.retain} onChange={(retain) => onChange({ ...form, retain })}>
          Retain: the broker keeps the newest message of each topic, and gives it to everyone who subscribes later.
        </CheckField>
      ) : null}
    </>
  )
}

/** Shows the kinds of event that have no switch in the list. */
function EventOptions({ form, errors, onChange }: PartProps) {
  const toggle = (name: string, wanted: boolean) =>
    onChange({ ...form, events: FURTHER_NAMES.filter((one) => (one === name ? wanted : form.events.includes(one))) })
  return (
    <fieldset class="further-events">
      <legend>Further events</legend>
      <p class="hint">They are sent in addition to the events that are switched on in the list.</p>
      {FURTHER_NAMES.map((name) => (
        <CheckField key={name} checked={form.events.includes(name)} onChange={(wanted) => toggle(name, wanted)}>
          <span>
            <b>{humanize(name)}</b>: <InlineText text={EVENT_KINDS[name].summary} />
          </span>
        </CheckField>
      ))}
      <FieldErrors errors={errors.filter(({ path }) => path.startsWith('/events'))} />
    </fieldset>
  )
}

function FilterOptions({ form, errors, onChange }: PartProps) {
  return (
    <details open={Object.keys(form.filter).length > 0 || errors.some(({ path }) => path.startsWith('/filter'))}>
      <summary>Only some events</summary>
      <p class="hint">
        An event must match every field that is filled in, by one of its values. Separate values by commas. A value that
        ends in * matches everything that begins like it.
      </p>
      {FILTER_NAMES.map((key) => (
        <FormField
          key={key}
          label={key}
          name={`filter/${key}`}
          value={form.filter[key] ?? ''}
          onInput={(text) => onChange({ ...form, filter: { ...form.filter, [key]: text } })}
          errors={below(errors, `/filter/${key}`)}
          hint={FILTER_KEYS[key].replaceAll('`', '')}
        />
      ))}
    </details>
  )
}

/** The errors of a field and of everything in it, as errors of the field. */
const below = (errors: readonly FieldError[], path: string): FieldError[] =>
  errors
    .filter((error) => error.path === path || error.path.startsWith(`${path}/`))
    .map((error) => ({ ...error, path }))
