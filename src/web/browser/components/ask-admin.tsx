import { EmptyState } from './empty-state.tsx'

/** Asks a user who may not manage PBXs to turn to an administrator. */
export function AskAdmin({ title }: { title: string }) {
  return (
    <div class="view">
      <header class="head">
        <h1>{title}</h1>
      </header>
      <EmptyState icon="pbx" title="No PBX is connected to your account">
        <p>
          Ask the operator of this service to connect your PBX. Operators do that on this page, logged in as an
          administrator, or with a command:
        </p>
        <p>
          <code>hookswitch pbx add ami://user:secret@host?name=office</code>
        </p>
      </EmptyState>
    </div>
  )
}
