import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { startConnection } from './lib/connection.ts'
import { token } from './lib/session.ts'
import { useCell } from './lib/state.ts'
import { Toasts } from './parts/toast.tsx'
import { Login } from './views/login.tsx'
import { Shell } from './views/shell.tsx'

function Page() {
  const loggedIn = useCell(token) !== null
  useEffect(() => {
    if (!loggedIn) return
    const connection = startConnection()
    return () => connection.stop()
  }, [loggedIn])
  return (
    <>
      {loggedIn ? <Shell /> : <Login />}
      <Toasts />
    </>
  )
}

const root = document.getElementById('app')
if (root !== null) {
  root.replaceChildren()
  render(<Page />, root)
}
