import { useEffect, useState } from 'preact/hooks'
import type { FieldError } from '../../../lib/fault.ts'

/** Why something could not be read or saved: a message, and errors at fields. */
export type Failure = { readonly message: string; readonly errors: readonly FieldError[] }

type FormSource<T> = {
  /** Reads the stored value; a value by itself is there at once. */
  readonly load: T | (() => Promise<T | Failure>)
  /** Returns the errors that the API would not find. */
  readonly check?: (value: T) => readonly FieldError[]
  /** Saves the value. Returns the error, or the value that is stored now. */
  readonly save: (value: T, stored: T) => Promise<{ readonly saved: T } | Failure>
  readonly onSaved?: (value: T) => void
}

export type Form<T> = {
  /** `null` until it was read. */
  readonly value: T | null
  readonly isChanged: boolean
  readonly isBusy: boolean
  /** An error that belongs to no field. */
  readonly error: string | null
  readonly errors: readonly FieldError[]
  set(value: T): void
  submit(): Promise<void>
  reload(): Promise<void>
}

/** Keeps a form: reads its value, shows errors at its fields, and saves it. */
export function useForm<T>({ load, check, save, onSaved }: FormSource<T>): Form<T> {
  const initial = typeof load === 'function' ? null : load
  const [stored, setStored] = useState<T | null>(initial)
  const [value, setValue] = useState<T | null>(initial)
  const [error, setError] = useState<string | null>(null)
  const [errors, setErrors] = useState<readonly FieldError[]>([])
  const [isBusy, setBusy] = useState(false)
  const reload = async () => {
    if (!isLoader(load)) return
    const found = await load()
    if (isFailure(found)) return setError(found.message)
    setError(null)
    setStored(found)
    setValue(found)
  }
  useEffect(() => void reload(), [])
  const submit = async () => {
    if (value === null || stored === null || isBusy) return
    const wrong = check?.(value) ?? []
    setErrors(wrong)
    setError(null)
    if (wrong.length > 0) return
    setBusy(true)
    const outcome = await save(value, stored)
    setBusy(false)
    if (!('saved' in outcome)) {
      setErrors(outcome.errors)
      return setError(outcome.errors.length > 0 ? null : outcome.message)
    }
    setStored(outcome.saved)
    setValue(outcome.saved)
    onSaved?.(outcome.saved)
  }
  const isChanged = value !== null && JSON.stringify(value) !== JSON.stringify(stored)
  return { value, isChanged, isBusy, error, errors, set: setValue, submit, reload }
}

const isLoader = <T>(load: T | (() => Promise<T | Failure>)): load is () => Promise<T | Failure> =>
  typeof load === 'function'

const isFailure = <T>(found: T | Failure): found is Failure =>
  typeof found === 'object' && found !== null && 'message' in found && 'errors' in found
