import { useState } from 'preact/hooks'
import type { FieldError } from '../../../../lib/fault.ts'
import { ErrorMessage } from '../../components/error-message.tsx'
import { FormField } from '../../components/form-field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Time } from '../../components/time.tsx'
import { showToast } from '../../components/toast.tsx'
import { request } from '../../lib/api.ts'
import { timeZone } from '../../lib/format.ts'
import { logOut } from '../../lib/log-out.ts'
import { routeHref } from '../../lib/router.ts'
import { accessToken, replaceToken } from '../../lib/session.ts'
import { useIsAdmin, useUser } from '../../lib/user.ts'
import { TokenList } from './token-list.tsx'

/** Shows who is logged in, changes the password, and lists the sessions and API tokens. */
export function AccountView() {
  return (
    <div class="view">
      <header class="view-head">
        <h1>Account</h1>
        {useIsAdmin() ? (
          <a class="push" href={routeHref('audit')}>
            <Icon name="clock" /> Audit trail
          </a>
        ) : null}
        <button type="button" class="push narrow-only" onClick={logOut}>
          <Icon name="exit" /> Log out
        </button>
      </header>
      <div class="account-grid">
        <div>
          <Profile />
          <ChangePassword />
        </div>
        <TokenList />
      </div>
    </div>
  )
}

function Profile() {
  const user = useUser()
  return (
    <section class="card" aria-labelledby="profile">
      <header class="card-head">
        <h2 id="profile">Profile</h2>
      </header>
      <dl class="facts pad">
        <dt>Name</dt>
        <dd>{user?.name ?? '–'}</dd>
        <dt>E-mail</dt>
        <dd class="break">{user?.email ?? '–'}</dd>
        <dt>Created</dt>
        <dd>
          <Time at={user?.created_at ?? null} day />
        </dd>
        <dt>Times are in</dt>
        <dd>{timeZone}</dd>
      </dl>
    </section>
  )
}

const EMPTY_FORM = { old_password: '', password: '', password_confirmation: '' }

function ChangePassword() {
  const [form, setForm] = useState(EMPTY_FORM)
  const [revokeOthers, setRevokeOthers] = useState(false)
  const [errors, setErrors] = useState<readonly FieldError[]>([])
  const [error, setError] = useState<string | null>(null)
  const field = (name: keyof typeof EMPTY_FORM, label: string, autoComplete: string, hint?: string) => (
    <FormField
      label={label}
      name={name}
      type="password"
      value={form[name]}
      onInput={(value) => setForm((before) => ({ ...before, [name]: value }))}
      errors={errors}
      autoComplete={autoComplete}
      {...(hint === undefined ? {} : { hint })}
      required
    />
  )
  const change = async (event: Event) => {
    event.preventDefault()
    const oldToken = accessToken.get()
    const response = await request<{ access_token: string }>('POST', '/auth/change-password', {
      ...form,
      revoke_other_tokens: revokeOthers,
    })
    setErrors(response.ok ? [] : response.errors)
    setError(response.ok || response.errors.some(({ path }) => path.slice(1) in EMPTY_FORM) ? null : response.message)
    if (!response.ok) return
    setForm(EMPTY_FORM)
    replaceToken(response.result.access_token)
    // The change of the password made a new token for this page: the old one is revoked.
    if (!revokeOthers) await request('POST', '/auth/logout', undefined, { authorization: `Bearer ${oldToken}` })
    showToast('good', revokeOthers ? 'Password changed. All other sessions are logged out.' : 'Password changed.')
  }
  return (
    <section class="card" aria-labelledby="password">
      <header class="card-head">
        <h2 id="password">Change the password</h2>
      </header>
      <form onSubmit={change} class="pad">
        {field('old_password', 'Current password', 'current-password')}
        {field('password', 'New password', 'new-password', 'At least 6 characters.')}
        {field('password_confirmation', 'New password again', 'new-password')}
        <label class="check">
          <input
            type="checkbox"
            checked={revokeOthers}
            onChange={(event) => setRevokeOthers(event.currentTarget.checked)}
          />
          Revoke all other sessions and API tokens
        </label>
        {error === null ? null : <ErrorMessage text={error} />}
        <div class="actions end">
          <button type="submit" class="primary">
            Change password
          </button>
        </div>
      </form>
    </section>
  )
}
