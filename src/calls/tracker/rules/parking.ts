import type { At, ChannelSignal } from '../../signal.ts'
import { markLeft, realPartyOf } from '../state/conversations.ts'
import { callOf, channelOf, markChanged } from '../state/registry.ts'
import { type Call, type Channel, isUp, partyOf, partyOfNumber, type TrackerState } from '../state/state.ts'
import { areOfOneAccount, isExtensionOf } from '../state/tenants.ts'
import { isStill } from '../state/waits.ts'
import { addTransfer } from './due-transfers.ts'

/** Parking is a blind transfer, which a PBX may or may not report: one-touch parking is not reported. */

/** The longest time between a parking and the PBX's own report of the transfer. */
const PARKING_SETTLING_US = 300_000

const SAME_PARKING_US = 2_000_000

/** Notes the parking slot of a channel, and expects the PBX's own report of the transfer. */
export function park(state: TrackerState, at: At & Extract<ChannelSignal, { kind: 'parked' }>, channel: Channel): void {
  channel.slot = at.slot
  state.parked.add(channel.id)
  const call = callOf(state, channel)
  const parked = realPartyOf(state, channel)
  if (call === undefined || parked === undefined || at.parker === null) return
  const by = channelOf(state, parked.talked.at(-1) ?? null)
  // A dialplan may park a caller too: then it was no party of the conversation.
  const isNamed = at.parker.kind === 'virtual' || by?.endpoint.number === at.parker.number
  if (by?.endpoint.kind !== 'extension' || !isUp(by) || !isNamed || by.leftUs !== null) return
  // The PBX reported the transfer first.
  if (call.transferred.some((one) => one.by === by.id && at.atUs - one.atUs < SAME_PARKING_US)) return
  const dueUs = state.nowUs + PARKING_SETTLING_US
  call.parking = { by: by.id, transferee: parked.id, to: at.to, atUs: at.atUs, dueUs }
  markChanged(state, call)
}

/** Notes that a channel left its parking slot. */
export function unpark(state: TrackerState, channel: Channel): void {
  channel.slot = null
  state.parked.delete(channel.id)
}

/** Returns whether a dialled number is a slot in which another call of the same account is parked. */
export const isParkedAt = (state: TrackerState, dialled: string, call: Call): boolean =>
  [...state.parked].some((id) => {
    const parked = channelOf(state, id)
    const other = callOf(state, parked)
    return parked?.slot === dialled && other !== undefined && areOfOneAccount(other, call)
  })

/** Makes a transfer of a parking, if the PBX reported none in time. */
export function transferByParking(state: TrackerState, call: Call): void {
  const { parking } = call
  if (parking === null || isStill(state, parking.dueUs)) return
  call.parking = null
  const by = channelOf(state, parking.by)
  const transferee = channelOf(state, parking.transferee)
  if (by === undefined || transferee === undefined) return
  const transfer = {
    kind: 'blind' as const,
    by: partyOf(by.endpoint),
    transferee: partyOf(transferee.endpoint),
    to: partyOfNumber(parking.to, isExtensionOf(state, call, parking.to)),
    otherCallId: null,
    atUs: parking.atUs,
  }
  addTransfer(call, transfer)
  markLeft(by, parking.atUs)
}
