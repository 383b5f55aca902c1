import { contactHref, partyTexts } from '../lib/contact.ts'
import type { Party } from '../lib/resources.ts'

/** Shows a party: its name, and its extension or company beside it; without a name its number. */
export function PartyName({ party }: { party: Party }) {
  const { main, beside } = partyTexts(party)
  const title = [party.name, party.number, party.e164].filter((one) => one !== null).join(', ')
  return (
    <span title={title}>
      <bdi>{main}</bdi>
      {beside.map((text) => (
        <span key={text} class="dim">
          {' '}
          <bdi>{text}</bdi>
        </span>
      ))}
    </span>
  )
}

/** Links to the contact of a party in the system that it was found in; nothing without a safe link. */
export function ContactLink({ party }: { party: Party }) {
  const href = contactHref(party)
  if (href === null) return null
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      open {partyTexts(party).main} in the CRM
    </a>
  )
}
