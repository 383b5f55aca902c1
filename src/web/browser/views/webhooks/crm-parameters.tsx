import type { ComponentChildren } from 'preact'
import type { FieldError } from '../../../../lib/fault.ts'
import { CheckField, FieldErrors, FormField, SelectField } from '../../components/form-field.tsx'
import { Icon } from '../../components/icon.tsx'
import { type CrmForm, fieldText, linesOf, type MapLine } from '../../lib/crm-form.ts'
import type { CrmUser, FlowPreset } from '../../lib/resources.ts'

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
  onFill,
  ...props
}: CrmParametersProps & {
  parameters: readonly Parameter[]
  users: readonly CrmUser[] | null
  /** Absent: the preset cannot list users. */
  onFill?: ComponentChildren
}) {
  return (
    <>
      {parameters.map((parameter) =>
        parameter.type === 'map' ? (
          <UserMap key={parameter.name} parameter={parameter} users={users} onFill={onFill} {...props} />
        ) : (
          <CrmField key={parameter.name} parameter={parameter} users={users} {...props} />
        ),
      )}
    </>
  )
}

type FieldProps = CrmParametersProps & { parameter: Parameter; users: readonly CrmUser[] | null }

/** The id of the list of proposals: the users of the CRM. */
export const USER_LIST = 'crm-users'

function CrmField({ form, errors, onChange, parameter, users }: FieldProps) {
  const { name, title, help, type, required, choices = [] } = parameter
  const set = (value: string | boolean) => onChange({ ...form, values: { ...form.values, [name]: value } })
  if (type === 'boolean')
    return (
      <CheckField checked={form.values[name] === true} onChange={set}>
        <span>
          <b>{title}</b>: {help}
        </span>
      </CheckField>
    )
  if (type === 'choice')
    return (
      <SelectField
        label={title}
        value={fieldText(form, name)}
        options={choices.map((one) => [one.value, one.title])}
        onChange={set}
        hint={help}
      />
    )
  const isStored = form.stored.includes(name)
  const user = users?.find((one) => one.id === fieldText(form, name).trim())
  return (
    <FormField
      label={required ? title : `${title} (optional)`}
      name={`parameters/${name}`}
      type={type === 'secret' ? 'password' : 'text'}
      value={fieldText(form, name)}
      onInput={set}
      errors={errors}
      hint={
        isStored
          ? `${help}. The stored one is kept if this is empty.`
          : user === undefined
            ? help
            : `${user.name}. ${help}`
      }
      autoComplete={type === 'secret' ? 'new-password' : 'off'}
      {...(isStored ? { placeholder: 'stored' } : {})}
      {...(type === 'text' && users !== null && name === 'responsible' ? { list: USER_LIST } : {})}
    />
  )
}

function UserMap({ form, errors, onChange, parameter, users, onFill }: FieldProps & { onFill?: ComponentChildren }) {
  const { name, title, help } = parameter
  const lines = linesOf(form, name)
  const setLines = (next: readonly MapLine[]) => onChange({ ...form, values: { ...form.values, [name]: next } })
  const set = (at: number, change: Partial<MapLine>) =>
    setLines(lines.map((line, index) => (index === at ? { ...line, ...change } : line)))
  const names = new Map(users?.map((user) => [user.id, user.name]))
  const wrong = errors.filter(({ path }) => path === `/parameters/${name}` || path.startsWith(`/parameters/${name}/`))
  return (
    <fieldset class="user-map">
      <legend>{title}</legend>
      <p class="hint">{help}. A line without an extension is not saved.</p>
      {onFill}
      {lines.length === 0 ? null : (
        <div class="user-lines">
          {lines.map((line, at) => {
            const known = names.get(line.user.trim())
            return (
              <div class="user-line" key={at}>
                <input
                  aria-label={known === undefined ? `Extension ${at + 1}` : `Extension of ${known}`}
                  placeholder="Extension"
                  inputMode="numeric"
                  value={line.extension}
                  onInput={(event) => set(at, { extension: event.currentTarget.value })}
                />
                <div class="user-of-line">
                  <input
                    type="text"
                    aria-label={`User ${at + 1}`}
                    placeholder="User of the CRM"
                    value={line.user}
                    {...(users === null ? {} : { list: USER_LIST })}
                    onInput={(event) => set(at, { user: event.currentTarget.value })}
                  />
                  {known === undefined ? null : <span class="hint">{known}</span>}
                </div>
                <button
                  type="button"
                  class="ghost icon-only"
                  aria-label={`Remove line ${at + 1}`}
                  onClick={() => setLines(lines.filter((_, index) => index !== at))}
                >
                  <Icon name="trash" />
                </button>
              </div>
            )
          })}
        </div>
      )}
      <FieldErrors errors={wrong} />
      <div>
        <button type="button" onClick={() => setLines([...lines, { extension: '', user: '' }])}>
          <Icon name="plus" /> Add an extension
        </button>
      </div>
    </fieldset>
  )
}
