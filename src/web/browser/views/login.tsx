import { useState } from 'preact/hooks'
import { request } from '../lib/api.ts'
import { keepToken, loginNotice } from '../lib/session.ts'
import { useCell } from '../lib/state.ts'
import { Field } from '../parts/field.tsx'
import { Mark } from '../parts/icon.tsx'
import { Problem } from '../parts/shown.tsx'
import { ThemeSwitch } from './theme-switch.tsx'

export function Login() {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const notice = useCell(loginNotice)

  const logIn = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    const answer = await request<{ access_token: string }>('POST', '/auth/login', { email, password })
    setBusy(false)
    if (answer.ok) keepToken(answer.result.access_token)
    else setProblem(answer.errors.length > 0 ? answer.errors.map((fault) => fault.message).join(' ') : answer.message)
  }

  return (
    <div class="login">
      <main class="login-card">
        <div class="brand">
          <Mark />
          <h1>Hookswitch</h1>
        </div>
        <p class="login-lead">Every call event of your PBX, told to your systems. See it happen.</p>
        {notice === null ? null : <p class="notice">{notice}</p>}
        <form onSubmit={logIn}>
          <Field
            label="E-mail"
            name="email"
            type="email"
            value={email}
            onInput={setEmail}
            autoComplete="username"
            required
          />
          <Field
            label="Password"
            name="password"
            type="password"
            value={password}
            onInput={setPassword}
            autoComplete="current-password"
            required
          />
          {problem === null ? null : <Problem text={problem} />}
          <button type="submit" class="primary block" disabled={busy}>
            {busy ? 'Logging in…' : 'Log in'}
          </button>
        </form>
        <p class="hint">
          No account yet? Whoever runs this service adds one:
          <code class="line">hookswitch user add --email you@example.com --name You</code>
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
