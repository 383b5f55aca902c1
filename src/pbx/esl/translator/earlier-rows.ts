import { SECOND } from '../../../lib/time.ts'
import type { EslFrame } from '../decoder.ts'
import { type EslEvent, variableOf } from '../event.ts'
import type { ListRow } from '../list-rows.ts'
import { sourceOf } from './channel-create.ts'
import { type EslContext, tenantIn } from './legs.ts'
import { beginsBeforeList } from './unseen-legs.ts'

/**
 * A list shows the legs at the moment of its answer, and the events that came before it are read after it. So the list
 * is put back to the moment before these events: the first event of a leg shows what the leg was then, and the event
 * itself what it becomes.
 */

type Row = Readonly<ListRow>

/** The rows of a list by leg, and who is bridged with whom. */
type Listed = { readonly legs: Map<string, Row>; readonly bridged: Map<string, string> }

/**
 * Puts a list back to the moment before these events, in steps of one event. Legs in `leftOut` stay out. Returns the
 * legs whose bridges the events show, and legs that were up without a row in the list.
 */
export function* putBack(
  context: EslContext,
  { legs, bridged }: Listed,
  earlier: readonly EslFrame[],
  leftOut: ReadonlySet<string>,
): Generator<void, { readonly bridges: ReadonlySet<string>; readonly unended: readonly string[] }> {
  const seen = new Set<string>()
  const rebridged = new Set<string>()
  const unlisted: string[] = []
  const read = (event: EslEvent): void => {
    putBackBridge(event, bridged, rebridged)
    const id = event.get('Unique-ID')
    // Only events of a leg's own have its state.
    if (id === '' || seen.has(id) || leftOut.has(id) || event.get('Channel-Call-State') === '') return
    seen.add(id)
    const row = legs.get(id)
    if (HAS_ENDED.has(event.name)) legs.delete(id)
    else if (row !== undefined) legs.set(id, { ...row, ...stateBefore(event), call_uuid: callOf(event) })
    else if (!beginsBeforeList(context, event)) {
      legs.set(id, { ...identityIn(context, event), ...stateBefore(event), call_uuid: diallerOf(event) })
      unlisted.push(id)
    }
  }
  for (const frame of earlier) {
    yield
    if (frame.event !== undefined) read(frame.event)
    frame.forget?.()
  }
  // A rung leg without the leg for which it rings is nobody's call.
  const unended: string[] = []
  for (const id of unlisted) {
    const { direction, state, call_uuid: call = '' } = legs.get(id) ?? {}
    const isKnown = (call !== id && legs.has(call)) || legs.has(bridged.get(id) ?? '') || state === EXECUTING
    if (direction !== 'outbound' || isKnown) continue
    legs.delete(id)
    unended.push(id)
  }
  return { bridges: rebridged, unended }
}

/** A leg that is rung executes no dialplan. */
const EXECUTING = 'CS_EXECUTE'

/** The events of a leg that had ended before. */
const HAS_ENDED: ReadonlySet<string> = new Set(['CHANNEL_HANGUP_COMPLETE', 'CHANNEL_DESTROY'])

/** Puts the bridge of two legs back: the first event of a bridge shows whether there was one before. */
function putBackBridge(event: EslEvent, bridged: Map<string, string>, done: Set<string>): void {
  if (event.name !== 'CHANNEL_BRIDGE' && event.name !== 'CHANNEL_UNBRIDGE') return
  const pair = [event.get('Bridge-A-Unique-ID'), event.get('Bridge-B-Unique-ID')] as const
  const [one, other] = pair
  // A list shows a party that consults another one (`att_xfer`) with the party that it left waiting.
  if (one === '' || other === '' || variableOf(event, 'current_application') === 'att_xfer') return
  const isFirst = (id: string): boolean => !done.has(id)
  for (const id of pair.filter(isFirst)) {
    const peer = bridged.get(id)
    bridged.delete(id)
    if (peer !== undefined && bridged.get(peer) === id) bridged.delete(peer)
  }
  if (event.name === 'CHANNEL_UNBRIDGE' && pair.every(isFirst)) bridged.set(one, other).set(other, one)
  for (const id of pair) done.add(id)
}

/** The columns of a list, by the headers of an event with the same value. */
const IDENTITY = {
  'Unique-ID': 'uuid',
  'Call-Direction': 'direction',
  'Channel-Name': 'name',
  'Caller-Caller-ID-Number': 'cid_num',
  'Caller-Caller-ID-Name': 'cid_name',
  'Caller-Orig-Caller-ID-Number': 'initial_cid_num',
  'Caller-Orig-Caller-ID-Name': 'initial_cid_name',
  'Channel-Presence-ID': 'presence_id',
  variable_accountcode: 'accountcode',
} as const

/** Columns that change with the leg. */
const STATE = {
  'Channel-State': 'state',
  'Channel-Call-State': 'callstate',
  'Caller-Callee-ID-Number': 'callee_num',
  variable_cc_queue: 'queue',
} as const

/** Where the leg is in the dialplan, which a transfer changes. */
const PLACE = {
  'Caller-Destination-Number': 'dest',
  'Caller-Context': 'context',
  variable_current_application: 'application',
  variable_current_application_data: 'application_data',
} as const

/** The unknown place of a leg before a transfer: its events show the new place. */
const ELSEWHERE: Row = { dest: '', context: '', application: '', application_data: '' }

function columnsIn(event: EslEvent, columns: Readonly<Record<string, string>>): Row {
  const row: ListRow = {}
  for (const [header, column] of Object.entries(columns)) {
    const value = event.get(header)
    if (value !== '') row[column] = value
  }
  return row
}

/** Returns the changing columns of a leg just before this event. */
function stateBefore(event: EslEvent): Row {
  const state = columnsIn(event, STATE)
  // A leg on its way to another place shows the state of a ringing leg.
  const isUp = Number(event.get('Caller-Channel-Answered-Time')) > 0 && event.name !== 'CHANNEL_ANSWER'
  const callstate = isUp && /^(DOWN|DIALING|RINGING|EARLY)$/.test(state.callstate ?? '') ? 'ACTIVE' : state.callstate
  return { ...state, callstate: callstate ?? '', ...(isSentNow(event) ? ELSEWHERE : columnsIn(event, PLACE)) }
}

/** Returns whether an event shows a leg on its way to another place: it is routed, or leaves its bridge for that. */
function isSentNow(event: EslEvent): boolean {
  if (event.get('Channel-State') === 'CS_ROUTING') return true
  const sentSeconds = Number(/^\d+(?=:[^:]*:bl_xfer:)/.exec(variableOf(event, 'transfer_source'))?.[0] ?? 0)
  const answeredSeconds = Math.floor(Number(event.get('Caller-Channel-Answered-Time')) / SECOND)
  const isJustSent = Number(event.get('Event-Date-Timestamp')) / SECOND - sentSeconds < 2
  return event.name === 'CHANNEL_UNBRIDGE' && isJustSent && answeredSeconds > 0 && sentSeconds > answeredSeconds
}

/** Returns the first leg of the call. A leg that executes the dialplan itself (a conference) has left its dialler's. */
const callOf = (event: EslEvent): string =>
  event.get(event.get('Channel-State') === EXECUTING ? 'Unique-ID' : 'Channel-Call-UUID')

/** Returns the leg for which a leg of an event was dialled, else the first leg of its call. */
const diallerOf = (event: EslEvent): string =>
  event.get('Channel-State') === EXECUTING ? callOf(event) : (sourceOf(event) ?? callOf(event))

/** Returns the constant columns of a leg. */
function identityIn(context: EslContext, event: EslEvent): Row {
  const seconds = Math.floor(Number(event.get('Caller-Channel-Created-Time')) / SECOND)
  const wasSent = variableOf(event, 'transfer_source') !== ''
  const dialled = wasSent ? variableOf(event, 'sip_req_user') : event.get('Caller-Destination-Number')
  return {
    ...columnsIn(event, IDENTITY),
    created_epoch: String(seconds),
    initial_dest: dialled,
    initial_context: wasSent ? '' : event.get('Caller-Context'),
    tenant: tenantIn(context, event) ?? '',
  }
}
