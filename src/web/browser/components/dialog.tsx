import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

type DialogProps = { title: string; onClose: () => void; children: ComponentChildren; wide?: boolean }

/** Shows a modal dialog: the browser's own, which keeps the focus inside and closes with Escape. */
export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // A layout effect is undone before the dialog leaves the document: from outside of it, the browser does not give the
  // focus back to what opened the dialog, and a plain effect is undone only after the next paint.
  useLayoutEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={element}
      class={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <header class="dialog-head">
        <h2 id={heading}>{title}</h2>
        <button type="button" class="ghost icon-only" onClick={onClose} aria-label="Close">
          <Icon name="cross" />
        </button>
      </header>
      {children}
    </dialog>
  )
}

type ConfirmDialogProps = {
  title: string
  text: string
  action: string
  danger?: boolean
  onConfirm: () => void
  onClose: () => void
}

/** Asks before something is done that cannot be undone. */
export function ConfirmDialog({ title, text, action, danger = false, onConfirm, onClose }: ConfirmDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p class="dialog-text">{text}</p>
      <div class="actions end">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class={danger ? 'danger' : 'primary'} onClick={onConfirm}>
          {action}
        </button>
      </div>
    </Dialog>
  )
}
