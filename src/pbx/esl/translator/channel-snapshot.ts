import type { Endpoint, SnapshotChannel } from '../../../calls/calls.ts'
import { SECOND } from '../../../lib/time.ts'
import { kindOfContext } from '../../endpoints/endpoint-classifier.ts'
import { cleanValue } from '../../endpoints/sanitize.ts'
import { userOf } from '../address.ts'
import type { EslFrame } from '../decoder.ts'
import { type ListRow, listRowsInSteps } from '../list-rows.ts'
import { isOwn } from './channel-create.ts'
import { putBack } from './earlier-rows.ts'
import { addLeg, type EslContext, type Leg, noteQueued, partyBehind } from './legs.ts'
import { activityIn, activityOfQueue, askersIn, diallersIn, groupIn, groupWords } from './listed-dials.ts'

type Row = Readonly<ListRow>

/** A PBX clock that is off by more than a day is not used to correct times. */
const MAX_OFFSET_US = 86_400 * SECOND

/** Channels of a list, and legs that were up although the list has no row for them. */
type Listed = { readonly listed: readonly SnapshotChannel[]; readonly unended: readonly string[] }

/**
 * Returns the channels in the replies to `show channels as json` and `show calls as json`. The first has every leg, but
 * not which of them talk to each other; the second has the bridged pairs. The reply to `strmicroepoch` comes with them:
 * the PBX's clock, the base of the listed times. Channels in `leftOut` are left out. The list is put back to the moment
 * before the events that came `earlier`. In steps of one row.
 */
export function* snapshotChannels(
  context: EslContext,
  frames: readonly EslFrame[],
  arrivedUs: number,
  { leftOut, earlier = [] }: { leftOut: ReadonlySet<string>; earlier?: readonly EslFrame[] | undefined },
): Generator<void, Listed> {
  const rows: Row[] = []
  for (const { body } of frames) for (const row of yield* listRowsInSteps(body)) rows.push(row)
  const clock = frames.flatMap(({ body }) => /^\s*(\d{16})\s*$/.exec(body)?.[1] ?? [])[0]
  const offsetUs = clock === undefined ? 0 : arrivedUs - Number(clock)
  // A later list comes in the connection: the creation of each leg that it lacks is reported.
  context.listedUs ??= Number(clock ?? 0)
  const legs = new Map<string, Row>()
  const bridged = new Map<string, string>()
  for (const row of rows) {
    yield
    const { uuid, b_uuid: other } = row
    if (uuid === undefined || uuid === '' || leftOut.has(uuid)) continue
    if (ringsForEnded(context, row)) continue
    // Only the list of channels has the application of a leg.
    if (row.application !== undefined || row.tenant !== undefined || row.queue !== undefined || !legs.has(uuid))
      legs.set(uuid, { ...legs.get(uuid), ...row })
    if (other !== undefined && other !== '') {
      bridged.set(uuid, other)
      bridged.set(other, uuid)
    }
  }
  const startedUs = (row: Row): number | null => {
    const createdUs = /^\d{1,11}$/.test(row.created_epoch ?? '') ? Number(row.created_epoch) * SECOND : 0
    if (createdUs === 0) return null
    return Math.min(arrivedUs, createdUs + (Math.abs(offsetUs) <= MAX_OFFSET_US ? offsetUs : 0))
  }
  const { bridges, unended } = yield* putBack(context, { legs, bridged }, earlier, leftOut)
  const unbridged = new Map([...legs].filter(([id]) => !bridges.has(id)))
  bridgeMoving(context, unbridged, bridged)
  bridgePickedUp(unbridged, bridged)
  const places = new Map([...legs.keys()].map((id, index) => [id, index]))
  const diallers = diallersIn(legs, bridged, (row) => listedTenant(context, row)?.toLowerCase() ?? null)
  const list = { legs, bridged, pairs: pairsOf(legs), places, diallers, askers: askersIn(legs) }
  const paired = new Set([...context.legs.values()].flatMap(({ id, peer }) => (peer === null ? [] : id)))
  const channels: SnapshotChannel[] = []
  for (const [id, row] of [...legs].toSorted(([, a], [, b]) => rankOf(a) - rankOf(b))) {
    channels.push({ ...snapshotChannel(context, id, row, list), startedUs: startedUs(row) })
    yield
  }
  for (const { id } of channels) if (!paired.has(id)) notePeer(context, id)
  return { listed: channels, unended }
}

/** Returns whether a leg rings for one that has ended since the list was written: it stops at any moment. */
function ringsForEnded({ legs, ended }: EslContext, row: Row): boolean {
  const { uuid = '', call_uuid: call = '' } = row
  if (row.direction !== 'outbound' || isUpIn(row) || call === '' || call === uuid || legs.has(uuid)) return false
  return ended.has(call) || legs.get(call)?.gone === true
}

/**
 * Bridges two parties whose loopback channels are just being removed from between them: at that moment they talk to
 * each other but are in no list of calls. Only for the two legs of one caller.
 */
function bridgeMoving(context: EslContext, legs: ReadonlyMap<string, Row>, bridged: Map<string, string>): void {
  const moving = new Map<string, string[]>()
  const customers = (...ids: string[]) =>
    new Set(ids.flatMap((id) => listedTenant(context, legs.get(id) ?? {})?.toLowerCase() ?? []))
  for (const [id, row] of legs) {
    if (row.state !== 'CS_SOFT_EXECUTE' || row.callstate !== 'ACTIVE' || bridged.has(id)) continue
    const caller = row.initial_cid_num ?? ''
    moving.set(caller, [...(moving.get(caller) ?? []), id])
  }
  for (const [one, other, ...more] of moving.values()) {
    if (one === undefined || other === undefined || more.length > 0 || customers(one, other).size > 1) continue
    bridged.set(one, other).set(other, one)
  }
}

/**
 * Bridges a leg that picks another one up with that leg: for a moment they are in no list of calls, and the application
 * names the leg that is picked up.
 */
function bridgePickedUp(legs: ReadonlyMap<string, Row>, bridged: Map<string, string>): void {
  for (const [id, { application, application_data: data = '', state, callstate }] of legs) {
    if (application !== 'intercept' || state !== 'CS_SOFT_EXECUTE' || callstate !== 'ACTIVE') continue
    const other = data.split(' ').find((word) => word !== id && legs.has(word))
    if (other === undefined || bridged.has(id) || bridged.has(other)) continue
    bridged.set(id, other).set(other, id)
  }
}

/** Ranks legs before the legs that they dialled: the halves of loopback channels between callers and phones. */
function rankOf(row: Row): number {
  const half = HALF.exec(row.name ?? '')?.[2]
  if (half !== undefined) return half === 'a' ? 1 : 2
  return row.direction === 'outbound' ? 3 : 0
}

/** Notes the party that a listed leg talks to, behind loopback channels. */
function notePeer(context: EslContext, id: string): void {
  const leg = context.legs.get(id)
  const party = leg?.virtual === false ? partyBehind(context, context.legs.get(leg.peer ?? '')) : undefined
  if (leg !== undefined && party !== undefined) leg.peers.push(party.id)
}

/** The whole list: rows by leg, the bridged pairs, and the other half of each loopback channel. */
type List = {
  readonly legs: ReadonlyMap<string, Row>
  readonly bridged: ReadonlyMap<string, string>
  readonly pairs: ReadonlyMap<string, string>
  /** The place of each leg in the list. */
  readonly places: ReadonlyMap<string, number>
  /** The caller for which a leg rings that does not name it. */
  readonly diallers: ReadonlyMap<string, string>
  /** The party that consults a leg. */
  readonly askers: ReadonlyMap<string, string>
}

const HALF = /^(loopback\/.*)-([ab])$/

/** Pairs the halves of loopback channels, which the list does not: halves with one name and caller, in list order. */
function pairsOf(legs: ReadonlyMap<string, Row>): Map<string, string> {
  const halves = new Map<string, { a: string[]; b: string[] }>()
  for (const [id, row] of legs) {
    const [, name, half] = HALF.exec(row.name ?? '') ?? []
    if (name === undefined) continue
    const key = `${name} ${row.initial_cid_num ?? row.cid_num ?? ''}`
    const both = halves.get(key) ?? { a: [], b: [] }
    both[half === 'a' ? 'a' : 'b'].push(id)
    halves.set(key, both)
  }
  const pairs = new Map<string, string>()
  for (const { a, b } of halves.values()) {
    for (const [index, one] of a.entries()) {
      const two = b[index]
      if (two !== undefined) pairs.set(one, two).set(two, one)
    }
  }
  return pairs
}

const MAX_NESTING = 16

/** Returns the leg with which a leg's call began, as far as the list shows it. */
function rootOf(id: string, list: List): string {
  let root = id
  for (let depth = 0; depth < MAX_NESTING; depth++) {
    const isSecond = HALF.exec(list.legs.get(root)?.name ?? '')?.[2] === 'b'
    const next = isSecond ? list.pairs.get(root) : sourceOf(root, list)
    if (next === undefined || next === null) break
    root = next
  }
  return takenFrom(root, list) ?? root
}

/**
 * Returns the leg that was taken over: if two legs that talk both called in, the later one picked the earlier one up,
 * or retrieved it.
 */
function takenFrom(id: string, list: List): string | undefined {
  const { legs, places } = list
  const peer = talkerIn(id, list)
  const [one, other] = [legs.get(id), legs.get(peer ?? '')]
  if (peer === undefined || one?.direction !== 'inbound' || other?.direction !== 'inbound') return undefined
  if (HALF.test(one.name ?? '')) return undefined
  const laterS = Number(one.created_epoch) - Number(other.created_epoch)
  // Times are whole seconds: a later place in the list means a later start.
  return laterS > 0 || (laterS === 0 && (places.get(id) ?? 0) > (places.get(peer) ?? 0)) ? peer : undefined
}

/** Returns the leg with which a leg talks, behind loopback halves. */
function talkerIn(id: string, { legs, bridged, pairs }: List): string | undefined {
  let peer = bridged.get(id)
  for (let depth = 0; peer !== undefined && HALF.test(legs.get(peer)?.name ?? '') && depth < MAX_NESTING; depth++)
    peer = bridged.get(pairs.get(peer) ?? '')
  return peer !== undefined && HALF.test(legs.get(peer)?.name ?? '') ? undefined : peer
}

function sourceOf(id: string, { legs, bridged, diallers, askers }: List): string | null {
  const row = legs.get(id)
  if (row?.direction !== 'outbound') return null
  const asker = askers.get(id)
  if (asker !== undefined) return asker
  const call = row.call_uuid ?? ''
  if (call !== '' && call !== id && legs.has(call)) return call
  const peer = bridged.get(id)
  if (peer === undefined) return diallers.get(id) ?? broughtTo(row, legs)
  return isDialledBy(legs.get(peer), id) ? null : peer
}

/** Returns the caller with which a queue connected its agent, although one of them goes elsewhere now. */
const broughtTo = ({ application, application_data = '' }: Row, legs: ReadonlyMap<string, Row>): string | null =>
  application === 'uuid_bridge' && legs.has(application_data) ? application_data : null

/** Returns the extension whose group a connected leg answered, the nearest one behind loopback halves. */
function answeredGroupOf(id: string, list: List): string | undefined {
  let leg: string | undefined = id
  for (let depth = 0; leg !== undefined && depth < MAX_NESTING; depth++) {
    const source = sourceOf(leg, list)
    const caller = list.legs.get(source ?? '')
    // The moment before the bridge, neither of them is in one.
    const isJoining = !list.bridged.has(leg) && !list.bridged.has(source ?? '')
    if (source === null || caller === undefined || !(isJoining || list.bridged.get(leg) === source)) return undefined
    const group = groupIn(caller, true)
    if (group !== undefined) return group
    leg = HALF.exec(caller.name ?? '')?.[2] === 'b' ? list.pairs.get(source) : undefined
  }
  return undefined
}

const isDialledBy = (row: Row | undefined, id: string): boolean => row?.direction === 'outbound' && row.call_uuid === id

function snapshotChannel(context: EslContext, id: string, row: Row, list: List): Omit<SnapshotChannel, 'startedUs'> {
  // A leg that joins a conversation (`three_way`) hears its asker, whose bridge the list shows with the other party.
  const peer = list.bridged.get(id) ?? (row.application === 'three_way' ? list.askers.get(id) : undefined)
  const pair = list.pairs.get(id)
  const virtual = (row.name ?? '').startsWith('loopback/')
  const outbound = row.direction === 'outbound'
  const source = sourceOf(id, list)
  const endpoint: Endpoint = virtual
    ? { kind: 'virtual', number: null, name: null }
    : withName(context, endpointOf(context, row, outbound), row)
  const state = row.callstate ?? ''
  const up = isUpIn(row)
  const dialled = row.initial_dest || row.dest || ''
  const tenant = listedTenant(context, row)
  noteQueued(context, id)
  context.unfollowed.delete(id)
  const known = context.legs.get(id)
  // It was answered in a lost connection, which FreeSWITCH's first list did not show yet.
  if (known !== undefined && peer !== undefined && up && isFoundRinging(known))
    Object.assign(known, { answered: true, answerSignalled: true, bridged: true, peer })
  if (known === undefined) {
    const leg = addLeg(context, {
      id,
      virtual,
      source,
      first: outbound ? null : (pair ?? null),
      pair: pair ?? null,
      originated: outbound && source === null,
      extension: endpoint.kind === 'extension' ? endpoint.number : null,
      tenant,
      dialled: row.dest ?? '',
      number: row.cid_num ?? '',
    })
    // The names are asked for after the list.
    if (outbound && endpoint.kind === 'extension' && endpoint.name === null) leg.unnamed = row.presence_id ?? ''
    leg.answered = up
    // A transfer to its present destination happened before the snapshot.
    leg.expectedDestination = row.dest ?? null
    leg.bridged = peer !== undefined
    leg.answerSignalled = up && peer !== undefined
    leg.peer = peer ?? null
    // A group of FusionPBX's scripts goes on between its bridges.
    leg.rings = row.application !== 'lua'
    leg.dialledUnseen = true
    leg.listedGroup = groupIn(row, true) ?? null
  }
  // A tone of the far end bridges a caller with a phone that still rings.
  const isTalking = peer !== undefined && up && isUpIn(list.legs.get(peer))
  const group = groupIn(row, !isTalking)
  const dials = groupWords(row)
  const answeredGroup = up && !virtual ? answeredGroupOf(id, list) : undefined
  return {
    id,
    ...(hasStoppedRinging(context, row, id) ? { rungAll: true } : {}),
    linkedId: rootOf(id, list),
    ...(pair === undefined ? {} : { pair: { id: pair, half: outbound ? 1 : 2 } as const }),
    endpoint,
    dialledNumber: outbound ? null : dialled,
    ...(outbound || !row.dest ? {} : { place: row.dest }),
    ...parkedInstead(row),
    ...(group === undefined ? {} : { group }),
    ...(dials === undefined ? {} : { dials }),
    ...(answeredGroup === undefined ? {} : { answeredGroup }),
    ...(source === null && !virtual ? activityOf(context, id, row, list) : {}),
    ...(outbound || !up || !row.callee_num ? {} : { answeredBy: row.callee_num }),
    callee: outbound && source !== null,
    ...(list.askers.has(id) ? { consulted: true } : {}),
    source,
    originated: outbound && !virtual && source === null && [...list.legs].some(([, one]) => isDialledBy(one, id)),
    up,
    ringing: state === 'RINGING' || (outbound && state === 'EARLY'),
    ...(up ? { onHold: state === 'HELD' } : {}),
    tenant,
    bridge: peer === undefined ? null : id < peer ? `${id} ${peer}` : `${peer} ${id}`,
  }
}

/** A party that an attended transfer parks takes the place of the leg that went to the parking lot before. */
function parkedInstead({ dest = '' }: Row): Pick<SnapshotChannel, 'insteadOf'> {
  const parker = /valet_ticket=([0-9a-f-]{36})/.exec(dest)?.[1]
  return parker === undefined ? {} : { insteadOf: parker }
}

/** Returns whether an earlier list of this connection showed a leg, and neither list nor event one of its bridges. */
const isFoundRinging = ({ dialledUnseen, gone, peer, peers }: Leg): boolean =>
  dialledUnseen && !gone && peer === null && peers.length === 0

/** Returns the application in which a caller is: a queue also while its agent talks with the caller. */
function activityOf(context: EslContext, id: string, row: Row, list: List): Pick<SnapshotChannel, 'activity'> {
  const peer = list.bridged.get(id)
  const queue = list.legs.get(peer ?? '')?.queue
  if (peer !== undefined && queue !== undefined && sourceOf(peer, list) === id) return activityOfQueue(context, queue)
  // mod_fifo keeps its application for the conversation, mod_callcenter until the bridge.
  const isServed = row.application === 'fifo' || row.application === 'callcenter'
  return activityIn(context, row, isUpIn(row) && (peer === undefined || isServed))
}

/** States of legs that are answered. In the last one a leg waits while another one is rung for it. */
const UP: ReadonlySet<string> = new Set(['ACTIVE', 'HELD', 'UNHELD', 'RING_WAIT'])

const isUpIn = (row: Row | undefined): boolean => UP.has(row?.callstate ?? '')

/** Returns whether a leg that may have rung several parties has gone on in the dialplan since. */
function hasStoppedRinging({ legs }: EslContext, { application = '' }: Row, id: string): boolean {
  const leg = legs.get(id)
  if (leg === undefined || !leg.rings || application === '' || application === 'bridge') return false
  leg.rings = false
  return true
}

/** Returns the tenant value of a listed leg; `null` if the list does not have it. */
function listedTenant(context: EslContext, row: Row): string | null {
  const { tenants } = context
  switch (tenants?.by) {
    case 'domain': {
      const presence = isTrusted(context, row, (row.name ?? '').split('/')[1] ?? '') ? row.presence_id : ''
      return cleanValue(row.tenant || presence?.split('@')[1] || '')
    }
    case 'accountcode':
      return cleanValue(row.accountcode ?? '')
    case 'context':
      return cleanValue(row.initial_context || row.context || '')
    case 'variable':
      return cleanValue(row.tenant ?? '')
    default:
      return null
  }
}

/**
 * Returns whether a listed leg's presence shows its customer. A trunk profile may give callers a presence: their number
 * at the carrier's address. The phones' profile may have a context for strangers, which makes it a trunk profile: a
 * user that logs in begins in the user's own context.
 */
function isTrusted({ endpoints }: EslContext, row: Row, profile: string): boolean {
  if (row.direction !== 'inbound') return true
  if (kindOfContext(row.initial_context || row.context || '') === 'trunk') return false
  if (endpoints.kindOf(profile) !== 'trunk') return true
  const [began = '', profiles] = [row.initial_context, endpoints.contextOf(profile)]
  const isOfUser = began !== '' && profiles !== '' && began !== profiles
  return isOfUser && endpoints.kindOf(userOf(row.presence_id ?? '')) === 'extension'
}

function withName({ endpoints }: EslContext, endpoint: Endpoint, row: Row): Endpoint {
  if (endpoint.kind !== 'extension' || endpoint.name !== null) return endpoint
  return { ...endpoint, name: endpoints.userNames.get(row.presence_id ?? '') ?? null }
}

function endpointOf(context: EslContext, row: Row, outbound: boolean): Endpoint {
  const [, profile = '', address = ''] = (row.name ?? '').split('/')
  const presence = isTrusted(context, row, profile) ? userOf(row.presence_id ?? '') : ''
  if (outbound) {
    const number = row.initial_dest || row.dest || ''
    const isUser = presence !== '' || isOwn(context, number, profile)
    return context.endpoints.named(isUser ? presence || number : profile, isUser ? null : number)
  }
  const number = row.initial_cid_num || row.cid_num || userOf(address)
  const name = row.initial_cid_name || row.cid_name || ''
  const shown = { number, display: name === number ? '' : name, context: row.initial_context ?? row.context ?? '' }
  return context.endpoints.caller(presence || profile, { ...shown, user: presence !== '' })
}
