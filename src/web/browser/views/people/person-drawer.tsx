import { useId } from 'preact/hooks'
import { Drawer } from '../../components/dialog.tsx'
import { DialogForm } from '../../components/dialog-form.tsx'
import { FormField, SelectField } from '../../components/form-field.tsx'
import { errorText, request } from '../../lib/api.ts'
import type { Person } from '../../lib/people.ts'
import { useForm } from '../../lib/use-form.ts'

type PersonForm = Pick<Person, 'name' | 'email' | 'type' | 'account'>
type Saved = Person & { readonly link?: string }

type PersonDrawerProps = {
  /** `null`: a new one. */
  person: Person | null
  accounts: readonly string[]
  onSaved: (person: Saved) => void
  onClose: () => void
}

/** Adds or changes a person. A new one gets a link with which he chooses a password. */
export function PersonDrawer({ person, accounts, onSaved, onClose }: PersonDrawerProps) {
  const list = useId()
  const form = useForm<PersonForm>({
    load: person ?? { name: '', email: '', type: 'USER', account: 'default' },
    save: async (value) => {
      const { name, email, type, account } = value
      const response =
        person === null
          ? await request<Saved>('POST', '/user', { name, email, type, account })
          : await request<Saved>('PATCH', `/user/${person.id}`, { name, type, account })
      if (!response.ok) return { message: errorText(response), errors: response.errors.map(sentence) }
      onSaved(response.result)
      return { saved: value }
    },
  })
  const { value, errors, error, isBusy, set } = form
  return (
    <Drawer title={person === null ? 'Add a person' : person.name} onClose={onClose}>
      <DialogForm
        errors={errors}
        error={error}
        action={isBusy ? 'Saving…' : person === null ? 'Add' : 'Save'}
        disabled={isBusy}
        onSubmit={() => void form.submit()}
        onClose={onClose}
      >
        {value === null ? null : (
          <div class="part fields">
            <FormField
              label="Name"
              name="name"
              value={value.name}
              onInput={(name) => set({ ...value, name })}
              errors={errors}
              required
            />
            {person === null ? (
              <FormField
                label="E-mail"
                name="email"
                type="email"
                value={value.email}
                onInput={(email) => set({ ...value, email })}
                errors={errors}
                required
              />
            ) : (
              <div class="field">
                <span class="label">E-mail</span>
                <span class="soft">{value.email}</span>
              </div>
            )}
            <SelectField
              label="Role"
              value={value.type}
              options={[
                ['USER', 'User'],
                ['ADMIN', 'Administrator'],
              ]}
              onChange={(type) => set({ ...value, type: type === 'ADMIN' ? 'ADMIN' : 'USER' })}
              hint="Administrators also manage PBXs and people."
            />
            <FormField
              label="Account"
              name="account"
              value={value.account}
              onInput={(account) => set({ ...value, account })}
              errors={errors}
              list={list}
              hint={`Whose calls and webhooks these are.${person === null ? ' A new name makes a new account.' : ''}`}
            />
            <datalist id={list}>
              {accounts.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </div>
        )}
        {person === null ? (
          <p class="part hint">
            You get a link to send: with it the person chooses a password, once and within 3 days.
          </p>
        ) : null}
      </DialogForm>
    </Drawer>
  )
}

const NAMES: Readonly<Record<string, string>> = {
  '/email': 'The e-mail address',
  '/name': 'The name',
  '/account': 'The account',
}

/** The API's message about a field is the end of a sentence. */
const sentence = ({ path, message }: { path: string; message: string }) => ({
  path,
  message: NAMES[path] === undefined ? message : `${NAMES[path]} ${message}`,
})
