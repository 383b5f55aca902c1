import { EmptyState } from '../../components/empty-state.tsx'

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
