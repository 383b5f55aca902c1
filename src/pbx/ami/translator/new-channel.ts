import type { ChannelSignal } from '../../../calls/calls.ts'
import { cleanText } from '../../endpoints/sanitize.ts'
import { endpointOf } from '../dial-string.ts'
import type { AmiFrame } from '../frame.ts'
import { isWait } from './agents.ts'
import { type AmiContext, addChannel, displayName, isHelper, tenantIn, variablesIn } from './channels.ts'

/** The state of a channel that calls the PBX. */
const RING = '4'

/** Reads Newchannel. */
export function newChannel(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const name = frame.get('Channel')
  if (isHelper(name) || id === '') return []
  const known = addChannel(context, id, {
    name,
    linkedId: frame.get('Linkedid'),
    exten: frame.get('Exten'),
    number: frame.get('CallerIDNum'),
    display: displayName(frame.get('CallerIDName')),
    tenant: tenantIn(context, (key) => frame.get(key)),
    rang: false,
  })
  const { local } = known
  const endpoint = local
    ? ({ kind: 'virtual', number: null, name: null } as const)
    : context.endpoints.caller(endpointOf(name).endpoint, {
        number: known.number,
        display: known.display,
        context: frame.get('Context'),
        // A dialled or originated channel begins in state Down.
        begins: frame.get('ChannelState') === RING,
      })
  known.lacksNumber = endpoint.kind === 'external' && endpoint.number === null
  known.lacksName = endpoint.kind !== 'virtual' && endpoint.name === null
  known.extension = endpoint.kind === 'extension' ? endpoint.number : null
  known.dialledNothing = endpoint.kind === 'external' && !/^\+?\d+$/.test(known.exten)
  const channel: ChannelSignal = {
    kind: 'channel',
    id,
    // The dialler shows to whose call it belongs.
    linkedId: isWait(context, known.linkedId, id) ? null : known.linkedId || id,
    endpoint,
    dialledNumber: known.exten,
    // A calling channel is in state Ring; one that Asterisk creates for no call is Down, with its own id as Linkedid.
    originated: frame.get('ChannelState') === '0' && known.linkedId === id,
    shown: null,
    tenant: known.tenant,
  }
  known.calls = !channel.originated && known.linkedId === id
  const variables = variablesIn(context, frame, id)
  // With several customers the same number may be somebody else's.
  const isCalling = endpoint.kind === 'extension' && !channel.originated && context.tenants === undefined
  const called = isCalling ? context.endpoints.extensionAt(known.exten) : null
  const calls: ChannelSignal[] = called === null ? [] : [{ kind: 'calls_extension', id, endpoint: called }]
  return [channel, ...calls, ...variables, ...(local ? pairHalves(context, name, id) : [])]
}

/** Events of a calling channel in the dialplan, which a channel that has hung up never has. */
const IN_DIALPLAN: ReadonlySet<string> = new Set(['NewCallerid', 'Newexten', 'QueueCallerJoin', 'DialBegin'])

/**
 * Returns the signal of a caller whose Newchannel was not seen, by a later event: a number with a line break makes all
 * events tainted until the dialplan has cleaned it. The number itself is never used.
 */
export function unseenCaller(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const name = frame.get('Channel')
  const isCalling = frame.get('ChannelState') === RING && frame.get('Linkedid') === id
  if (id === '' || !isCalling || !IN_DIALPLAN.has(frame.name) || isHelper(name) || name.startsWith('Local/')) return []
  const display = displayName(frame.get('CallerIDName'))
  const tenant = tenantIn(context, (key) => frame.get(key))
  const known = addChannel(context, id, { name, linkedId: id, exten: '', number: '', display, tenant, rang: false })
  const at = { number: '', display, context: frame.get('Context'), begins: true }
  const endpoint = context.endpoints.caller(endpointOf(name).endpoint, at)
  Object.assign(known, { calls: true, found: true })
  known.extension = endpoint.kind === 'extension' ? endpoint.number : null
  known.dialledNothing = endpoint.kind === 'external'
  const is = { dialledNumber: null, originated: false, shown: null, unseen: true } as const
  return [{ kind: 'channel', id, linkedId: id, endpoint, ...is, tenant }]
}

/**
 * Reads NewCallerid: the PBX has learned the number or name of a caller from outside, from an analog line, an identity
 * header or a look-up, or the name of an extension. A known number or name stays.
 */
export function newCallerid(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const known = context.channels.get(id)
  if (known === undefined || (!known.lacksNumber && !known.lacksName)) return []
  // An extension may show another number: that name is not its own.
  const isOwn = known.extension === null ? known.calls : known.extension === frame.get('CallerIDNum')
  if (!isOwn) return []
  const number = cleanText(frame.get('CallerIDNum'))
  const display = cleanText(displayName(frame.get('CallerIDName')))
  // A dialplan may give a caller without a name the number as name.
  const name = display === frame.get('CallerIDNum') ? null : display
  const learned = { number: known.lacksNumber ? number : null, name: known.lacksName ? name : null }
  if (learned.number === null && learned.name === null) return []
  known.lacksNumber &&= learned.number === null
  known.lacksName &&= learned.name === null
  return [{ kind: 'caller_learned', id, number: learned.number, name: learned.name }]
}

/** `Local/102@ctx-0000000f;1` and `;2`. */
function pairHalves(context: AmiContext, name: string, id: string): ChannelSignal[] {
  const common = name.slice(0, -2)
  const first = context.halves.get(common)
  if (first === undefined) {
    context.halves.set(common, id)
    return []
  }
  context.halves.delete(common)
  return [name.endsWith(';2') ? { kind: 'pair', one: first, two: id } : { kind: 'pair', one: id, two: first }]
}
