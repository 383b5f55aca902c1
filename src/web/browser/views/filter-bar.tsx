import type { ComponentChildren } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'

type OneOf = {
  readonly label: string
  readonly value: string
  readonly options: readonly (readonly [value: string, word: string])[]
  readonly onPick: (value: string) => void
}

export function Choice({ label, value, options, onPick }: OneOf) {
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

export function Segments({ label, value, options, onPick }: OneOf) {
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
export function MoreFilters({
  filtered,
  onClear,
  children,
}: {
  filtered: boolean
  onClear: () => void
  children: ComponentChildren
}) {
  const [wide] = useState(() => matchMedia('(min-width: 821px)').matches)
  return (
    <details class="more-filters" open={wide || filtered}>
      <summary>More filters</summary>
      <div class="filter-fields">
        {children}
        {filtered ? (
          <button type="button" class="ghost" onClick={onClear}>
            Clear
          </button>
        ) : null}
      </div>
    </details>
  )
}

type Times = { readonly since?: string | undefined; readonly until?: string | undefined }

/** What every list can be narrowed to. */
export function TimeFilters({ times, onPick }: { times: Times; onPick: (name: keyof Times, value: string) => void }) {
  return (
    <>
      <Search
        label="Since"
        type="datetime-local"
        value={times.since ?? ''}
        onPick={(value) => onPick('since', value)}
      />
      <Search
        label="Until"
        type="datetime-local"
        value={times.until ?? ''}
        onPick={(value) => onPick('until', value)}
      />
    </>
  )
}
