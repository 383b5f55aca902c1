import type { Party } from '../lib/resources.ts'

/** Shows a party: its name in bold and its number beside it, as far as they are known. */
export function PartyName({ party }: { party: Party }) {
  const number = party.extension ?? party.number
  return (
    <span class="party">
      <b>{party.name ?? number ?? 'anonymous'}</b>
      {party.name !== null && number !== null && number !== party.name ? <span class="muted"> {number}</span> : null}
    </span>
  )
}
