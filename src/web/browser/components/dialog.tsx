import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

/** From this width on, a drawer that docks stands beside its list. */
const DOCKED = '(min-width: 1500px)'

type DrawerProps = {
  readonly title: string
  /** The state below the title. */
  readonly beside?: ComponentChildren
  /** Whether it stands beside the list on a wide screen, which stays usable. */
  readonly docks?: boolean
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/**
 * Shows a drawer at the right: over the page, with the focus inside, or docked beside a list. It closes with Escape,
 * and the focus returns to what opened it.
 */
export function Drawer({ title, beside, docks = false, onClose, children }: DrawerProps) {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // A layout effect is undone before the dialog leaves the document: from outside of it, the browser does not give the
  // focus back to what opened the dialog, and a plain effect is undone only after the next paint.
  useLayoutEffect(() => {
    const dialog = element.current
    if (docks && matchMedia(DOCKED).matches) dialog?.show()
    else dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={element}
      class={docks ? 'drawer docks' : 'drawer'}
      aria-labelledby={heading}
      onKeyDown={(event) => {
        // A docked one is not modal: the browser does not close it. It stays open while one over it is closed.
        if (event.key !== 'Escape' || element.current?.matches(':modal') === true) return
        if (event.target instanceof Element && event.target.closest('dialog') !== element.current) return
        event.preventDefault()
        onClose()
      }}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        // The ground beside the drawer belongs to its dialog.
        if (event.target === element.current) onClose()
      }}
    >
      <div class="drawer-inside">
        <header class="drawer-head">
          <div>
            <h2 id={heading}>{title}</h2>
            <button type="button" class="button quiet only push" onClick={onClose} aria-label="Close">
              <Icon name="cross" />
            </button>
          </div>
          {beside === undefined ? null : <div>{beside}</div>}
        </header>
        {children}
      </div>
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
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useLayoutEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        event.stopPropagation()
        onClose()
      }}
    >
      <h2 id={heading}>{title}</h2>
      <p>{text}</p>
      <div class="actions end">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class={danger ? 'button danger' : 'button primary'} onClick={onConfirm}>
          {action}
        </button>
      </div>
    </dialog>
  )
}
