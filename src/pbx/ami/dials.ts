import type { ChannelSignal } from '../../calls/signal.ts'
import { cleanText } from '../text.ts'
import { resultOfStatus } from './causes.ts'
import { type AmiContext, type Known, moved } from './context.ts'
import { endpointOf, readDialString } from './dialstring.ts'
import type { AmiFrame } from './frame.ts'

/** Dial and Queue: whom they ring, and what came of it. */

export function dialBegin(context: AmiContext, frame: AmiFrame, source: string): ChannelSignal[] {
  const dest = frame.get('DestUniqueid')
  const name = frame.get('DestChannel')
  const { technology, name: endpoint } = endpointOf(name)
  const known = context.channels.get(dest)
  const dialString = readDialString(frame.get('DialString'), technology)
  const caller = context.channels.get(source)
  const local = name.startsWith('Local/')
  const missing = local || caller === undefined ? [] : withoutChannel(context, caller, endpoint)
  if (!local) caller?.begun.add(endpoint)
  const shown = cleanText(frame.get('DestConnectedLineNum')) ?? cleanText(frame.get('DestCallerIDNum'))
  return [
    ...moved(caller, source, frame.get('Exten')),
    {
      kind: 'dial',
      source: source === '' ? null : source,
      dest,
      endpoint: local
        ? { kind: 'virtual', number: null, name: null }
        : context.naming.callee(endpoint, dialString.sent, known?.number ?? '', known?.display ?? ''),
      shown,
      ...(missing.length === 0 ? {} : { amongOthers: true }),
    },
    ...missing.map((target) => failed(context, source, target, 'unavailable')),
  ]
}

export function dialState(_context: AmiContext, frame: AmiFrame): ChannelSignal[] {
  const status = frame.get('DialStatus')
  return status === 'RINGING' || status === 'PROGRESS' ? [{ kind: 'ringing', id: frame.get('DestUniqueid') }] : []
}

export function dialEnd(_context: AmiContext, frame: AmiFrame, source: string): ChannelSignal[] {
  const forward = frame.get('Forward')
  return [
    {
      kind: 'dialed',
      source: source === '' ? null : source,
      dest: frame.get('DestUniqueid'),
      result: forward === '' ? resultOfStatus(frame.get('DialStatus')) : 'forwarded',
      forwardedTo: forward === '' ? null : cleanText(forward.split('@')[0] ?? ''),
    },
  ]
}

/** A Dial begins to look for channels for its targets. */
export function startDial(context: AmiContext, known: Known): void {
  known.targets = known.next
  known.next = []
  known.begun = new Set()
  known.made = new Set()
  if (known.targets.length > 1) context.dialling.add(known)
  else context.dialling.delete(known)
}

/** Asterisk makes the channels of all targets before it rings the first one: a target that has none by then is unreachable. */
function withoutChannel(context: AmiContext, known: Known, rung: string): Target[] {
  if (!context.dialling.delete(known)) return []
  const targets = targetsOf(known)
  if (!targets.some(({ name }) => name === rung)) return []
  const missing = targets.filter(({ name }) => !known.made.has(name))
  for (const { name } of missing) known.begun.add(name)
  return missing
}

/** A Dial that is over: those of its targets that never rang, and were not known to be unreachable before. */
export function unreached(context: AmiContext, known: Known, id: string, status: string): ChannelSignal[] {
  const targets = targetsOf(known)
  known.targets = []
  context.dialling.delete(known)
  // After a transfer a Newexten may still show the Dial before: what was rung then is none of its targets.
  const isOther = [...known.begun].some((name) => !targets.some((target) => target.name === name))
  if (isOther || (known.begun.size === 0 && !FAILED.has(status))) return []
  return targets
    .filter((target) => !known.begun.has(target.name))
    .map((target) => failed(context, id, target, status === 'CONGESTION' ? 'congestion' : 'unavailable'))
}

type Target = ReturnType<typeof readDialString>

const targetsOf = ({ targets }: Known): Target[] =>
  targets
    .filter((target) => !target.startsWith('Local/'))
    .map((target) => readDialString(target, target.slice(0, target.indexOf('/'))))

const failed = (
  context: AmiContext,
  source: string,
  { name, sent }: Target,
  result: 'unavailable' | 'congestion',
): ChannelSignal => ({ kind: 'dial_failed', source, endpoint: context.naming.named(name, sent), result })

const FAILED: ReadonlySet<string> = new Set(['CHANUNAVAIL', 'CONGESTION'])
