import type { EslEvent } from './event.ts'

/** What FreeSWITCH and its dialplans show in place of the name of a party. */
const PLACEHOLDERS: ReadonlySet<string> = new Set(['Outbound Call', 'att_xfer'])

/** Returns whether the event of a leg that is dialled shows no name, or something else in its place. */
export function isNameless(event: EslEvent): boolean {
  const shown = event.get('Caller-Callee-ID-Name')
  return /^[+*#\d]*$/.test(shown) || shown === event.get('Caller-Destination-Number') || PLACEHOLDERS.has(shown)
}
