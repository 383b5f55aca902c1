import { useEffect } from 'preact/hooks'
import { EmptyState } from '../../components/empty-state.tsx'
import { request } from '../../lib/api.ts'
import type { Pbx } from '../../lib/resources.ts'
import { replaceRoute, routeHref } from '../../lib/router.ts'
import { useIsAdmin } from '../../lib/user.ts'

/** Whether the administrator was taken to the view that connects the first PBX, which happens once. */
let isTakenThere = false

/** Explains how to get a PBX; if the service has no PBX at all and the user may add one, opens the view for it. */
export function NoPbx() {
  const isAdmin = useIsAdmin()
  useEffect(() => {
    if (isAdmin !== true || isTakenThere) return
    let isShown = true
    void request<Pbx[]>('GET', '/pbx').then((response) => {
      // Another view may have been chosen meanwhile.
      if (!isShown) return
      isTakenThere = true
      if (response.ok && response.result.length === 0) replaceRoute(routeHref('connect'))
    })
    return () => {
      isShown = false
    }
  }, [isAdmin])
  if (isAdmin === false) return <AskAdmin />
  return (
    <EmptyState icon="pbx" title="No PBX is connected to this account">
      <p>
        <a href={routeHref('connect')}>Connect a PBX</a>: its calls appear here as they happen.
      </p>
    </EmptyState>
  )
}

/** Asks a user who may not manage PBXs to turn to an administrator. */
export function AskAdmin() {
  return (
    <EmptyState icon="pbx" title="No PBX is connected to your account">
      <p>
        Ask the operator of this service to connect your PBX. Operators do that in this page, logged in as an
        administrator, or with a command:
        <code class="line">hookswitch pbx add ami://user:secret@host?name=office</code>
      </p>
    </EmptyState>
  )
}
