import './shared.ts'
import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { useObservable } from './lib/observable.ts'
import { popExtension, watchPopAddress } from './lib/pop-address.ts'
import { startPopConnection } from './lib/pop-connection.ts'
import { accessToken } from './lib/session.ts'
import './lib/theme.ts'
import { LoginView } from './views/account/login-view.tsx'
import { ChooseExtension, PopView } from './views/pop/pop-view.tsx'

watchPopAddress()

function App() {
  const token = useObservable(accessToken)
  const extension = useObservable(popExtension)
  useEffect(() => {
    if (token === null || extension === undefined) return
    const connection = startPopConnection(extension)
    return () => connection.stop()
  }, [token, extension])
  if (token === null) return <LoginView />
  return extension === undefined ? <ChooseExtension /> : <PopView extension={extension} />
}

const root = document.getElementById('app')
if (root !== null) {
  root.replaceChildren()
  render(<App />, root)
}
