import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { Toasts } from './components/toast.tsx'
import { startConnection } from './lib/connection.ts'
import { useObservable } from './lib/observable.ts'
import { accessToken } from './lib/session.ts'
import { LoginView } from './views/account/login-view.tsx'
import { AppShell } from './views/app-shell.tsx'

function App() {
  const loggedIn = useObservable(accessToken) !== null
  useEffect(() => {
    if (!loggedIn) return
    const connection = startConnection()
    return () => connection.stop()
  }, [loggedIn])
  return (
    <>
      {loggedIn ? <AppShell /> : <LoginView />}
      <Toasts />
    </>
  )
}

const root = document.getElementById('app')
if (root !== null) {
  root.replaceChildren()
  render(<App />, root)
}
