import type { ChannelSignal } from '../../../calls/calls.ts'
import type { EslEvent } from '../event.ts'
import { answered } from './bridges.ts'
import { areOfOneCustomer, customerOf, type EslContext, type Leg } from './legs.ts'

// Conferences: who is in a room, and the spoken names that are recorded on the way into it.

/** Reads an event of a conference: a leg enters it. A phone that the conference dialled talks from then on. */
export function conferenceEntered(context: EslContext, event: EslEvent): ChannelSignal[] {
  const id = event.get('Unique-ID')
  const leg = context.legs.get(id)
  if (leg !== undefined || context.tenants === undefined)
    context.inConferences.add(leg === undefined ? null : customerOf(context, leg))
  if (event.get('Action') !== 'add-member') return []
  const entered: ChannelSignal = { kind: 'conference', id, conference: event.get('Conference-Name') }
  if (leg === undefined || leg.source === null || leg.virtual) return [entered]
  leg.bridged = true
  return [...answered(leg), entered]
}

/**
 * Returns the conference that a leg's application shows, for users who may not have conference events. The application
 * begins before its caller has keyed a PIN and said a name, and no event may show it before the leg's end: other legs
 * that dialled the same number and talk to nobody else are taken to be in the same conference.
 */
export function conferenceShown(context: EslContext, leg: Leg): ChannelSignal[] {
  const customer = customerOf(context, leg)
  if (leg.gone || context.inConferences.has(customer)) return []
  const name = customer === null ? leg.dialled : `${leg.dialled} of ${customer}`
  const others = [...context.legs.values()].filter(
    (one) =>
      one.dialled === leg.dialled &&
      areOfOneCustomer(context, one, leg) &&
      one.answered &&
      !one.gone &&
      one.source === null &&
      one.peers.length === 0 &&
      one.reached.size === 0,
  )
  return [leg, ...others].map((one) => ({ kind: 'conference', id: one.id, conference: name }))
}

/** Returns whether FusionPBX's script records the name that a caller says before entering a conference. */
export const isSpokenName = (event: EslEvent): boolean =>
  event.get('Record-File-Path').includes(`/conference-${event.get('Unique-ID')}.`)
