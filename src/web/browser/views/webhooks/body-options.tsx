import { useEffect, useId, useState } from 'preact/hooks'
import { EVENT_NAMES } from '../../../../events/kinds.ts'
import type { FieldError } from '../../../../lib/fault.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { FieldErrors, FormField } from '../../components/form-field.tsx'
import { errorText, request } from '../../lib/api.ts'
import { formatJson, humanize } from '../../lib/format.ts'
import { bodyOf, type OptionsForm } from '../../lib/options-form.ts'
import type { WebhookPreview } from '../../lib/resources.ts'

/** The names of the presets; the API document describes them. */
const PRESETS = {
  default: 'The default body',
  flat: 'flat: one level of fields, for no-code tools and spreadsheets',
  form: 'form: the same as a form, for $_POST',
  cloudevents: 'CloudEvents 1.0',
  slack: 'Slack',
  teams: 'Microsoft Teams',
  mattermost: 'Mattermost',
  discord: 'Discord',
  telegram: 'Telegram',
  template: 'A template of your own (Liquid)',
} as const

/** How long the form has to be unchanged before the preview follows it. */
const PREVIEW_AFTER_MS = 600

type BodyOptionsProps = {
  url: string
  form: OptionsForm
  errors: readonly FieldError[]
  onChange: (form: OptionsForm) => void
}

/** Shows the choice of the request's body, and what the receiver would get. */
export function BodyOptions({ url, form, errors, onChange }: BodyOptionsProps) {
  const id = useId()
  return (
    <fieldset class="body-options">
      <legend>Body of the request</legend>
      <label for={`${id}-body`}>Format</label>
      <select
        id={`${id}-body`}
        value={form.body}
        onChange={(event) => onChange({ ...form, body: event.currentTarget.value })}
      >
        {Object.entries(PRESETS).map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
      {form.body === 'telegram' ? (
        <FormField
          label="Chat id"
          name="body/parameters/chat_id"
          value={form.chatId}
          onInput={(chatId) => onChange({ ...form, chatId })}
          errors={errors}
          hint="The chat to write to: a number, or @ and the name of a channel."
        />
      ) : null}
      {form.body === 'template' ? (
        <>
          <label for={`${id}-template`}>Template</label>
          <textarea
            id={`${id}-template`}
            rows={8}
            spellcheck={false}
            value={form.template}
            placeholder={'{"event":{{ data.name | json }},"from":{{ data.call.from.number | json }}}'}
            onInput={(event) => onChange({ ...form, template: event.currentTarget.value })}
          />
          <FormField
            label="Content-Type"
            name="body/content_type"
            value={form.contentType}
            onInput={(contentType) => onChange({ ...form, contentType })}
            errors={errors}
          />
        </>
      ) : null}
      <FieldErrors
        errors={errors
          .filter(({ path }) => path === '/body' || path === '/body/template')
          .map(({ path, message }) => ({
            path,
            message: `The template${message.startsWith('line ') ? ':' : ''} ${message}`,
          }))}
      />
      <Preview url={url} form={form} />
    </fieldset>
  )
}

function Preview({ url, form }: { url: string; form: OptionsForm }) {
  const id = useId()
  const [event, setEvent] = useState<string>('dial_started')
  const [preview, setPreview] = useState<WebhookPreview | null>(null)
  const [error, setError] = useState<string | null>(null)
  const body = bodyOf(form)
  const previewed = JSON.stringify({ url, event, body })
  const isEmpty = body?.template?.trim() === ''
  useEffect(() => {
    let isCurrent = true
    const show = async () => {
      const response = await request<WebhookPreview>('POST', '/integration/webhook/preview', JSON.parse(previewed))
      if (!isCurrent) return
      setPreview(response.ok ? response.result : null)
      setError(response.ok ? null : errorText(response))
    }
    setError(null)
    if (isEmpty) return setPreview(null)
    const timer = setTimeout(show, PREVIEW_AFTER_MS)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [previewed])
  return (
    <section class="body-preview" aria-live="polite">
      <label for={`${id}-event`}>What the receiver gets for</label>
      <select id={`${id}-event`} value={event} onChange={(change) => setEvent(change.currentTarget.value)}>
        {EVENT_NAMES.map((name) => (
          <option key={name} value={name}>
            {humanize(name)}
          </option>
        ))}
      </select>
      {error === null ? null : <p class="field-error">{error}</p>}
      {preview === null || preview.not_sent === null ? null : <p class="muted">As saved, {preview.not_sent}.</p>}
      {preview === null ? null : preview.body === '' ? (
        <p class="muted">Nothing: the template gives an empty result, so this event is not sent.</p>
      ) : (
        <CodeBlock
          text={preview.content_type.includes('json') ? formatJson(preview.body) : preview.body}
          label={`the body, ${preview.content_type}`}
        />
      )}
    </section>
  )
}
