import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { shownUrl } from '../../../../lib/shown-url.ts'
import { isMqttUrl, TOPIC_NAMES } from '../../../../outbound/mqtt-url.ts'
import { Icon } from '../../components/icon.tsx'
import { Time } from '../../components/time.tsx'
import { SWITCH_TEXTS } from '../../lib/event-switches.ts'
import { humanize } from '../../lib/format.ts'
import type { Webhook, WebhookHealth, WebhookOptions } from '../../lib/resources.ts'
import { type DraftRow, isSwitchChanged } from '../../lib/webhook-draft.ts'
import { WebhookCharts } from './webhook-charts.tsx'
import { WebhookHealthLine } from './webhook-health.tsx'

/** Shows the heads of the columns. Each switch has a label of its own, so these are hidden from screen readers. */
export function WebhookTableHead() {
  return (
    <div class="webhook-head" aria-hidden="true">
      <span>URL</span>
      {SWITCH_TEXTS.map(({ name, group, verb, meaning }) => (
        <span key={name} title={meaning}>
          <small>{group}</small>
          {verb}
        </span>
      ))}
    </div>
  )
}

/** The dialogs that a row opens. */
export type RowDialog = 'secret' | 'options' | 'test' | 'crm'

type WebhookRowProps = {
  row: DraftRow
  health: WebhookHealth | null
  /** Its stored options; `null`: not read yet, or it is not saved. */
  options: WebhookOptions | null
  error: string | null
  /** How often the list holds this URL. */
  copies: number
  onEdit: (change: Partial<Webhook>) => void
  onRemove: (removed: boolean) => void
  onOpen: (dialog: RowDialog) => void
}

/** Shows one webhook of the list for editing, with the state of its receiver. */
export function WebhookRow({ row, health, options, error, copies, onEdit, onRemove, onOpen }: WebhookRowProps) {
  const { webhook, removed, saved } = row
  const [charted, setCharted] = useState(false)
  const isSaved = saved !== null && saved.url === webhook.url && !removed
  const name = webhook.url === '' ? 'new webhook' : shownUrl(webhook.url)
  return (
    <li class={`webhook-row${removed ? ' removed' : ''}${error === null ? '' : ' invalid'}`}>
      <div class="webhook-url">
        {isSaved && health !== null && health.name !== null ? <p class="webhook-name">{health.name}</p> : null}
        <UrlField row={row} name={name} error={error} onEdit={onEdit} />
        {copies > 1 && !removed ? (
          <p class="webhook-warning">
            <Icon name="alert" /> This URL is listed {copies} times. Each of its events is sent {copies} times.
          </p>
        ) : null}
        {removed ? (
          <p class="health muted">Removed when you save. Its pending deliveries are cancelled.</p>
        ) : saved === null ? (
          <p class="health muted">New. Its signing secret is made when you save.</p>
        ) : (
          <WebhookHealthLine health={isSaved ? health : null} />
        )}
        {isSaved && options?.problem !== undefined ? <Problem problem={options.problem} /> : null}
      </div>
      <fieldset class="switches" disabled={removed}>
        <legend class="visually-hidden">Events for {name}</legend>
        {SWITCH_TEXTS.map((event) => (
          <label
            key={event.name}
            class={isSwitchChanged(row, event.name) ? 'switch changed' : 'switch'}
            title={event.meaning}
          >
            <input
              type="checkbox"
              role="switch"
              checked={webhook[event.name]}
              aria-checked={webhook[event.name]}
              onChange={(change) => onEdit({ [event.name]: change.currentTarget.checked })}
            />
            <i aria-hidden="true" />
            <span class="switch-label">{humanize(event.name)}</span>
          </label>
        ))}
      </fieldset>
      <div class="webhook-actions">
        {removed ? (
          <button type="button" class="ghost" onClick={() => onRemove(false)}>
            Undo
          </button>
        ) : (
          <>
            <RowButton
              icon="live"
              label={`Charts of ${name}`}
              text="Charts"
              disabled={!isSaved}
              expanded={charted && isSaved}
              onClick={() => setCharted(!charted)}
            />
            {isSaved && options?.flow ? (
              <RowButton
                icon="crm"
                label={options.flow.preset === undefined ? `Requests of ${name}` : `CRM of ${name}`}
                text={options.flow.preset === undefined ? 'Requests' : 'CRM'}
                onClick={() => onOpen('crm')}
              />
            ) : null}
            <RowButton
              icon="options"
              label={`Options of ${name}`}
              text="Options"
              disabled={!isSaved}
              onClick={() => onOpen('options')}
            />
            <RowButton
              icon="key"
              label={`Signing secret of ${name}`}
              text="Secret"
              disabled={!isSaved}
              onClick={() => onOpen('secret')}
            />
            <RowButton
              icon="send"
              label={`Send a test to ${name}`}
              text="Test"
              disabled={!isSaved}
              onClick={() => onOpen('test')}
            />
            <RowButton icon="trash" label={`Remove ${name}`} text="Remove" onClick={() => onRemove(true)} />
          </>
        )}
      </div>
      {charted && isSaved && health !== null ? <WebhookCharts url={health.url} occurrence={health.occurrence} /> : null}
    </li>
  )
}

function Problem({ problem: { since, message } }: { problem: NonNullable<WebhookOptions['problem']> }) {
  return (
    <p class="webhook-warning" role="alert">
      <Icon name="alert" />
      <span>
        Its authorization is refused since <Time at={since} day />: {message}. Its deliveries are pending until it is
        renewed: open CRM and enter the secrets anew.
      </span>
    </p>
  )
}

type UrlFieldProps = Pick<WebhookRowProps, 'row' | 'error' | 'onEdit'> & { name: string }

function UrlField({ row: { webhook, saved, removed }, name, error, onEdit }: UrlFieldProps) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [isEdited, setEdited] = useState(false)
  // Whoever edits the URL needs its password and its own spelling; whoever only sees the list does not.
  const edit = (field: HTMLInputElement) => {
    field.value = webhook.url
    setEdited(true)
  }
  useLayoutEffect(() => {
    if (saved === null && webhook.url === '') input.current?.focus()
  }, [])
  return (
    <>
      <input
        ref={input}
        id={id}
        type="url"
        class={saved !== null && saved.url !== webhook.url ? 'url changed' : 'url'}
        aria-label={`URL of ${name}`}
        aria-invalid={error !== null}
        {...(error === null ? {} : { 'aria-describedby': `${id}-error` })}
        placeholder="https://crm.example.com/calls"
        spellcheck={false}
        value={isEdited ? webhook.url : shownUrl(webhook.url)}
        // A text that hides the password must not be typed into: what it hides would be lost.
        readOnly={!isEdited && shownUrl(webhook.url) !== webhook.url}
        disabled={removed}
        onFocus={(event) => edit(event.currentTarget)}
        onBlur={() => setEdited(false)}
        onInput={(event) => onEdit({ url: event.currentTarget.value.trim() })}
      />
      {error === null ? null : (
        <p class="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
      {isMqttUrl(webhook.url) && saved?.url !== webhook.url ? (
        <p class="hint">
          Each event is published with QoS 1. The path is the topic; it may have{' '}
          {TOPIC_NAMES.map((topicName) => `{${topicName}}`).join(', ')}:{' '}
          <code>mqtts://user:password@host/calls/{'{event}'}</code>
        </p>
      ) : null}
    </>
  )
}

type RowButtonProps = {
  icon: 'live' | 'crm' | 'options' | 'key' | 'send' | 'trash'
  label: string
  text: string
  disabled?: boolean
  /** Whether the part of the row that a button opens is open. */
  expanded?: boolean
  onClick: () => void
}

function RowButton({ icon, label, text, disabled = false, expanded, onClick }: RowButtonProps) {
  return (
    <button
      type="button"
      class="ghost row-button"
      aria-label={label}
      title={disabled ? `${text}: save the list first` : text}
      disabled={disabled}
      {...(expanded === undefined ? {} : { 'aria-expanded': expanded })}
      onClick={onClick}
    >
      <Icon name={icon} />
      {text}
    </button>
  )
}
