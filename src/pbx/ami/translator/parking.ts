import type { ChannelSignal, Endpoint } from '../../../calls/calls.ts'
import { cleanText } from '../../endpoints/sanitize.ts'
import { endpointOf, readDialString } from '../dial-string.ts'
import type { AmiFrame } from '../frame.ts'
import type { AmiContext } from './channels.ts'

/**
 * Reads ParkedCall: a call is parked by a transfer, by a feature code, or by the dialplan (then the parked channel
 * parked itself).
 */
export function parkedCall(context: AmiContext, frame: AmiFrame): ChannelSignal[] {
  const id = frame.get('ParkeeUniqueid')
  const slot = frame.get('ParkingSpace')
  const lot = frame.get('Parkinglot')
  const transfer = context.lastTransfers.get(id)
  if (transfer !== undefined) context.parkingExtensions.set(lot, transfer)
  context.lastTransfers.delete(id)
  const parker = frame.get('ParkerDialString')
  const { endpoint } = readDialString(parker, parker.slice(0, Math.max(0, parker.indexOf('/'))))
  const isItself = endpointOf(frame.get('ParkeeChannel')).endpoint === endpoint
  return [
    {
      kind: 'parked',
      id,
      slot: cleanText(slot) ?? '',
      parker: parker === '' || isItself ? null : parkerOf(context, parker, endpoint),
      to: cleanText(context.parkingExtensions.get(lot) ?? lotOf(slot)) ?? '',
    },
  ]
}

/** A virtual half stands for the party that the parked one talked with. */
function parkerOf(context: AmiContext, parker: string, endpoint: string): Endpoint {
  if (parker.startsWith('Local/')) return { kind: 'virtual', number: null, name: null }
  return context.endpoints.named(endpoint, null)
}

/**
 * Guesses the extension that parks calls in a slot's lot, by the usual numbering: 701 to 720 by 700, 71 to 78 by 70.
 */
function lotOf(slot: string): string {
  const zeros = slot.length > 2 ? 2 : 1
  return slot.slice(0, -zeros) + '0'.repeat(zeros)
}
