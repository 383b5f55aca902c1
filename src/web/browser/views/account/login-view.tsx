import { useState } from 'preact/hooks'
import { ErrorMessage } from '../../components/error-message.tsx'
import { CredentialFields } from '../../components/form-field.tsx'
import { Logo } from '../../components/icon.tsx'
import { ThemeSwitch } from '../../components/theme-switch.tsx'
import { errorText, request } from '../../lib/api.ts'
import { useObservable } from '../../lib/observable.ts'
import { logInWith, loginNotice } from '../../lib/session.ts'

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
      <main class="login-card">
        <div class="brand">
          <Logo />
          <h1>Hookswitch</h1>
        </div>
        <p class="login-lead">Every call event of your PBX, delivered to your systems as it happens.</p>
        {notice === null ? null : <p class="notice">{notice}</p>}
        <form onSubmit={logIn}>
          <CredentialFields email={email} password={password} onEmail={setEmail} onPassword={setPassword} />
          <label class="check" title="In new tabs too, and after this browser was closed. Not for a shared computer.">
            <input type="checkbox" checked={stay} onChange={(event) => setStay(event.currentTarget.checked)} />
            Stay logged in, in new tabs too
          </label>
          {error === null ? null : <ErrorMessage text={error} />}
          <button type="submit" class="primary block" disabled={busy}>
            {busy ? 'Logging in…' : 'Log in'}
          </button>
        </form>
        <p class="hint">
          No account yet? The operator of this service can add one:
          <code class="line">hookswitch user add --admin --email you@example.com --name You</code>
        </p>
      </main>
      <footer class="login-foot">
        <a href="/docs" target="_blank" rel="noopener">
          API documentation
        </a>
        <ThemeSwitch />
      </footer>
    </div>
  )
}
