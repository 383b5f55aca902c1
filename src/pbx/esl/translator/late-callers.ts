import type { ChannelSignal } from '../../../calls/calls.ts'
import { cleanText } from '../../endpoints/sanitize.ts'
import type { EslEvent } from '../event.ts'
import type { Leg } from './legs.ts'

// The number and name of a caller from outside that the PBX learns after the leg began.

/**
 * Returns what an event shows of a caller that showed no number or name when it called: the dialplan has set them
 * (`set_profile_var`, a look-up). Only until the caller talks: then its leg may show the other party.
 */
export function learned(event: EslEvent, leg: Leg): ChannelSignal[] {
  if (leg.peers.length > 0 || leg.peer !== null) return []
  const number = cleanText(event.get('Caller-Caller-ID-Number'))
  const isNumber = number !== null && /^\+?\d+$/.test(number)
  if (!isNumber || (!leg.lacksNumber && number !== leg.number)) return []
  const shown = cleanText(event.get('Caller-Caller-ID-Name'))
  const name = shown === null || /^[+*#\d]*$/.test(shown) || NO_NAMES.has(shown.toLowerCase()) ? null : shown
  const news = { number: leg.lacksNumber ? number : null, name: leg.lacksName ? name : null }
  if (news.number === null && news.name === null) return []
  leg.lacksNumber &&= news.number === null
  leg.lacksName &&= news.name === null
  return [{ kind: 'caller_learned', id: leg.id, ...news }]
}

/** What FreeSWITCH shows in place of a name. */
const NO_NAMES: ReadonlySet<string> = new Set(['anonymous', 'unknown', 'outbound call'])
