import { useEffect, useId, useRef } from 'preact/hooks'
import { serverNowMs } from '../lib/clock.ts'
import { isSwitched, type Row } from '../lib/draft.ts'
import { milliseconds, span, waitingCount } from '../lib/format.ts'
import { SWITCHES, type Switch, type Webhook, type WebhookHealth } from '../lib/resources.ts'
import { Icon } from '../parts/icon.tsx'

/** What each switch means, in the words of the person who decides. */
const MEANING: Readonly<Record<Switch, readonly [group: string, word: string, meaning: string]>> = {
  call_started: ['Call', 'started', 'An incoming, outgoing or internal call started'],
  call_ended: ['Call', 'ended', 'The call ended completely'],
  call_saved: ['Call', 'saved', 'The record of the call is complete, with its recordings'],
  dial_started: ['Phone', 'rings', 'A phone starts ringing'],
  dial_answered: ['Phone', 'answered', 'A phone was picked up'],
  dial_ended: ['Phone', 'done', 'One stage ended: it stopped ringing, or that party left'],
  call_transferred: ['Call', 'transferred', 'The call was transferred, blind or attended'],
}

/** The heads of the columns; each switch has a label of its own, so these are for the eye alone. */
export function SwitchHeads() {
  return (
    <div class="switch-heads" aria-hidden="true">
      <span>URL</span>
      {SWITCHES.map((name) => (
        <span key={name} title={MEANING[name][2]}>
          <small>{MEANING[name][0]}</small>
          {MEANING[name][1]}
        </span>
      ))}
      <span />
    </div>
  )
}

type WebhookRowProps = {
  row: Row
  health: WebhookHealth | null
  fault: string | null
  onEdit: (change: Partial<Webhook>) => void
  onRemove: (removed: boolean) => void
  onOpen: (kind: 'secret' | 'test') => void
}

export function WebhookRow({ row, health, fault, onEdit, onRemove, onOpen }: WebhookRowProps) {
  const { webhook, removed, saved } = row
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (saved === null && webhook.url === '') input.current?.focus()
  }, [])
  const known = saved !== null && saved.url === webhook.url && !removed
  const name = webhook.url === '' ? 'new webhook' : webhook.url
  return (
    <li class={`webhook-row${removed ? ' removed' : ''}${fault === null ? '' : ' faulty'}`}>
      <div class="webhook-url">
        <input
          ref={input}
          id={id}
          type="url"
          class={saved !== null && saved.url !== webhook.url ? 'url changed' : 'url'}
          aria-label={`URL of ${name}`}
          aria-invalid={fault !== null}
          {...(fault === null ? {} : { 'aria-describedby': `${id}-fault` })}
          placeholder="https://crm.example.com/calls"
          spellcheck={false}
          value={webhook.url}
          disabled={removed}
          onInput={(event) => onEdit({ url: event.currentTarget.value.trim() })}
        />
        {fault === null ? null : (
          <p class="fault" id={`${id}-fault`} role="alert">
            {fault}
          </p>
        )}
        <Health health={known ? health : null} state={removed ? 'removed' : saved === null ? 'new' : 'saved'} />
      </div>
      <fieldset class="switches" disabled={removed}>
        <legend class="hidden">Events for {name}</legend>
        {SWITCHES.map((event) => (
          <label key={event} class={isSwitched(row, event) ? 'switch changed' : 'switch'} title={MEANING[event][2]}>
            <input
              type="checkbox"
              role="switch"
              checked={webhook[event]}
              aria-checked={webhook[event]}
              onChange={(change) => onEdit({ [event]: change.currentTarget.checked })}
            />
            <i aria-hidden="true" />
            <span class="switch-word">
              {MEANING[event][0]} {MEANING[event][1]}
            </span>
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
              icon="key"
              label={`Signing secret of ${name}`}
              word="Secret"
              off={!known}
              onClick={() => onOpen('secret')}
            />
            <RowButton
              icon="deliveries"
              label={`Send a test to ${name}`}
              word="Test"
              off={!known}
              onClick={() => onOpen('test')}
            />
            <RowButton icon="trash" label={`Remove ${name}`} word="Remove" onClick={() => onRemove(true)} />
          </>
        )}
      </div>
    </li>
  )
}

type RowButtonProps = {
  icon: 'key' | 'deliveries' | 'trash'
  label: string
  word: string
  off?: boolean
  onClick: () => void
}

function RowButton({ icon, label, word, off = false, onClick }: RowButtonProps) {
  return (
    <button
      type="button"
      class="ghost row-button"
      aria-label={label}
      title={off ? `${word}: save the list first` : word}
      disabled={off}
      onClick={onClick}
    >
      <Icon name={icon} />
      <span class="row-word">{word}</span>
    </button>
  )
}

function Health({ health, state }: { health: WebhookHealth | null; state: 'removed' | 'new' | 'saved' }) {
  if (state === 'removed') return <p class="health soft">Removed when you save; what waits for it is cancelled.</p>
  if (state === 'new') return <p class="health soft">New: a signing secret is made when you save.</p>
  if (health === null) return <p class="health soft">No attempt since the start.</p>
  const { last } = health
  const down = health.down_since
  return (
    <p class="health">
      <span class={down === null ? 'health-state good' : 'health-state bad'}>
        <i class="dot" aria-hidden="true" />
        {down === null ? (last === null ? 'ready' : 'up') : `down for ${span(serverNowMs() - Date.parse(down))}`}
      </span>
      {health.waiting > 0 ? (
        <span class="health-waiting">{`${waitingCount(health.waiting)} ${health.waiting === 1 ? 'waits' : 'wait'}`}</span>
      ) : null}
      {last === null ? null : (
        <span class="soft">
          {last.status === null ? `last attempt: ${last.error ?? 'no answer'}` : `last answer ${last.status}`}
          {last.duration_ms === null ? '' : ` in ${milliseconds(last.duration_ms)}`},{' '}
          {span(serverNowMs() - Date.parse(last.at))} ago
        </span>
      )}
    </p>
  )
}
