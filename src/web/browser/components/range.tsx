import { useState } from 'preact/hooks'
import { RANGES, type RangeName, rangeOf } from '../lib/range.ts'
import { Segments } from './choice.tsx'

type RangeProps = {
  readonly query: Readonly<Record<string, string | undefined>>
  readonly onChange: (changes: Readonly<Record<'range' | 'from' | 'to', string>>) => void
}

const TEXTS: Readonly<Record<RangeName, string>> = { today: 'Today', week: '7 days', month: '30 days', dates: 'Dates…' }

/** Shows the choice of a time: today, 7 days, 30 days, or two dates. */
export function Range({ query, onChange }: RangeProps) {
  const chosen = rangeOf(query)
  const [from, setFrom] = useState(query.from ?? '')
  const [to, setTo] = useState(query.to ?? '')
  const choose = (range: RangeName) =>
    range === 'dates' ? onChange({ range, from, to }) : onChange({ range, from: '', to: '' })
  return (
    <>
      <Segments
        label="Time"
        value={chosen}
        options={RANGES.map((name) => [name, TEXTS[name]] as const)}
        // The options are these names.
        onChange={(name) => choose(name as RangeName)}
      />
      {chosen === 'dates' ? (
        <span class="dates">
          <input
            type="date"
            aria-label="From"
            value={from}
            max={to}
            onChange={(event) => {
              setFrom(event.currentTarget.value)
              onChange({ range: 'dates', from: event.currentTarget.value, to })
            }}
          />
          <span class="dim">to</span>
          <input
            type="date"
            aria-label="To"
            value={to}
            min={from}
            onChange={(event) => {
              setTo(event.currentTarget.value)
              onChange({ range: 'dates', from, to: event.currentTarget.value })
            }}
          />
        </span>
      ) : null}
    </>
  )
}
