import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import type { FieldError } from '../../../lib/fault.ts'
import { ErrorMessage } from './error-message.tsx'
import { useFirstError } from './first-error.ts'

type DialogFormProps = {
  /** The errors of its fields, which show them: the first one comes into view. */
  errors: readonly FieldError[]
  /** An error that belongs to no field. */
  error?: string | null
  /** The text of the button that submits the form. */
  action: string
  /** The text of the button that closes the drawer. */
  cancel?: string
  disabled?: boolean
  onSubmit: () => void
  onClose: () => void
  children: ComponentChildren
}

/** Shows the form of a drawer: its fields, which scroll, and below them its buttons. */
export function DialogForm(props: DialogFormProps) {
  const { errors, error = null, action, cancel = 'Cancel', disabled = false, onSubmit, onClose, children } = props
  const element = useRef<HTMLFormElement>(null)
  useFirstError(element, errors)
  return (
    <form
      ref={element}
      class="drawer-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        // A drawer may be open over the form of another one, which is not submitted with it.
        event.stopPropagation()
        onSubmit()
      }}
    >
      <div class="drawer-body">
        {children}
        {error === null ? null : <ErrorMessage text={error} />}
      </div>
      <div class="drawer-foot">
        <span class="push" />
        <button class="button quiet" type="button" onClick={onClose}>
          {cancel}
        </button>
        <button type="submit" class="button primary" disabled={disabled}>
          {action}
        </button>
      </div>
    </form>
  )
}
