import { words } from '../lib/format.ts'
import { type ListChange, listChanges } from '../lib/list-change.ts'
import type { Webhook } from '../lib/resources.ts'
import { Icon } from '../parts/icon.tsx'

export function ChangeList({ changes, none }: { changes: readonly ListChange[]; none: string }) {
  if (changes.length === 0) return <p class="soft">{none}</p>
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

function Change({ change }: { change: ListChange }) {
  if (change.kind === 'moved') return <span>the order changed</span>
  if (change.kind !== 'switched')
    return (
      <>
        <b>{change.kind === 'added' ? '+ added' : '− removed'}</b> <code>{change.url}</code>
      </>
    )
  return (
    <>
      <code>{change.url}</code>
      {change.on.map((name) => (
        <span key={name} class="flip on">
          {words(name)} on
        </span>
      ))}
      {change.off.map((name) => (
        <span key={name} class="flip off">
          {words(name)} off
        </span>
      ))}
    </>
  )
}

type Sides = { base: readonly Webhook[]; mine: readonly Webhook[] }

/** Someone else saved the list while it was being edited here: both changes side by side, and how to go on. */
export function SomeoneElse({
  base,
  mine,
  theirs,
  onMerge,
  onTake,
}: Sides & { theirs: readonly Webhook[]; onMerge: () => void; onTake: () => void }) {
  return (
    <section class="card conflict" role="alert" aria-label="Changed by someone else">
      <header class="card-head">
        <h2>
          <Icon name="alert" /> Someone else changed the list
        </h2>
      </header>
      <p>Nothing was overwritten. This is what they saved, and what you have not saved yet:</p>
      <div class="conflict-sides">
        <div>
          <h3>They changed</h3>
          <ChangeList changes={listChanges(base, theirs)} none="nothing that you would see" />
        </div>
        <div>
          <h3>You changed</h3>
          <ChangeList changes={listChanges(base, mine)} none="nothing" />
        </div>
      </div>
      <div class="actions">
        <button type="button" class="primary" onClick={onMerge}>
          Put my changes on top of theirs
        </button>
        <button type="button" onClick={onTake}>
          Drop mine, take theirs
        </button>
      </div>
    </section>
  )
}

type SaveBarProps = Sides & { blocked: boolean; onSave: () => void; onDiscard: () => void }

export function SaveBar({ base, mine, blocked, onSave, onDiscard }: SaveBarProps) {
  return (
    <section class="save-bar" aria-label="Changes that are not saved">
      <div class="save-what">
        <strong>Not saved yet</strong>
        <ChangeList changes={listChanges(base, mine)} none="" />
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
