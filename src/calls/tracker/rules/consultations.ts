import { addConsultation, channelOf, consultationsOf, openCall, placeInCall } from '../state/registry.ts'
import type { Call, Channel, Party, TrackerState } from '../state/state.ts'
import { setAccount } from '../state/tenants.ts'
import { beginConsultation } from './direction.ts'

/** The other side of a consultation: the half through which it goes, the dialled number, and the rung party, if any. */
type Asked = {
  readonly through: Channel | null
  readonly to: { readonly dialled: string | null; readonly party: Party | null }
  readonly startedUs: number | null
}

/** Notes for which call another one is made; the first that is found counts. */
export function relate(call: Call, firstId: string | null): void {
  call.parentId ??= firstId
}

/** Returns the separate call in which a party of `first` consults another party. */
export function consultation(state: TrackerState, party: Channel, first: Call, asked: Asked): Call {
  const asking = consultationsOf(state, party.id).find((call) => !call.ended && call.endDueUs === null)
  if (asking !== undefined) return asking
  const call = openCall(state, first.pbxId, asked.startedUs, asked.startedUs ?? state.atUs)
  addConsultation(state, call, party.id)
  relate(call, first.id)
  if (first.accountDueUs === null) setAccount(state, call, first)
  beginConsultation(call, party, asked.to.dialled, asked.to.party)
  for (const half of [asked.through, channelOf(state, asked.through?.pair ?? null)]) {
    if (half !== undefined && half !== null) placeInCall(state, half, call)
  }
  return call
}
