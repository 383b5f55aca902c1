import { useState } from 'preact/hooks'
import { CredentialFields, FormError } from '../../components/form-field.tsx'
import { Logo } from '../../components/icon.tsx'
import { errorText, request } from '../../lib/api.ts'
import { useObservable } from '../../lib/observable.ts'
import { logInWith, loginNotice } from '../../lib/session.ts'

/** A line may break between its parts, not at their dashes. */
const COMMAND = ['hookswitch user add', '--admin', '--email you@example.com', '--name You'] as const

/** Shows the login form. */
export function LoginView() {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [error, setError] = useState<string | null>(null)
  const [stay, setStay] = useState(false)
  const [busy, setBusy] = useState(false)
  const notice = useObservable(loginNotice)

  const logIn = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    const response = await request<{ access_token: string }>('POST', '/auth/login', { email, password })
    setBusy(false)
    if (response.ok) logInWith(response.result.access_token, stay)
    else setError(errorText(response))
  }

  return (
    <div class="login">
      <main>
        <div class="brand">
          <Logo />
          <h1>Hookswitch</h1>
        </div>
        {notice === null ? null : <p class="note">{notice}</p>}
        <form class="stack tight" onSubmit={logIn}>
          <CredentialFields email={email} password={password} onEmail={setEmail} onPassword={setPassword} />
          <label class="check" title="In new tabs too, and after this browser was closed. Not for a shared computer.">
            <input type="checkbox" checked={stay} onChange={(event) => setStay(event.currentTarget.checked)} />
            <span>Stay logged in, in new tabs too</span>
          </label>
          <FormError text={error} />
          <button type="submit" class="button primary" disabled={busy}>
            {busy ? 'Logging in…' : 'Log in'}
          </button>
        </form>
        <p class="hint">
          No account yet, or a lost password? An administrator makes a link for you under People. The first one is added
          with{' '}
          <code>
            {COMMAND.map((part) => (
              <span key={part}>
                <span class="nowrap">{part}</span>{' '}
              </span>
            ))}
          </code>
        </p>
        <p class="hint">
          <a href="/help">Help</a> · <a href="/docs">API</a>
        </p>
      </main>
    </div>
  )
}
