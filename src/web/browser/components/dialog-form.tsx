import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import type { FieldError } from '../../../lib/fault.ts'
import { ErrorMessage } from './error-message.tsx'
import { useFirstError } from './first-error.ts'

type DialogFormProps = {
  /** The classes of the form. */
  styles: string
  /** The errors of its fields, which show them: the first one comes into view. */
  errors: readonly FieldError[]
  /** An error that belongs to no field. */
  error?: string | null
  /** The text of the button that submits the form. */
  action: string
  /** The text of the button that closes the dialog. */
  cancel?: string
  disabled?: boolean
  onSubmit: () => void
  onClose: () => void
  children: ComponentChildren
}

/** Shows the form of a dialog: its fields, and below them its error and its buttons. */
export function DialogForm(props: DialogFormProps) {
  const {
    styles,
    errors,
    error = null,
    action,
    cancel = 'Cancel',
    disabled = false,
    onSubmit,
    onClose,
    children,
  } = props
  const element = useRef<HTMLFormElement>(null)
  useFirstError(element, errors)
  return (
    <form
      ref={element}
      class={styles}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
      <div class="actions end">
        {error === null ? null : (
          <div class="form-error">
            <ErrorMessage text={error} />
          </div>
        )}
        <button type="button" onClick={onClose}>
          {cancel}
        </button>
        <button type="submit" class="primary" disabled={disabled}>
          {action}
        </button>
      </div>
    </form>
  )
}
