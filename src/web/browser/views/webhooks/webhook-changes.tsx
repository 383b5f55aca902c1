import { shownUrl } from '../../../../lib/shown-url.ts'
import { Icon } from '../../components/icon.tsx'
import { humanize } from '../../lib/format.ts'
import type { Webhook } from '../../lib/resources.ts'
import { diffWebhooks, type WebhookChange } from '../../lib/webhook-diff.ts'

function ChangeList({ changes, none }: { changes: readonly WebhookChange[]; none: string }) {
  if (changes.length === 0) return <p class="muted">{none}</p>
  return (
    <ul class="changes">
      {changes.map((change, at) => (
        <li key={at} class={change.kind}>
          <Change change={change} />
        </li>
      ))}
    </ul>
  )
}

function Change({ change }: { change: WebhookChange }) {
  if (change.kind === 'moved') return <span>the order changed</span>
  if (change.kind !== 'switched')
    return (
      <>
        <b>{change.kind === 'added' ? '+ added' : '− removed'}</b> <code>{shownUrl(change.url)}</code>
      </>
    )
  return (
    <>
      <code>{shownUrl(change.url)}</code>
      {change.on.map((name) => (
        <span key={name} class="switch-change on">
          {humanize(name)} on
        </span>
      ))}
      {change.off.map((name) => (
        <span key={name} class="switch-change off">
          {humanize(name)} off
        </span>
      ))}
    </>
  )
}

type Lists = { base: readonly Webhook[]; mine: readonly Webhook[] }

type EditConflictProps = Lists & { theirs: readonly Webhook[]; onMerge: () => void; onTakeTheirs: () => void }

/**
 * Shows that someone else saved the list while it was being edited here: both changes side by side, and how to go on.
 */
export function EditConflict({ base, mine, theirs, onMerge, onTakeTheirs }: EditConflictProps) {
  return (
    <section class="card conflict" role="alert" aria-label="Changed by someone else">
      <header class="card-head">
        <h2>
          <Icon name="alert" /> Someone else changed the list
        </h2>
      </header>
      <p>Nothing was overwritten. These are their saved changes, and yours that are not saved yet:</p>
      <div class="conflict-sides">
        <div>
          <h3>Their changes</h3>
          <ChangeList changes={diffWebhooks(base, theirs)} none="nothing visible" />
        </div>
        <div>
          <h3>Your changes</h3>
          <ChangeList changes={diffWebhooks(base, mine)} none="nothing" />
        </div>
      </div>
      <div class="actions">
        <button type="button" class="primary" onClick={onMerge}>
          Apply my changes to their list
        </button>
        <button type="button" onClick={onTakeTheirs}>
          Discard mine, keep theirs
        </button>
      </div>
    </section>
  )
}

type SaveBarProps = Lists & { blocked: boolean; onSave: () => void; onDiscard: () => void }

/** Shows the changes that are not saved yet, and saves or discards them. */
export function SaveBar({ base, mine, blocked, onSave, onDiscard }: SaveBarProps) {
  return (
    <section class="save-bar" aria-label="Unsaved changes">
      <div class="save-summary">
        <strong>Unsaved changes</strong>
        <ChangeList changes={diffWebhooks(base, mine)} none="" />
      </div>
      <div class="actions">
        <button type="button" onClick={onDiscard}>
          Discard
        </button>
        <button type="button" class="primary" onClick={onSave} disabled={blocked}>
          Save list
        </button>
      </div>
    </section>
  )
}
