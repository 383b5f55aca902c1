import type { SnapshotChannel } from '../../signal.ts'
import { consultation, relate } from '../rules/consultations.ts'
import { originOf } from '../rules/dial-origin.ts'
import { adopt } from '../rules/merges.ts'
import { newDial } from '../state/initial-state.ts'
import { callOf, channelOf, channelsOf, heardBy } from '../state/registry.ts'
import { type Call, type Channel, isUp, isVirtual, partyOf, type TrackerState } from '../state/state.ts'
import { areOfOneAccount } from '../state/tenants.ts'
import type { Listing } from './listing.ts'

/** Consultations that a snapshot shows, and that began while there was no connection. */

/** The party for which a listed channel is rung; its call is a consultation, if that party has another one waiting. */
type Rung = { readonly party: Channel; readonly call: Call }

/**
 * Returns for whom a listed channel is rung: the party that it hears, or else the party for which its dialler acts;
 * undefined if that is unknown.
 */
export function rungFor(
  state: TrackerState,
  channel: Channel,
  diallerId: string,
  { startedUs, consulted = false }: SnapshotChannel,
): Rung | undefined {
  const origin = originOf(state, newDial(diallerId, null, state.nowUs))
  const dialler = origin.kind === 'party' ? origin.channel : undefined
  const heard = heardBy(state, channel)
  const isOfDialler = dialler !== undefined && (consulted || heard.includes(dialler))
  const [party = dialler] = isOfDialler ? [dialler] : heard
  const first = callOf(state, party)
  if (party === undefined || first === undefined) return undefined
  const through = origin.kind === 'party' && party === dialler ? origin.through : halfBeside(state, channel)
  if (!consulted && !isAsking(state, party, first, channel)) {
    // A transfer put these halves into the conversation of a party that asks nobody.
    if (through !== null) adopt(state, through)
    return { party, call: first }
  }
  const to = { dialled: through?.dialledNumber ?? null, party: partyOf(channel.endpoint) }
  const call = consultation(state, party, first, { through, to, startedUs })
  return { party, call }
}

/** Returns the virtual half in the bridge of a channel. */
function halfBeside(state: TrackerState, { bridge }: Channel): Channel | null {
  const members = bridge === null ? [] : (state.bridges.get(bridge) ?? [])
  return members.flatMap((id) => channelOf(state, id) ?? []).find(isVirtual) ?? null
}

/** Returns whether a party has left another one waiting, which it does not hear, while it dials. */
function isAsking(state: TrackerState, party: Channel, first: Call, dialled: Channel): boolean {
  const heard = heardBy(state, party)
  const isWaiting = (one: Channel): boolean =>
    one !== party && one !== dialled && !isVirtual(one) && isUp(one) && one.missingUs === null && hasTalked(one, party)
  return channelsOf(state, first).some((one) => isWaiting(one) && !heard.includes(one))
}

/** Returns whether two parties talked with each other, as far as known: one has answered the other. */
const hasTalked = (one: Channel, other: Channel): boolean =>
  one.talked.includes(other.id) || hasAnswered(one, other) || hasAnswered(other, one)

const hasAnswered = ({ dial }: Channel, caller: Channel): boolean =>
  dial?.source === caller.id && dial.answeredUs !== null

/**
 * Relates an extension's call that began unseen to the older call in which the extension talks: nobody talks in two
 * calls, so one is on hold for the other.
 */
export function relateConsultation(state: TrackerState, row: SnapshotChannel, { talking }: Listing): void {
  const asking = channelOf(state, row.id)
  const call = callOf(state, asking)
  if (asking === undefined || call?.root !== asking.id || row.callee || row.originated === true) return
  if (asking.endpoint.kind !== 'extension') return
  for (const { id, onHold, startedUs } of talking.get(asking.endpoint.number) ?? []) {
    const first = callOf(state, channelOf(state, id))
    if (onHold === false || first === undefined || first === call) continue
    const isKnown = startedUs !== null && row.startedUs !== null && startedUs !== row.startedUs
    const isOlder = isKnown ? startedUs < row.startedUs : onHold === true
    // Once its account is decided, a call loses its relation to a call of another account.
    const mayBeOfOneAccount = call.accountDueUs !== null || areOfOneAccount(first, call)
    if (isOlder && mayBeOfOneAccount) relate(call, first.id)
  }
}
