import { useEffect, useId, useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

type Options = readonly (readonly [value: string, text: string])[]

type ChoiceProps = {
  readonly label: string
  readonly value: string
  readonly options: Options
  readonly onChange: (value: string) => void
}

/** Shows a choice of a few as a row of segments. */
export function Segments({ label, value, options, isSmall = false, onChange }: ChoiceProps & { isSmall?: boolean }) {
  const name = useId()
  return (
    <fieldset class={isSmall ? 'segments small' : 'segments'} aria-label={label}>
      {options.map(([option, text]) => (
        <label key={option}>
          <input
            type="radio"
            name={name}
            value={option}
            checked={value === option}
            onChange={() => onChange(option)}
            // A proposal or "Dates…" may be chosen again.
            onClick={() => value === option && onChange(option)}
          />
          {text}
        </label>
      ))}
    </fieldset>
  )
}

type Tab = { readonly value: string; readonly text: string; readonly count?: number | null; readonly isBad?: boolean }

/** The server counts up to this bound; beyond it the number is only known to be larger. */
const MAX_COUNTED = 10_000

/** Shows the states of a list with their counts, on the table that they filter. */
export function Tabs({ label, value, tabs, onChange }: Omit<ChoiceProps, 'options'> & { tabs: readonly Tab[] }) {
  const name = useId()
  return (
    <fieldset class="tabs" aria-label={label}>
      {tabs.map(({ value: option, text, count = null, isBad = false }) => (
        <label key={option}>
          <input type="radio" name={name} value={option} checked={value === option} onChange={() => onChange(option)} />
          {text}
          {count === null ? null : (
            <small class={isBad && count > 0 ? 'bad' : ''}>
              {count >= MAX_COUNTED ? `${MAX_COUNTED.toLocaleString('en')}+` : count.toLocaleString('en')}
            </small>
          )}
        </label>
      ))}
    </fieldset>
  )
}

/** Shows a choice of many as a menu. */
export function Menulist({ label, value, options, onChange }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      {options.map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </select>
  )
}

/** A search starts once the typing has paused for this long. */
const TYPING_PAUSE_MS = 300

type SearchProps = {
  readonly label: string
  /** Further words for the search, where the label has no room for them. */
  readonly title?: string
  readonly value: string
  readonly onChange: (value: string) => void
}

/** Shows a field for a search. */
export function Search({ label, title, value, onChange }: SearchProps) {
  const [typed, setTyped] = useState(value)
  useEffect(() => setTyped(value), [value])
  useEffect(() => {
    if (typed.trim() === value) return
    const timer = setTimeout(() => onChange(typed.trim()), TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <div class="search">
      <Icon name="search" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        title={title}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
    </div>
  )
}
