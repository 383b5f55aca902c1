import './shared.ts'
import { render } from 'preact'
import { Toasts } from './components/toast.tsx'
import { HelpView } from './views/help/help-view.tsx'

const root = document.getElementById('app')
if (root !== null) {
  root.replaceChildren()
  render(
    <>
      <HelpView />
      <Toasts />
    </>,
    root,
  )
}
