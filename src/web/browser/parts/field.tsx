import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import type { FieldError } from '../../../lib/fault.ts'

type FieldProps = {
  label: string
  name: string
  type?: 'text' | 'email' | 'password'
  value: string
  onInput: (value: string) => void
  faults?: readonly FieldError[]
  hint?: ComponentChildren
  autoComplete?: string
  required?: boolean
}

/** A labelled input with its faults beside it, tied together for screen readers. */
export function Field(props: FieldProps) {
  const id = useId()
  const faults = (props.faults ?? []).filter((fault) => fault.path === `/${props.name}`)
  const described = faults.length > 0 ? `${id}-fault` : props.hint === undefined ? undefined : `${id}-hint`
  const common = {
    id,
    name: props.name,
    value: props.value,
    required: props.required ?? false,
    autoComplete: props.autoComplete ?? 'off',
    'aria-invalid': faults.length > 0,
    ...(described === undefined ? {} : { 'aria-describedby': described }),
    onInput: (event: InputEvent & { currentTarget: HTMLInputElement }) => props.onInput(event.currentTarget.value),
  }
  return (
    <div class={faults.length > 0 ? 'field faulty' : 'field'}>
      <label for={id}>{props.label}</label>
      {props.type === 'password' ? (
        <input type="password" {...common} />
      ) : props.type === 'email' ? (
        <input type="email" {...common} />
      ) : (
        <input type="text" {...common} />
      )}
      {faults.length > 0 ? (
        <p class="fault" id={`${id}-fault`} role="alert">
          {faults.map((fault) => fault.message).join(' ')}
        </p>
      ) : props.hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {props.hint}
        </p>
      )}
    </div>
  )
}
