import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Loading } from './empty-state.tsx'
import { ErrorMessage } from './error-message.tsx'

async function readSetUp() {
  const { SET_UP } = await import('../views/set-up.ts')
  return SET_UP
}

type SetUp = Awaited<ReturnType<typeof readSetUp>>

let loaded: SetUp | undefined

/** Loads the script of the views for setting up, for all its parts. */
export async function loadSetUp(): Promise<SetUp> {
  loaded ??= await readSetUp()
  return loaded
}

/** Shows a part of the views for setting up: at once if their file was read already. */
export function SetUpPart({ children: show }: { children: (views: SetUp) => VNode }) {
  const [views, setViews] = useState(loaded)
  const [hasFailed, setFailed] = useState(false)
  const load = () => {
    setFailed(false)
    void loadSetUp().then(setViews, () => setFailed(true))
  }
  useEffect(() => {
    if (views === undefined) load()
  }, [])
  if (views !== undefined) return show(views)
  if (!hasFailed) return <Loading what="this view" />
  // A browser does not ask again for a file that it did not get.
  return (
    <ErrorMessage
      text="This view cannot be read: Hookswitch does not answer, or has another version now."
      onRetry={() => location.reload()}
    />
  )
}
