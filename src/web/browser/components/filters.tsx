import type { ComponentChildren } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { SelectField } from './form-field.tsx'

type ChoiceProps = {
  readonly label: string
  readonly value: string
  readonly options: readonly (readonly [value: string, label: string])[]
  readonly onChange: (value: string) => void
}

/** Shows a filter as a menu: for many values. */
export function SelectFilter(props: ChoiceProps) {
  return <SelectField styles="filter" {...props} />
}

/** Shows a filter as a row of buttons: for a few values. */
export function SegmentedFilter({ label, value, options, onChange }: ChoiceProps) {
  const name = useId()
  return (
    <fieldset class="segmented" aria-label={label}>
      {options.map(([option, text]) => (
        <label key={option}>
          <input type="radio" name={name} checked={value === option} onChange={() => onChange(option)} />
          {text}
        </label>
      ))}
    </fieldset>
  )
}

/** A search starts once the typing has paused for this long. */
const TYPING_PAUSE_MS = 300

type TextFilterProps = {
  label: string
  value: string
  type?: 'search' | 'datetime-local'
  placeholder?: string
  onChange: (value: string) => void
}

/** Shows a filter as a field for a text or a time. */
export function TextFilter({ label, value, type = 'search', placeholder = '', onChange }: TextFilterProps) {
  const id = useId()
  const [typed, setTyped] = useState(value)
  useEffect(() => setTyped(value), [value])
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => onChange(typed.trim()), TYPING_PAUSE_MS)
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

type MoreFiltersProps = { filtered: boolean; onClear: () => void; children: ComponentChildren }

/** Shows the less common filters: in sight on a wide screen, folded away on a phone unless one of them is set. */
export function MoreFilters({ filtered, onClear, children }: MoreFiltersProps) {
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

type TimeRange = { readonly since?: string | undefined; readonly until?: string | undefined }

/** Shows the two fields of a time range. */
export function TimeFilters({
  range,
  onChange,
}: {
  range: TimeRange
  onChange: (name: keyof TimeRange, value: string) => void
}) {
  return (
    <>
      <TextFilter
        label="Since"
        type="datetime-local"
        value={range.since ?? ''}
        onChange={(value) => onChange('since', value)}
      />
      <TextFilter
        label="Until"
        type="datetime-local"
        value={range.until ?? ''}
        onChange={(value) => onChange('until', value)}
      />
    </>
  )
}
