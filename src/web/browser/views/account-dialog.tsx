import { useEffect, useState } from 'preact/hooks'
import type { FieldError } from '../../../lib/fault.ts'
import { Dialog } from '../components/dialog.tsx'
import { ErrorMessage } from '../components/error-message.tsx'
import { FormField } from '../components/form-field.tsx'
import { Time } from '../components/time.tsx'
import { showToast } from '../components/toast.tsx'
import { request } from '../lib/api.ts'
import { timeZone } from '../lib/format.ts'
import type { User } from '../lib/resources.ts'
import { saveToken } from '../lib/session.ts'

const EMPTY_FORM = { old_password: '', password: '', password_confirmation: '' }

/** Shows who is logged in, and changes the password. */
export function AccountDialog({ onClose }: { onClose: () => void }) {
  const [user, setUser] = useState<User | null>(null)
  useEffect(() => {
    void request<User>('GET', '/auth/me').then((answer) => answer.ok && setUser(answer.result))
  }, [])
  return (
    <Dialog title="Account" onClose={onClose}>
      {user === null ? null : (
        <dl class="facts">
          <dt>Name</dt>
          <dd>{user.name}</dd>
          <dt>E-mail</dt>
          <dd>{user.email}</dd>
          <dt>Since</dt>
          <dd>
            <Time at={user.created_at} day />
          </dd>
          <dt>Time zone</dt>
          <dd>{timeZone}</dd>
        </dl>
      )}
      <ChangePassword onDone={onClose} />
    </Dialog>
  )
}

function ChangePassword({ onDone }: { onDone: () => void }) {
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
    const answer = await request<{ access_token: string }>('POST', '/auth/change-password', {
      ...form,
      revoke_other_tokens: revokeOthers,
    })
    if (answer.ok) {
      saveToken(answer.result.access_token)
      showToast('good', revokeOthers ? 'Password changed; every other session is logged out.' : 'Password changed.')
      onDone()
      return
    }
    setErrors(answer.errors)
    setError(answer.errors.some(({ path }) => path.slice(1) in EMPTY_FORM) ? null : answer.message)
  }
  return (
    <form onSubmit={change} class="password-form">
      <h3>Change the password</h3>
      {field('old_password', 'Current password', 'current-password')}
      {field('password', 'New password', 'new-password', 'At least 6 characters.')}
      {field('password_confirmation', 'New password again', 'new-password')}
      <label class="check">
        <input
          type="checkbox"
          checked={revokeOthers}
          onChange={(event) => setRevokeOthers(event.currentTarget.checked)}
        />
        Log out everywhere else too
      </label>
      {error === null ? null : <ErrorMessage text={error} />}
      <div class="actions end">
        <button type="submit" class="primary">
          Change password
        </button>
      </div>
    </form>
  )
}
