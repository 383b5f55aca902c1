import type { ChannelSignal, Endpoint } from '../../../calls/calls.ts'
import type { StageResult } from '../../../events/enums.ts'
import { type EslEvent, variableOf } from '../event.ts'
import { partsOf, usersOf } from './dial-strings.ts'
import { isUnreached, resultOfCause } from './hangup-causes.ts'
import { type EslContext, everLeg, type Leg } from './legs.ts'

/**
 * Parties that a bridge could not reach. FreeSWITCH creates no leg for them: only variables of the caller's leg name
 * them, and the string that it dials.
 */

/** Returns the signals of parties that an event of the caller shows as unreached, even while the next one rings. */
export function unreached(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  if (leg.dialledUnseen) return []
  const isBridging = variableOf(event, 'current_application') === 'bridge'
  return unreachedUsers(context, event, leg, isBridging ? variableOf(event, 'current_application_data') : '')
}

/** Returns the signals of parties that a bridge has not reached when it ends. */
export function unreachedByBridge(context: EslContext, event: EslEvent): ChannelSignal[] {
  const leg = context.legs.get(event.get('Unique-ID'))
  if (leg === undefined || leg.dialledUnseen || event.get('Application') !== 'bridge') return []
  const dialled = event.get('Application-Data')
  return [...unreachedUsers(context, event, leg, dialled), ...unreachedNumbers(context, event, leg, dialled)]
}

function unreachedUsers(context: EslContext, event: EslEvent, leg: Leg, dialled: string): ChannelSignal[] {
  const last = variableOf(event, 'originate_disposition')
  if (last === '' || awaitsLegs(context, event)) return []
  const disposition = isUnreached(last) ? last : variableOf(event, 'originate_failed_cause')
  const shown = variableOf(event, 'dialed_user')
  const user = isReadOnly(dialled, shown) ? '' : shown
  const isFree = (one: string): boolean =>
    one !== '' && one !== leg.extension && !leg.reached.has(one) && !leg.unreached.has(one)
  const failed = usersOf(dialled)
  // FreeSWITCH dials them in order: those before the last one that it tried were tried too.
  const tried = failed.findLastIndex((one) => one === user || leg.reached.has(one))
  const results = new Map<string, StageResult>()
  for (const one of failed.slice(0, Math.max(tried, 0))) if (isFree(one)) results.set(one, 'unavailable')
  if (isUnreached(disposition) && isFree(user)) results.set(user, resultOfCause(disposition))
  const domain = variableOf(event, 'dialed_domain') || variableOf(event, 'domain_name')
  const endpointOf = (one: string): Endpoint => {
    const endpoint = context.endpoints.named(one, null)
    return { ...endpoint, name: context.endpoints.userNames.get(`${one}@${domain}`) ?? endpoint.name }
  }
  return [...results].map(([one, result]) => failedDial(leg, one, endpointOf(one), result))
}

/** Returns the signals of numbers behind a gateway that is unknown or down. */
function unreachedNumbers(context: EslContext, event: EslEvent, leg: Leg, dialled: string): ChannelSignal[] {
  const disposition = variableOf(event, 'originate_disposition')
  if (!isUnreached(disposition) || awaitsLegs(context, event)) return []
  const made = event.all('variable_originated_legs').map((one) => digitsOf(one.split(';').at(-1) ?? ''))
  return partsOf(dialled).flatMap((part) => {
    const [, gateway = '', number = ''] = /^sofia\/gateway\/([^/]+)\/([^/@]+)/.exec(part) ?? []
    if (number === '' || leg.unreached.has(number) || made.includes(digitsOf(number))) return []
    const endpoint = context.endpoints.callee(gateway, { sent: number, number: '', display: '' })
    return [failedDial(leg, number, endpoint, resultOfCause(disposition))]
  })
}

function failedDial(leg: Leg, party: string, endpoint: Endpoint, result: StageResult): ChannelSignal {
  leg.unreached.add(party)
  return { kind: 'dial_failed', source: leg.id, endpoint, result }
}

/** Returns whether a leg exists whose creation is still to be reported: it may be the leg of an unreached party. */
function awaitsLegs(context: EslContext, event: EslEvent): boolean {
  const isUnknown = (made: string): boolean => everLeg(context, made.split(';')[0] ?? '') === undefined
  const isOutside = (made: string): boolean => /;\+?\d{7,}$/.test(made)
  return event.all('variable_originated_legs').some((made) => isUnknown(made) && !isOutside(made))
}

/**
 * Returns whether the user of a caller's variable was only read from the directory, whose groups become the contacts of
 * their users: the one that was read last need not be dialled yet.
 */
const isReadOnly = (dialled: string, user: string): boolean =>
  !dialled.includes('user/') &&
  [`presence_id=${user}@`, `sip:${user}@`, 'group/'].some((part) => dialled.includes(part))

const digitsOf = (number: string): string => number.replace(/\D/g, '')
