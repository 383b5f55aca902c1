import { useEffect, useId, useState } from 'preact/hooks'
import { EVENT_NAMES, type EventKind } from '../../../../events/kinds.ts'
import type { FieldError } from '../../../../lib/fault.ts'
import { Menulist } from '../../components/choice.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { FieldErrors, FormField } from '../../components/form-field.tsx'
import { errorText, request } from '../../lib/api.ts'
import { describeNeverSent, describeNotSent, kindsOf } from '../../lib/event-choices.ts'
import { formatJson, humanize } from '../../lib/format.ts'
import { bodyOf, filterOf, type OptionsForm } from '../../lib/options-form.ts'
import type { WebhookPreview } from '../../lib/resources.ts'
import type { WebhookForm } from '../../lib/webhook-form.ts'

/** The names of the presets; the API document describes them. */
const PRESETS = {
  default: 'Standard JSON',
  flat: 'Flat JSON',
  form: 'Form',
  cloudevents: 'CloudEvents',
  slack: 'Slack',
  teams: 'Microsoft Teams',
  mattermost: 'Mattermost',
  discord: 'Discord',
  telegram: 'Telegram',
  template: 'Own template',
} as const

/** How long the form has to be unchanged before the preview follows it. */
const PREVIEW_AFTER_MS = 600

type BodyPartProps = {
  form: WebhookForm
  errors: readonly FieldError[]
  onChange: (options: OptionsForm) => void
}

/** Shows the choice of the request's body, and a preview of the request. */
export function BodyPart({ form, errors, onChange }: BodyPartProps) {
  const id = useId()
  const { options } = form
  const [event, setEvent] = useState<EventKind | null>(null)
  // Until another is chosen, one that the webhook gets.
  const previewed = event ?? kindsOf(form.chosen)[0] ?? 'call_started'
  return (
    <div class="part">
      <div class="section-head">
        <h3>Body and preview</h3>
        <span class="push" />
        <Menulist
          label="Event of the preview"
          value={previewed}
          options={EVENT_NAMES.map((name) => [name, humanize(name)] as const)}
          onChange={(name) => setEvent(EVENT_NAMES.find((one) => one === name) ?? null)}
        />
        <Menulist
          label="Body"
          value={options.body}
          options={Object.entries(PRESETS)}
          onChange={(body) => onChange({ ...options, body })}
        />
      </div>
      {options.body === 'telegram' ? (
        <FormField
          label="Chat id"
          name="body/parameters/chat_id"
          value={options.chatId}
          onInput={(chatId) => onChange({ ...options, chatId })}
          errors={errors}
          hint="The chat to write to: a number, or @ and the name of a channel."
        />
      ) : null}
      {options.body === 'template' ? (
        <>
          <div class="field">
            <label for={id}>Template (Liquid)</label>
            <textarea
              id={id}
              class="mono"
              rows={8}
              spellcheck={false}
              value={options.template}
              placeholder={'{"event":{{ data.name | json }},"from":{{ data.call.from.number | json }}}'}
              onInput={(input) => onChange({ ...options, template: input.currentTarget.value })}
            />
          </div>
          <FormField
            label="Content-Type"
            name="body/content_type"
            value={options.contentType}
            onInput={(contentType) => onChange({ ...options, contentType })}
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
      <Preview form={form} event={previewed} />
    </div>
  )
}

function Preview({ form, event }: { form: WebhookForm; event: EventKind }) {
  const [preview, setPreview] = useState<WebhookPreview | null>(null)
  const [error, setError] = useState<string | null>(null)
  const body = bodyOf(form.options)
  const filter = filterOf(form.options)
  const previewed = JSON.stringify({ event, body })
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
  const notSent = describeNotSent(event, form.chosen, filter)
  const never = describeNeverSent(form.chosen, filter)
  return (
    <div class="stack tight" aria-live="polite">
      {error === null ? null : <p class="error">{error}</p>}
      {notSent === null ? null : <p class="error caution">{notSent}</p>}
      {preview === null ? null : preview.body === '' ? (
        <p class="hint">Nothing: the template gives an empty result, so this event is not sent.</p>
      ) : (
        <CodeBlock
          text={preview.content_type.includes('json') ? formatJson(preview.body) : preview.body}
          label="the body"
          head={
            <>
              <code>POST</code> {preview.content_type} · a sample of {humanize(event)}
            </>
          }
        />
      )}
      {never === null ? null : <p class="hint">{never}</p>}
    </div>
  )
}
