import type { Endpoint, ListedChannel } from '../../calls/signal.ts'
import { addLeg, type EslContext, userOf } from './context.ts'
import type { EslFrame } from './decoder.ts'

/**
 * The answers to `show channels as json` and `show calls as json` as what is up. The first has every leg, with no word on who talks to
 * whom; the second the pairs that are bridged.
 */
type Row = Readonly<Record<string, string | undefined>>

export function listedChannels(
  context: EslContext,
  frames: readonly EslFrame[],
  born: ReadonlySet<string> = new Set(),
): ListedChannel[] {
  const rows = frames.flatMap((frame) => rowsOf(frame.body))
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
  return [...legs].map(([id, row]) => listedChannel(context, id, row, legs, bridged.get(id)))
}

function rowsOf(body: string): Row[] {
  try {
    const parsed: { rows?: unknown } = JSON.parse(body)
    return Array.isArray(parsed.rows) ? parsed.rows : []
  } catch {
    return []
  }
}

function listedChannel(
  context: EslContext,
  id: string,
  row: Row,
  legs: ReadonlyMap<string, Row>,
  peer: string | undefined,
): ListedChannel {
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
    startedUs: Number(row.created_epoch) > 0 ? Number(row.created_epoch) * 1e6 : null,
  }
}

function endpointOf(context: EslContext, row: Row, outbound: boolean): Endpoint {
  const [, profile = '', address = ''] = (row.name ?? '').split('/')
  const presence = userOf(row.presence_id ?? '')
  if (outbound) {
    const number = row.initial_dest || row.dest || ''
    const isUser = presence !== '' || /^\d{2,6}$/.test(number)
    return context.naming.callee(isUser ? presence || number : profile, isUser ? null : number, number, '')
  }
  const number = row.initial_cid_num || row.cid_num || userOf(address)
  const name = row.initial_cid_name || row.cid_name || ''
  return context.naming.caller(presence || profile, number, name === number ? '' : name, presence !== '')
}
