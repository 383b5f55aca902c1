import { useState } from 'preact/hooks'
import { FormError, FormField } from '../../components/form-field.tsx'
import { Time } from '../../components/time.tsx'
import { showToast } from '../../components/toast.tsx'
import { errorText, request } from '../../lib/api.ts'
import { timeZone } from '../../lib/format.ts'
import { accessToken, replaceToken } from '../../lib/session.ts'
import { useForm } from '../../lib/use-form.ts'
import { useUser } from '../../lib/user.ts'
import { TokenList } from './token-list.tsx'

/** Shows who is logged in, changes the password, and lists the sessions and API tokens. */
export function AccountView() {
  const user = useUser()
  return (
    <div class="view">
      <header class="head">
        <h1>Your account</h1>
      </header>
      <div class="columns account">
        <TokenList />
        <div class="stack">
          <section aria-labelledby="profile">
            <header class="section-head">
              <h2 id="profile">Profile</h2>
            </header>
            <dl class="facts">
              <dt>Name</dt>
              <dd>{user?.name ?? '–'}</dd>
              <dt>E-mail</dt>
              <dd>{user?.email ?? '–'}</dd>
              <dt>Created</dt>
              <dd>
                <Time at={user?.created_at ?? null} as="date" />
              </dd>
              <dt>Times are in</dt>
              <dd>{timeZone}</dd>
            </dl>
          </section>
          <ChangePassword />
        </div>
      </div>
    </div>
  )
}

const EMPTY_FORM = { old_password: '', password: '', password_confirmation: '' }

function ChangePassword() {
  const [revokeOthers, setRevokeOthers] = useState(false)
  const form = useForm({
    load: EMPTY_FORM,
    save: async (value) => {
      const oldToken = accessToken.get()
      const body = { ...value, revoke_other_tokens: revokeOthers }
      const response = await request<{ access_token: string }>('POST', '/auth/change-password', body)
      if (!response.ok) {
        const errors = response.errors.filter(({ path }) => path.slice(1) in EMPTY_FORM)
        return { message: errorText(response), errors }
      }
      replaceToken(response.result.access_token)
      // The change of the password made a new token for this page: the old one is revoked.
      if (!revokeOthers) await request('POST', '/auth/logout', undefined, { authorization: `Bearer ${oldToken}` })
      return { saved: EMPTY_FORM }
    },
    onSaved: () =>
      showToast('good', revokeOthers ? 'Password changed. All other sessions are logged out.' : 'Password changed.'),
  })
  const { value, errors, error, isBusy, set } = form
  if (value === null) return null
  const field = (name: keyof typeof EMPTY_FORM, label: string, autoComplete: string, hint?: string) => (
    <FormField
      label={label}
      name={name}
      type="password"
      value={value[name]}
      onInput={(text) => set({ ...value, [name]: text })}
      errors={errors}
      autoComplete={autoComplete}
      {...(hint === undefined ? {} : { hint })}
      required
    />
  )
  return (
    <section aria-labelledby="password">
      <header class="section-head">
        <h2 id="password">Change the password</h2>
      </header>
      <form
        class="stack tight"
        onSubmit={(event) => {
          event.preventDefault()
          void form.submit()
        }}
      >
        {field('old_password', 'Current password', 'current-password')}
        {field('password', 'New password', 'new-password', 'At least 6 characters.')}
        {field('password_confirmation', 'New password again', 'new-password')}
        <label class="check">
          <input
            type="checkbox"
            checked={revokeOthers}
            onChange={(event) => setRevokeOthers(event.currentTarget.checked)}
          />
          <span>Revoke all other sessions and API tokens</span>
        </label>
        <FormError text={error} />
        <div class="actions">
          <button type="submit" class="button primary" disabled={isBusy}>
            Change password
          </button>
        </div>
      </form>
    </section>
  )
}
