import type { ComponentChildren } from 'preact'
import type { FieldError } from '../../../../lib/fault.ts'
import { CheckField, FieldErrors, FormField, SelectField } from '../../components/form-field.tsx'
import { Icon } from '../../components/icon.tsx'
import { type CrmForm, describePhone, fieldText, linesOf, type MapLine, offeredPhones } from '../../lib/crm-form.ts'
import { pluralize } from '../../lib/format.ts'
import type { CrmUser, FlowPreset, Phone } from '../../lib/resources.ts'

type Parameter = FlowPreset['parameters'][number]

type CrmParametersProps = {
  form: CrmForm
  errors: readonly FieldError[]
  onChange: (form: CrmForm) => void
}

/** Shows the fields of some parameters of a preset. `users`: the CRM's users, once they were read. */
export function CrmParameters({
  parameters,
  users,
  phones,
  onFill,
  ...props
}: CrmParametersProps & {
  parameters: readonly Parameter[]
  users: readonly CrmUser[] | null
  phones: readonly Phone[]
  /** Absent: the preset cannot list users. */
  onFill?: ComponentChildren
}) {
  return (
    <>
      {parameters.map((parameter) =>
        parameter.type === 'map' ? (
          <UserMap
            key={parameter.name}
            parameter={parameter}
            users={users}
            phones={phones}
            onFill={onFill}
            {...props}
          />
        ) : (
          <CrmField key={parameter.name} parameter={parameter} users={users} phones={phones} {...props} />
        ),
      )}
    </>
  )
}

type FieldProps = CrmParametersProps & {
  parameter: Parameter
  users: readonly CrmUser[] | null
  phones: readonly Phone[]
}

/** The id of the list of proposals: the extensions of the PBXs. */
const EXTENSIONS = 'extensions'

function CrmField({ form, errors, onChange, parameter, users }: FieldProps) {
  const { name, title, help, type, required, choices = [] } = parameter
  const set = (value: string | boolean) => onChange({ ...form, values: { ...form.values, [name]: value } })
  if (type === 'boolean')
    return (
      <CheckField checked={form.values[name] === true} onChange={set}>
        <span>
          {title}
          <small>{help}</small>
        </span>
      </CheckField>
    )
  const value = fieldText(form, name)
  if (type === 'choice')
    return (
      <SelectField
        label={title}
        value={value}
        options={choices.map((one) => [one.value, one.title])}
        onChange={set}
        hint={help}
      />
    )
  const label = required ? title : `${title} (optional)`
  if (users !== null && name === 'responsible')
    return <SelectField label={label} value={value} options={userOptions(users, value)} onChange={set} hint={help} />
  const isStored = form.stored.includes(name)
  return (
    <FormField
      label={label}
      name={`parameters/${name}`}
      type={type === 'secret' ? 'password' : 'text'}
      value={value}
      onInput={set}
      errors={errors}
      hint={isStored ? `${help}. The stored one is kept if this is empty.` : help}
      autoComplete={type === 'secret' ? 'new-password' : 'off'}
      {...(isStored ? { placeholder: 'stored' } : {})}
    />
  )
}

/** Returns the users of a CRM as options, with the entered user although the CRM does not list it. */
function userOptions(users: readonly CrmUser[], value: string): (readonly [string, string])[] {
  const listed = users.map(({ id, name }) => [id, name] as const)
  const isUnknown = value !== '' && !users.some(({ id }) => id === value)
  return [['', 'nobody'], ...listed, ...(isUnknown ? ([[value, value]] as const) : [])]
}

/** Returns the name and state of a line's phone; an extension without a phone may be a slip. */
function phoneOf(extension: string, phones: readonly Phone[]): string {
  if (extension === '' || phones.length === 0) return ''
  return describePhone(extension, phones) ?? 'no known phone'
}

function UserMap({
  form,
  errors,
  onChange,
  parameter,
  users,
  phones,
  onFill,
}: FieldProps & { onFill?: ComponentChildren }) {
  const { name, title, help } = parameter
  const lines = linesOf(form, name)
  const setLines = (next: readonly MapLine[]) => onChange({ ...form, values: { ...form.values, [name]: next } })
  const set = (at: number, change: Partial<MapLine>) =>
    setLines(lines.map((line, index) => (index === at ? { ...line, ...change } : line)))
  const wrong = errors.filter(({ path }) => path === `/parameters/${name}` || path.startsWith(`/parameters/${name}/`))
  return (
    <fieldset class="stack tight">
      <div class="section-head">
        <h3>{title}</h3>
        {users === null ? null : (
          <p>
            {pluralize(lines.filter(({ extension }) => extension.trim() !== '').length, 'extension')},{' '}
            {pluralize(users.length, 'user')}
          </p>
        )}
        <span class="push">{onFill}</span>
      </div>
      <p class="hint">{help}. A line without an extension is not saved.</p>
      <datalist id={EXTENSIONS}>
        {offeredPhones(phones, lines).map(({ extension, text }) => (
          <option key={extension} value={extension}>
            {text}
          </option>
        ))}
      </datalist>
      {lines.map((line, at) => (
        <div class="map-line" key={at}>
          <input
            aria-label={`Extension ${at + 1}`}
            placeholder="Extension"
            inputMode="numeric"
            list={EXTENSIONS}
            value={line.extension}
            onInput={(event) => set(at, { extension: event.currentTarget.value })}
          />
          <span class="cut dim">{phoneOf(line.extension.trim(), phones)}</span>
          {users === null ? (
            <input
              type="text"
              aria-label={`User ${at + 1}`}
              placeholder="User of the CRM: its id"
              value={line.user}
              onInput={(event) => set(at, { user: event.currentTarget.value })}
            />
          ) : (
            <select
              aria-label={`User ${at + 1}`}
              value={line.user.trim()}
              onChange={(event) => set(at, { user: event.currentTarget.value })}
            >
              {userOptions(users, line.user.trim()).map(([id, text]) => (
                <option key={id} value={id}>
                  {text}
                </option>
              ))}
            </select>
          )}
          <button
            type="button"
            class="button quiet only"
            aria-label={`Remove line ${at + 1}`}
            onClick={() => setLines(lines.filter((_, index) => index !== at))}
          >
            <Icon name="trash" />
          </button>
        </div>
      ))}
      <FieldErrors errors={wrong} />
      <p class="actions">
        <button class="button small" type="button" onClick={() => setLines([...lines, { extension: '', user: '' }])}>
          <Icon name="plus" /> Add an extension
        </button>
      </p>
    </fieldset>
  )
}
