import './shared.ts'
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Toasts } from './components/toast.tsx'
import { watchNumbers } from './lib/call-from-phone.ts'
import { startConnection } from './lib/connection.ts'
import { useObservable } from './lib/observable.ts'
import { replaceRoute, routeHref } from './lib/router.ts'
import { accessToken } from './lib/session.ts'
import { LoginView } from './views/account/login-view.tsx'
import { WelcomeView } from './views/account/welcome-view.tsx'
import { AppShell } from './views/app-shell.tsx'

/** Returns the code of an invitation (`#welcome=CODE`), and takes it out of the address, which others may see. */
function takeWelcomeCode(): string | null {
  const [, code] = /^#\/?welcome=(.+)$/.exec(location.hash) ?? []
  if (code === undefined) return null
  replaceRoute(routeHref('live'))
  return decodeURIComponent(code)
}

const invitation = takeWelcomeCode()
watchNumbers()

function App() {
  const isLoggedIn = useObservable(accessToken) !== null
  const [code, setCode] = useState(invitation)
  useEffect(() => {
    if (!isLoggedIn) return
    const connection = startConnection()
    return () => connection.stop()
  }, [isLoggedIn])
  return (
    <>
      {code !== null ? (
        <WelcomeView code={code} onDone={() => setCode(null)} />
      ) : isLoggedIn ? (
        <AppShell />
      ) : (
        <LoginView />
      )}
      <Toasts />
    </>
  )
}

const root = document.getElementById('app')
if (root !== null) {
  root.replaceChildren()
  render(<App />, root)
}
