import type { Endpoint, ListedChannel } from '../../calls/signal.ts'
import { SECOND } from '../../lib/time.ts'
import { addLeg, type EslContext, userOf } from './context.ts'
import { isOwn } from './create.ts'
import type { EslFrame } from './decoder.ts'

/**
 * The answers to `show channels as json` and `show calls as json` as what is up. The first has every leg, with no word on who talks to
 * whom; the second the pairs that are bridged. With them comes the answer to `strmicroepoch`: the PBX's clock, by which times are listed.
 */
type Row = Readonly<Record<string, string>>

/** A list that a PBX has on another day than ours is not set right by its clock. */
const MAX_OFFSET_US = 86_400 * SECOND

export function listedChannels(
  context: EslContext,
  frames: readonly EslFrame[],
  arrivedUs: number,
  born: ReadonlySet<string> = new Set(),
): ListedChannel[] {
  const rows = frames.flatMap((frame) => rowsOf(frame.body))
  const clock = frames.flatMap(({ body }) => /^\s*(\d{16})\s*$/.exec(body)?.[1] ?? [])[0]
  const offsetUs = clock === undefined ? 0 : arrivedUs - Number(clock)
  const legs = new Map<string, Row>()
  const bridged = new Map<string, string>()
  for (const row of rows) {
    const { uuid, b_uuid: other } = row
    if (uuid === undefined || uuid === '' || born.has(uuid)) continue
    // Only the list of channels says what a leg is busy with.
    if (row.application !== undefined || !legs.has(uuid)) legs.set(uuid, { ...legs.get(uuid), ...row })
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
  return [...legs].map(([id, row]) => ({
    ...listedChannel(context, id, row, legs, bridged.get(id)),
    startedUs: startedUs(row),
  }))
}

/** The rows of an answer; what is no row, and values that are no text, are left out. */
function rowsOf(body: string): Row[] {
  if (!body.trimStart().startsWith('{')) return []
  try {
    const parsed: unknown = JSON.parse(body)
    const rows: unknown = Object(parsed).rows
    if (!Array.isArray(rows)) return []
    return rows.filter((row: unknown) => typeof row === 'object' && row !== null).map(textsOf)
  } catch {
    return []
  }
}

function textsOf(row: object): Row {
  const texts: Record<string, string> = {}
  for (const [key, value] of Object.entries(row))
    if (typeof value === 'string' || typeof value === 'number') texts[key] = String(value)
  return texts
}

function listedChannel(
  context: EslContext,
  id: string,
  row: Row,
  legs: ReadonlyMap<string, Row>,
  peer: string | undefined,
): Omit<ListedChannel, 'startedUs'> {
  const virtual = (row.name ?? '').startsWith('loopback/')
  const outbound = row.direction === 'outbound'
  const call = row.call_uuid ?? ''
  const source = outbound ? (call !== '' && call !== id && legs.has(call) ? call : (peer ?? null)) : null
  const endpoint: Endpoint = virtual
    ? { kind: 'virtual', number: null, name: null }
    : endpointOf(context, row, outbound)
  const state = row.callstate ?? ''
  const up = state === 'ACTIVE' || state === 'HELD' || state === 'UNHELD'
  const dialled = row.initial_dest || row.dest || ''
  if (!context.legs.has(id)) {
    const leg = addLeg(context, {
      id,
      virtual,
      source,
      first: null,
      pair: null,
      originated: outbound && source === null,
      extension: endpoint.kind === 'extension' ? endpoint.number : null,
      dialled: row.dest ?? '',
    })
    leg.answered = up
    // The transfer that brought it where it is was told, or was none, before it was listed.
    leg.expected = row.dest ?? null
    leg.bridged = peer !== undefined
    leg.told = up && peer !== undefined
    if (peer !== undefined) {
      leg.peer = peer
      leg.peers.push(peer)
    }
  }
  return {
    id,
    linkedId: source ?? id,
    endpoint,
    dialled: outbound ? null : dialled,
    callee: outbound && source !== null,
    source,
    up,
    ringing: state === 'RINGING' || (outbound && state === 'EARLY'),
    bridge: peer === undefined ? null : id < peer ? `${id} ${peer}` : `${peer} ${id}`,
  }
}

function endpointOf(context: EslContext, row: Row, outbound: boolean): Endpoint {
  const [, profile = '', address = ''] = (row.name ?? '').split('/')
  const presence = userOf(row.presence_id ?? '')
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
