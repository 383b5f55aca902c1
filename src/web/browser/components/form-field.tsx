import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import type { FieldError } from '../../../lib/fault.ts'
import { ErrorMessage } from './error-message.tsx'
import { Icon } from './icon.tsx'

type FormFieldProps = {
  label: string
  name: string
  type?: 'text' | 'email' | 'password'
  value: string
  onInput: (value: string) => void
  errors?: readonly FieldError[]
  hint?: ComponentChildren
  autoComplete?: string
  required?: boolean
  /** Whether it has the focus when the page opens. */
  autoFocus?: boolean
  placeholder?: string
  /** The id of a `datalist` with proposals. */
  list?: string
}

/** Shows a labelled input with its errors beside it, tied together for screen readers. */
export function FormField(props: FormFieldProps) {
  const id = useId()
  const errors = (props.errors ?? []).filter((error) => error.path === `/${props.name}`)
  const describedBy = errors.length > 0 ? `${id}-error` : props.hint === undefined ? undefined : `${id}-hint`
  const common = {
    id,
    name: props.name,
    value: props.value,
    required: props.required ?? false,
    ...(props.autoFocus === true ? { autoFocus: true } : {}),
    autoComplete: props.autoComplete ?? 'off',
    'aria-invalid': errors.length > 0,
    ...(describedBy === undefined ? {} : { 'aria-describedby': describedBy }),
    ...(props.placeholder === undefined ? {} : { placeholder: props.placeholder }),
    ...(props.list === undefined ? {} : { list: props.list }),
    onInput: (event: InputEvent & { currentTarget: HTMLInputElement }) => props.onInput(event.currentTarget.value),
  }
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      {props.type === 'password' ? (
        <input type="password" {...common} />
      ) : props.type === 'email' ? (
        <input type="email" {...common} />
      ) : (
        <input type="text" {...common} />
      )}
      {errors.length > 0 ? (
        <p class="error" id={`${id}-error`} role="alert">
          <Icon name="alert" />
          {errors.map((error) => error.message).join(' ')}
        </p>
      ) : props.hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {props.hint}
        </p>
      )}
    </div>
  )
}

type TextFieldProps = Pick<
  FormFieldProps,
  'label' | 'name' | 'value' | 'onInput' | 'errors' | 'hint' | 'placeholder'
> & { rows: number }

/** Shows a labelled input of several lines, such as a certificate, with its errors. */
export function TextField({ label, name, value, onInput, errors = [], hint, placeholder, rows }: TextFieldProps) {
  const id = useId()
  const wrong = errors.filter(({ path }) => path === `/${name}`)
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        name={name}
        class="mono"
        rows={rows}
        spellcheck={false}
        autoComplete="off"
        value={value}
        placeholder={placeholder}
        aria-invalid={wrong.length > 0}
        aria-describedby={`${id}-hint`}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <div id={`${id}-hint`}>
        <FieldErrors errors={wrong} />
        {wrong.length > 0 || hint === undefined ? null : <p class="hint">{hint}</p>}
      </div>
    </div>
  )
}

type SelectFieldProps = {
  label: string
  value: string
  /** Pairs of a value and its text. */
  options: readonly (readonly [string, string])[]
  onChange: (value: string) => void
  hint?: ComponentChildren
}

/** Shows a labelled menu. */
export function SelectField({ label, value, options, onChange, hint }: SelectFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        {...(hint === undefined ? {} : { 'aria-describedby': `${id}-hint` })}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

type CheckFieldProps = { checked: boolean; onChange: (checked: boolean) => void; children: ComponentChildren }

/** Shows a checkbox with its text. */
export function CheckField({ checked, onChange, children }: CheckFieldProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      {children}
    </label>
  )
}

/** Shows an error of a form that belongs to no field; nothing without one. */
export function FormError({ text }: { text: string | null }) {
  return text === null ? null : <ErrorMessage text={text} />
}

/** Shows errors that belong to several fields or to none. */
export function FieldErrors({ errors }: { errors: readonly FieldError[] }) {
  return (
    <>
      {errors.map(({ path, message }) => (
        <p class="error" role="alert" key={`${path} ${message}`}>
          <Icon name="alert" />
          {message}
        </p>
      ))}
    </>
  )
}

type CredentialFieldsProps = {
  email: string
  password: string
  onEmail: (email: string) => void
  onPassword: (password: string) => void
}

/** Shows the inputs of a login, which password managers recognize. */
export function CredentialFields({ email, password, onEmail, onPassword }: CredentialFieldsProps) {
  return (
    <>
      <FormField
        label="E-mail"
        name="email"
        type="email"
        value={email}
        onInput={onEmail}
        autoComplete="username"
        autoFocus
        required
      />
      <FormField
        label="Password"
        name="password"
        type="password"
        value={password}
        onInput={onPassword}
        autoComplete="current-password"
        required
      />
    </>
  )
}
