import { isShortNumber } from '../endpoints/endpoint-classifier.ts'
import { type EslEvent, variableOf } from './event.ts'

/** What FreeSWITCH and its dialplans show in place of the name of a party. */
const PLACEHOLDERS: ReadonlySet<string> = new Set(['Outbound Call', 'att_xfer'])

/** Returns whether the event of a leg that is dialled shows no name, or something else in its place. */
export function isNameless(event: EslEvent): boolean {
  const shown = event.get('Caller-Callee-ID-Name')
  return /^[+*#\d]*$/.test(shown) || shown === event.get('Caller-Destination-Number') || PLACEHOLDERS.has(shown)
}

/**
 * Returns the user (`101@acme.example`, without a known domain `101`) whom a leg may call: the number that a user
 * dialled, or the number that a phone shows which the PBX rings by itself. `''` if that is no number of a user.
 */
export function calledUser(event: EslEvent): string {
  const isInbound = event.get('Call-Direction') === 'inbound'
  if (isInbound && variableOf(event, 'user_name') === '') return ''
  const number = event.get(isInbound ? 'Caller-Destination-Number' : 'Caller-Caller-ID-Number')
  const domain = variableOf(event, 'domain_name')
  if (!isShortNumber(number)) return ''
  return domain === '' ? number : `${number}@${domain}`
}

/**
 * Returns the user (`101@acme.example`) whose phone a leg dials, `''` if it shows none. A ring group of FusionPBX shows
 * only the domain if an extension has several phones: it dials each of them by its address.
 */
export function dialledUser(event: EslEvent): string {
  const shown = variableOf(event, 'presence_id')
  if (shown !== '') return shown
  const [number, domain] = [event.get('Caller-Destination-Number'), variableOf(event, 'domain_name')]
  const isPhone = isShortNumber(number) && variableOf(event, 'sip_gateway_name') === ''
  return isPhone && domain !== '' ? `${number}@${domain}` : ''
}
