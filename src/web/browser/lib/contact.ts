import { nameHas, withNumber } from '../../../events/party-name.ts'
import type { Party } from './resources.ts'

/** Returns the link to a party's contact; `null` without one, or if it is not https: a system may answer anything. */
export function contactHref({ contact }: Pick<Party, 'contact'>): string | null {
  const url = contact?.url ?? ''
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  return parsed?.protocol === 'https:' ? parsed.href : null
}

/** Returns the display of a party: a bold name and the text beside it. */
export function partyTexts({ number, name, extension, contact }: Party): { main: string; beside: string[] } {
  const shown = extension ?? number
  const main = contact?.name ?? contact?.company ?? name ?? shown ?? 'Anonymous'
  const beside = [shown, contact?.company ?? null].filter((one) => one !== null)
  return { main, beside: beside.filter((one) => !nameHas(main, one)) }
}

/** Writes a party by its name, with its extension unless the name has it. */
export function partyText(party: Party): string {
  const { main } = partyTexts(party)
  return withNumber(main, party.extension) ?? main
}
