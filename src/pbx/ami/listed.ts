import type { ListedChannel } from '../../calls/signal.ts'
import { bareName, isShortNumber } from '../endpoint-classifier.ts'
import type { AmiContext } from './context.ts'
import { endpointOf } from './dialstring.ts'
import type { AmiFrame } from './frame.ts'

/** The items of CoreShowChannels and Status as what is up. Both may be given: they are put together by Uniqueid. */

const CALLEE_APPLICATIONS: ReadonlySet<string> = new Set(['AppDial', 'AppDial2', 'AppQueue'])

export function listedChannels(
  context: AmiContext,
  rows: readonly AmiFrame[],
  arrivedUs: number,
  born: ReadonlySet<string> = new Set(),
): ListedChannel[] {
  const byId = new Map<string, AmiFrame[]>()
  for (const row of rows) {
    const id = row.get('Uniqueid')
    if (id === '' || born.has(id) || (row.name !== 'CoreShowChannel' && row.name !== 'Status')) continue
    byId.set(id, [...(byId.get(id) ?? []), row])
  }
  return [...byId].map(([id, same]) => listedChannel(context, id, same, arrivedUs))
}

function listedChannel(context: AmiContext, id: string, rows: readonly AmiFrame[], arrivedUs: number): ListedChannel {
  const get = (...keys: string[]): string => {
    for (const row of rows) for (const key of keys) if (row.get(key) !== '') return row.get(key)
    return ''
  }
  const name = get('Channel')
  const local = name.startsWith('Local/')
  const callee = CALLEE_APPLICATIONS.has(get('Application'))
  const state = get('ChannelState')
  const number = get('CallerIDNum')
  const display = get('CallerIDName')
  const { endpoint } = endpointOf(name)
  const linkedId = get('Linkedid')
  const exten = get('DNID', 'Exten')
  if (!context.channels.has(id)) {
    context.channels.set(id, {
      name,
      local,
      linkedId,
      exten,
      number,
      display,
      next: [],
      targets: [],
      begun: new Set(),
      unanswered: [],
      path: null,
      rang: state === '5',
    })
  }
  const isNamedByNumber = isShortNumber(bareName(endpoint)) || isShortNumber(number)
  return {
    id,
    linkedId: linkedId === '' ? null : linkedId,
    endpoint: local
      ? { kind: 'virtual', number: null, name: null }
      : callee && !isNamedByNumber
        ? context.endpoints.named(endpoint, number)
        : context.endpoints.caller(endpoint, { number, display, context: '' }),
    dialled: callee ? null : exten,
    callee,
    source: null,
    up: state === '6',
    ringing: state === '5',
    bridge: get('BridgeId', 'BridgeID') || null,
    startedUs: startedUs(get('Seconds'), get('Duration'), arrivedUs),
  }
}

/** `Seconds: 12` (Status) or `Duration: 00:00:12` (CoreShowChannels) before now. */
function startedUs(seconds: string, duration: string, arrivedUs: number): number | null {
  if (/^\d{1,8}$/.test(seconds)) return arrivedUs - Number(seconds) * 1e6
  const match = /^(\d{1,5}):(\d\d):(\d\d)$/.exec(duration)
  if (match === null) return null
  return arrivedUs - (Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3])) * 1e6
}
