import type { ComponentChildren } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'

type Option = readonly [value: string, word: string]

export function Choice({
  label,
  value,
  options,
  onPick,
}: {
  label: string
  value: string
  options: readonly Option[]
  onPick: (value: string) => void
}) {
  const id = useId()
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onPick(event.currentTarget.value)}>
        {options.map(([option, word]) => (
          <option key={option} value={option}>
            {word}
          </option>
        ))}
      </select>
    </div>
  )
}

const SETTLE_MS = 300

/** A text or time that is looked for once the typing has stopped. */
export function Search({
  label,
  value,
  type = 'search',
  placeholder = '',
  onPick,
}: {
  label: string
  value: string
  type?: 'search' | 'datetime-local'
  placeholder?: string
  onPick: (value: string) => void
}) {
  const id = useId()
  const [typed, setTyped] = useState(value)
  useEffect(() => setTyped(value), [value])
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => onPick(typed.trim()), SETTLE_MS)
    return () => clearTimeout(timer)
  }, [typed])
  const common = {
    id,
    value: typed,
    onInput: (event: InputEvent & { currentTarget: HTMLInputElement }) => setTyped(event.currentTarget.value),
  }
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      {type === 'search' ? (
        <input type="search" placeholder={placeholder} {...common} />
      ) : (
        <input type="datetime-local" {...common} />
      )}
    </div>
  )
}

export function Segments({
  label,
  value,
  options,
  onPick,
}: {
  label: string
  value: string
  options: readonly Option[]
  onPick: (value: string) => void
}) {
  const name = useId()
  return (
    <fieldset class="segmented" aria-label={label}>
      {options.map(([option, word]) => (
        <label key={option}>
          <input type="radio" name={name} checked={value === option} onChange={() => onPick(option)} />
          {word}
        </label>
      ))}
    </fieldset>
  )
}

/** The filters beyond the first: in sight on a wide screen, behind one line on a phone unless one of them is set. */
export function MoreFilters({ open, children }: { open: boolean; children: ComponentChildren }) {
  const [wide] = useState(() => matchMedia('(min-width: 821px)').matches)
  return (
    <details class="more-filters" open={wide || open}>
      <summary>More filters</summary>
      <div class="filter-fields">{children}</div>
    </details>
  )
}
