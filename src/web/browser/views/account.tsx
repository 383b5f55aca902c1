import { useEffect, useState } from 'preact/hooks'
import type { FieldError } from '../../../lib/fault.ts'
import { request } from '../lib/api.ts'
import { zone } from '../lib/format.ts'
import type { User } from '../lib/resources.ts'
import { keepToken } from '../lib/session.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { Problem, When } from '../parts/shown.tsx'
import { say } from '../parts/toast.tsx'

const BLANK = { old_password: '', password: '', password_confirmation: '' }

export function Account({ onClose }: { onClose: () => void }) {
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
            <When at={user.created_at} day />
          </dd>
          <dt>Times shown in</dt>
          <dd>{zone}</dd>
        </dl>
      )}
      <ChangePassword onDone={onClose} />
    </Dialog>
  )
}

function ChangePassword({ onDone }: { onDone: () => void }) {
  const [form, setForm] = useState(BLANK)
  const [others, setOthers] = useState(false)
  const [faults, setFaults] = useState<readonly FieldError[]>([])
  const [problem, setProblem] = useState<string | null>(null)
  const field = (name: keyof typeof BLANK, label: string, autoComplete: string, hint?: string) => (
    <Field
      label={label}
      name={name}
      type="password"
      value={form[name]}
      onInput={(value) => setForm((held) => ({ ...held, [name]: value }))}
      faults={faults}
      autoComplete={autoComplete}
      {...(hint === undefined ? {} : { hint })}
      required
    />
  )
  const change = async (event: Event) => {
    event.preventDefault()
    const answer = await request<{ access_token: string }>('POST', '/auth/change-password', {
      ...form,
      revoke_other_tokens: others,
    })
    if (answer.ok) {
      keepToken(answer.result.access_token)
      say('good', others ? 'Password changed; every other session is logged out.' : 'Password changed.')
      onDone()
      return
    }
    setFaults(answer.errors)
    setProblem(answer.errors.some((fault) => fault.path.slice(1) in BLANK) ? null : answer.message)
  }
  return (
    <form onSubmit={change} class="password-form">
      <h3>Change the password</h3>
      {field('old_password', 'Current password', 'current-password')}
      {field('password', 'New password', 'new-password', 'At least 6 characters.')}
      {field('password_confirmation', 'New password again', 'new-password')}
      <label class="check">
        <input type="checkbox" checked={others} onChange={(event) => setOthers(event.currentTarget.checked)} />
        Log out everywhere else too
      </label>
      {problem === null ? null : <Problem text={problem} />}
      <div class="actions end">
        <button type="submit" class="primary">
          Change password
        </button>
      </div>
    </form>
  )
}
