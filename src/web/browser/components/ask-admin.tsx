import { overview } from '../lib/connection.ts'
import { useObservable } from '../lib/observable.ts'
import { EmptyState } from './empty-state.tsx'

/** Asks a user who may not manage PBXs to turn to an administrator. */
export function AskAdmin({ title }: { title: string }) {
  const names = useObservable(overview)?.pbxs.map(({ name }) => name) ?? []
  return (
    <div class="view">
      <header class="head">
        <h1>{title}</h1>
      </header>
      {names.length > 0 ? (
        <EmptyState icon="pbx" title="Only administrators connect and change PBXs">
          <p>
            Your account has <bdi>{names.join(', ')}</bdi>. Ask the operator of this service for a change.
          </p>
        </EmptyState>
      ) : (
        <EmptyState icon="pbx" title="No PBX is connected to your account">
          <p>
            Ask the operator of this service to connect your PBX. Operators do that on this page, logged in as an
            administrator, or with a command:
          </p>
          <p>
            <code>hookswitch pbx add ami://user:secret@host?name=office</code>
          </p>
        </EmptyState>
      )}
    </div>
  )
}
