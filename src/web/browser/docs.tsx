import './shared.ts'
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ErrorMessage } from './components/error-message.tsx'
import { Toasts } from './components/toast.tsx'
import type { ApiDocument } from './lib/api-document.ts'
import { DocsView } from './views/docs/docs-view.tsx'

/** Reads the API document, which this service makes from its own routes. */
async function readDocument(): Promise<ApiDocument | undefined> {
  try {
    const response = await fetch('/openapi.json', { credentials: 'omit' })
    return response.ok ? await response.json() : undefined
  } catch {
    return undefined
  }
}

function Docs() {
  const [document, setDocument] = useState<ApiDocument | null>(null)
  const [error, setError] = useState<string | null>(null)
  const load = async () => {
    setError(null)
    const read = await readDocument()
    if (read === undefined) setError('The API document cannot be read. Is Hookswitch running?')
    else setDocument(read)
  }
  useEffect(() => void load(), [])
  return (
    <>
      {error === null ? null : <ErrorMessage text={error} onRetry={() => void load()} />}
      {document === null ? null : <DocsView document={document} />}
      <Toasts />
    </>
  )
}

const root = document.getElementById('app')
if (root !== null) {
  root.replaceChildren()
  render(<Docs />, root)
}
