import { useState } from 'preact/hooks'
import { ErrorMessage } from '../../components/error-message.tsx'
import { CredentialFields } from '../../components/form-field.tsx'
import { errorText, request } from '../../lib/api.ts'
import { logOut } from '../../lib/log-out.ts'
import { useObservable } from '../../lib/observable.ts'
import { accessToken, logInWith } from '../../lib/session.ts'

/** Shows the login for the requests of this page, which is shared with the page of calls. */
export function DocsLogin() {
  const loggedIn = useObservable(accessToken) !== null
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [error, setError] = useState<string | null>(null)
  const logIn = async (event: Event) => {
    event.preventDefault()
    const response = await request<{ access_token: string }>('POST', '/auth/login', { email, password })
    if (response.ok) logInWith(response.result.access_token, false)
    setError(response.ok ? null : errorText(response))
    setPassword('')
  }
  if (loggedIn)
    return (
      <div class="doc-login">
        <p>You are logged in: requests of this page carry your token.</p>
        <button class="button" type="button" onClick={logOut}>
          Log out
        </button>
      </div>
    )
  return (
    <form class="doc-login" onSubmit={logIn}>
      <CredentialFields email={email} password={password} onEmail={setEmail} onPassword={setPassword} />
      <button type="submit" class="button primary">
        Log in
      </button>
      {error === null ? null : <ErrorMessage text={error} />}
    </form>
  )
}
