import type { FieldError } from '../../../../lib/fault.ts'
import { FieldErrors } from '../../components/form-field.tsx'
import { Icon } from '../../components/icon.tsx'
import type { HeaderLine } from '../../lib/header-lines.ts'

type HeaderLinesProps = {
  headers: readonly HeaderLine[]
  /** Errors of a form; those below `/headers` are shown. */
  errors: readonly FieldError[]
  onChange: (headers: readonly HeaderLine[]) => void
}

/** Shows request headers for editing. Their values are secrets, which are not read back. */
export function HeaderLines({ headers, errors, onChange }: HeaderLinesProps) {
  const set = (at: number, change: Partial<HeaderLine>) =>
    onChange(headers.map((header, index) => (index === at ? { ...header, ...change } : header)))
  const wrong = errors.filter(({ path }) => path.startsWith('/headers'))
  return (
    <>
      <p class="hint">Values are secrets: they cannot be read again. An empty value keeps the stored one.</p>
      {headers.map((header, at) => (
        <div class="header-line" key={at}>
          <input
            aria-label={`Name of header ${at + 1}`}
            placeholder="X-Api-Key"
            value={header.name}
            onInput={(event) => set(at, { name: event.currentTarget.value })}
          />
          <input
            type="password"
            autoComplete="off"
            aria-label={`Value of header ${at + 1}`}
            placeholder="stored value"
            value={header.value}
            onInput={(event) => set(at, { value: event.currentTarget.value })}
          />
          <button
            type="button"
            class="button quiet only"
            aria-label={`Remove header ${at + 1}`}
            onClick={() => onChange(headers.filter((_, index) => index !== at))}
          >
            <Icon name="trash" />
          </button>
        </div>
      ))}
      <FieldErrors
        errors={wrong.map(({ path, message }) => ({
          path,
          message: `${path.replace('/headers', '').slice(1)} ${message}`,
        }))}
      />
      <button class="button" type="button" onClick={() => onChange([...headers, { name: '', value: '' }])}>
        <Icon name="plus" /> Add a header
      </button>
    </>
  )
}
