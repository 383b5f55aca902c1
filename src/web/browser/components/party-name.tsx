import { contactHref, partyTexts } from '../lib/contact.ts'
import type { Party } from '../lib/resources.ts'

/** Shows a party: its name in bold, its number and company beside it, as far as they are known. */
export function PartyName({ party }: { party: Party }) {
  const { main, beside } = partyTexts(party)
  return (
    <span class="party">
      <b>{main}</b>
      {beside.length === 0 ? null : <span class="muted"> {beside.join(' · ')}</span>}
    </span>
  )
}

/** Links to the contact of a party in the system that it was found in; nothing without a safe link. */
export function ContactLink({ party }: { party: Party }) {
  const href = contactHref(party)
  if (href === null) return null
  return (
    <a class="contact-link" href={href} target="_blank" rel="noopener noreferrer" title="Open the contact">
      <span aria-hidden="true">↗</span>
      <span class="visually-hidden">Open the contact {partyTexts(party).main}</span>
    </a>
  )
}
