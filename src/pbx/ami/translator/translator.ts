import type { AboutSnapshot, At, ChannelSignal, Signal, Translator } from '../../../calls/calls.ts'
import { runAtOnce } from '../../../lib/slices.ts'
import { createClockOffset } from '../../connection/clock-offset.ts'
import { createEndpoints } from '../../endpoints/endpoints.ts'
import { cleanText } from '../../endpoints/sanitize.ts'
import type { TenantRule } from '../../source/pbx-url.ts'
import { readDialTargets } from '../dial-string.ts'
import { type AmiCallEvent, CUSTOM_EVENT } from '../events.ts'
import type { AmiFrame } from '../frame.ts'
import { readUserEvent } from '../user-event.ts'
import { agentEnters, agentLeaves, agentLogin, forgetAgent, isWait, newAgentPool, partOf, partsIn } from './agents.ts'
import { snapshotChannels } from './channel-snapshot.ts'
import {
  type AmiContext,
  extensionChanged,
  type KnownChannel,
  placeOf,
  type RecordingOptions,
  tenantChange,
  tenantIn,
  variableSet,
  variablesIn,
} from './channels.ts'
import {
  agentHungUp,
  dialBegin,
  dialEnd,
  dialState,
  dialStatus,
  extensionToDial,
  groupRung,
  notDialled,
  ringing,
} from './dials.ts'
import { endOf } from './hangup-causes.ts'
import { newCallerid, newChannel, unseenCaller } from './new-channel.ts'
import { parkedCall } from './parking.ts'
import { ofUnfollowed } from './unfollowed-channels.ts'

type AmiOptions = {
  readonly trunks: readonly string[]
  readonly extensions: readonly string[]
  /** The channel variables that the operator asked for. */
  readonly variables: readonly string[]
  /** The fact that is the tenant value of a channel, if the PBX serves several customers. */
  readonly tenants?: TenantRule | undefined
  /** The names of the dialplan's events that are passed on. */
  readonly custom?: readonly string[] | undefined
  /** Returns whether the limit of open calls is reached: channels of further calls are not kept. */
  readonly isFull?: (() => boolean) | undefined
}

/** The state of a channel that was answered. */
const UP = '6'

type Handler = (context: AmiContext, frame: AmiFrame, id: string) => ChannelSignal[]

/**
 * Returns a translator of AMI events to signals. It keeps facts that Asterisk spreads over the events of a channel: its
 * name (for the halves of a Local channel), the last Linkedid and Exten, the targets of its Dial, the file of a
 * recording that is about to start.
 */
export function createAmiTranslator(options: AmiOptions, endpoints = createEndpoints(options)): Translator<AmiFrame> {
  const clockOffset = createClockOffset()
  const context: AmiContext = {
    channels: new Map(),
    unfollowed: new Set(),
    isFull: options.isFull ?? (() => false),
    parkingExtensions: new Map(),
    lastTransfers: new Map(),
    halves: new Map(),
    endpoints,
    agentPool: newAgentPool(),
    variables: new Set(options.variables),
    tenants: options.tenants,
    custom: new Set(options.custom),
  }
  function* snapshotInSteps(
    rows: readonly AmiFrame[],
    arrivedUs: number,
    { uncertain = [], ...about }: AboutSnapshot<AmiFrame> = {},
  ): Generator<void, Signal[]> {
    const channels = yield* snapshotChannels(context, rows, arrivedUs, about)
    const unlisted = [...uncertain, ...partsIn(context)]
    const atUs = Math.min(arrivedUs, about.earlierUs ?? arrivedUs)
    return [{ kind: 'snapshot', atUs, arrivedUs: atUs, channels, uncertain: unlisted }]
  }
  return {
    event(frame, arrivedUs) {
      const handler = BY_NAME.get(frame.name)
      if (frame.tainted || handler === undefined) return []
      const at: At = { atUs: clockOffset.at(timestampUs(frame), arrivedUs), arrivedUs }
      const id = frame.get('Uniqueid')
      const unfollowed = ofUnfollowed(context, frame, id)
      if (unfollowed !== undefined) return unfollowed.map((signal): Signal => ({ ...at, ...signal }))
      // The headers of a UserEvent may be the dialplan's.
      const changes = frame.name === CUSTOM_EVENT ? [] : changesOf(context, frame, id)
      const signals = [...changes, ...handler(context, frame, id)]
      return signals.map((signal): Signal => ({ ...at, ...signal }))
    },
    snapshot: (...list) => runAtOnce(snapshotInSteps(...list)),
    snapshotInSteps,
  }
}

/**
 * Returns the time that Asterisk prints after Privilege with `timestampevents = yes`; at other places a caller may have
 * written it.
 */
function timestampUs(frame: AmiFrame): number | null {
  const timestamp = frame.isNext('Privilege', 'Timestamp') ? frame.get('Timestamp') : ''
  return timestamp === '' ? null : Math.round(Number(timestamp) * 1e6)
}

/**
 * Returns changes that any event of a channel may show: its Linkedid, its tenant value, and the operator's variables.
 */
function changesOf(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const known = context.channels.get(id)
  if (known === undefined) return unseenCaller(context, frame, id)
  const signals = unreportedRecording(known, frame, id)
  const linkedId = frame.get('Linkedid')
  if (linkedId !== '' && linkedId !== known.linkedId && frame.name !== 'AttendedTransfer') {
    known.linkedId = linkedId
    if (!isWait(context, linkedId, id)) signals.push({ kind: 'linked', id, linkedId })
  }
  if (context.tenants !== undefined)
    signals.push(
      ...tenantChange(
        known,
        id,
        tenantIn(context, (key) => frame.get(key)),
      ),
    )
  signals.push(...variablesIn(context, frame, id))
  return signals
}

/**
 * Asterisk 16.15, 18.2 and older do not report the start of a recording: a known file, and a call that goes on, show
 * it.
 */
function unreportedRecording(known: KnownChannel, frame: AmiFrame, id: string): ChannelSignal[] {
  const { path } = known
  if (path === null || path === '' || frame.name === 'VarSet' || frame.name === 'MixMonitorStart') return []
  return [recordingStarted(known, id, path)]
}

/**
 * Reads the options `b` and `a` of MixMonitor(file,options,command); letters in the arguments of options do not count.
 */
function recordingOptions(appData: string): RecordingOptions {
  const options = (appData.split(',')[1] ?? '').replace(/\([^)]*\)/g, '')
  return { whileBridged: options.includes('b'), appends: options.includes('a') }
}

/**
 * Reads the file of Monitor(format,name,options). Without `m` the two directions have a file each, so that neither has
 * the call.
 */
function monitorPath(appData: string): string | null {
  const [format = '', name = '', options = ''] = appData.split(',')
  return options.includes('m') && name !== '' ? cleanText(`${name}.${format || 'wav'}`) : null
}

/** Returns the signal of a recording that starts; its kept options are used up. */
function recordingStarted(known: KnownChannel | undefined, id: string, path: string | null): ChannelSignal {
  const { whileBridged = false, appends = false } = known?.recordingOptions ?? {}
  if (known !== undefined) {
    known.path = null
    known.recordingOptions = {}
  }
  return { kind: 'recording_started', id, path, whileBridged, appends }
}

function newstate(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const state = frame.get('ChannelState')
  if (state === '5') return ringing(context, id)
  if (state === UP) noteUp(context, id)
  // Ring: it is a caller's. chan_sip and others first report such a channel as Down, like an originated one.
  const known = context.channels.get(id)
  if (state === '4' && known !== undefined) known.calls = known.linkedId === id
  if (state === '4') return [{ kind: 'called_in', id }]
  return state === UP ? [{ kind: 'up', id }] : []
}

function noteUp({ channels }: AmiContext, id: string): void {
  const known = channels.get(id)
  if (known !== undefined) known.mayBeUp = false
}

/** Returns the signal of a phone that turns out to be up: it answered while there was no connection. */
function answeredUnseen(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const isSeen = context.channels.get(id)?.mayBeUp === false
  if (isSeen || frame.get('ChannelState') !== UP || frame.get('Channel').startsWith('Local/')) return []
  noteUp(context, id)
  return [{ kind: 'dial_end', source: null, dest: id, result: 'answered', forwardedTo: null, unseen: true }]
}

/** Returns the destination of Gosub: `context,extension,priority(arguments)`, `extension,priority` or `priority`. */
function subroutineOf(frame: AmiFrame, caller: string): KnownChannel['subroutine'] {
  const target = frame.get('AppData').replace(/\(.*$/s, '')
  const [, exten = frame.get('Exten'), context = frame.get('Context')] = target.split(',').toReversed()
  return { context, exten, caller }
}

/** FreePBX asks the called party here to confirm the call, and the key that declines it. */
const CONFIRMATION = 'macro-confirm'
const DECLINES = '2'

function newexten(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const known = context.channels.get(id)
  const exten = frame.get('Exten')
  const place = placeOf(known, frame)
  const isNumber = /^\d+$/.test(place)
  if (known !== undefined && isNumber) known.entered = place
  if (known !== undefined && frame.get('Context') === CONFIRMATION && exten === DECLINES) known.declined = true
  switch (frame.get('Application').toLowerCase()) {
    case 'dial':
      if (known === undefined) return []
      // A channel that was moved (transfer, redirect, return from parking) still shows the Dial that it has not left.
      known.nextTargets = known.dialAnswered ? [] : readDialTargets(frame.get('AppData'))
      return extensionChanged(known, id, place, frame.get('Context'))
    case 'gosub':
      if (known !== undefined) known.subroutine = subroutineOf(frame, known.entered ?? place)
      return isNumber ? extensionChanged(known, id, place, frame.get('Context')) : []
    case 'page':
      if (known === undefined) return []
      known.pages = true
      return [...extensionChanged(known, id, place, frame.get('Context')), { kind: 'group', id, place }]
    case 'agentlogin':
      agentLogin(context, known, id)
      return extensionChanged(known, id, place, frame.get('Context'))
    case 'agentrequest':
      if (known !== undefined) context.agentPool.requests.add(id)
      return extensionChanged(known, id, place, frame.get('Context'))
    case 'queue':
      if (known !== undefined) known.nextQueue = cleanText(frame.get('AppData').split(',')[0] ?? '')
      return isNumber ? extensionChanged(known, id, place, frame.get('Context')) : []
    case 'voicemail':
      return [...extensionChanged(known, id, place, frame.get('Context')), { kind: 'voicemail', id }]
    case 'mixmonitor':
      if (known !== undefined) known.recordingOptions = recordingOptions(frame.get('AppData'))
      return []
    case 'monitor':
      if (known !== undefined) known.monitorPath = monitorPath(frame.get('AppData'))
      return []
    case 'busy':
    case 'congestion':
      if (known !== undefined) known.refused = true
      return extensionChanged(known, id, place, frame.get('Context'))
    // A dialled channel shows the place of its caller.
    case 'appdial':
    case 'appdial2':
    case 'appqueue':
      return []
    default:
      return isNumber ? extensionChanged(known, id, place, frame.get('Context')) : []
  }
}

/** FreePBX's ring groups and follow-me report how they ring their members; for a single phone the value is `none`. */
function ringGroup(known: KnownChannel | undefined, id: string, method: string): ChannelSignal[] {
  if (known?.entered == null || method === '' || method === 'none') return []
  const { entered, followMe } = known
  known.followMe = null
  return followMe === entered ? [] : groupAt(known, id, entered)
}

/** FreePBX's follow-me may ring the extension's own phone first, before it reports how it rings its members. */
function followMe(known: KnownChannel | undefined, id: string): ChannelSignal[] {
  if (known?.entered == null) return []
  known.followMe = known.entered
  return groupAt(known, id, known.entered)
}

function groupAt(known: KnownChannel, id: string, place: string): ChannelSignal[] {
  known.shownGroup = place
  return [...extensionChanged(known, id, place, ''), { kind: 'group', id, place }]
}

/** Reads QUEUESTATUS. A queue that refuses a caller (full, or without members) reports nothing else. */
function queueStatus(known: KnownChannel | undefined, id: string, value: string): ChannelSignal[] {
  if (value === '') return []
  const left: ChannelSignal = {
    kind: 'queue_left',
    id,
    queue: known?.leftQueue ?? null,
    result: value === 'TIMEOUT' ? 'timeout' : 'other',
  }
  const refusing = known?.nextQueue ?? null
  if (known === undefined || refusing === null) return [left]
  known.nextQueue = null
  return [
    { kind: 'queue_joined', id, queue: refusing, position: null },
    { ...left, queue: refusing, final: true },
  ]
}

function queueCallerLeave(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const queue = queueOf(frame)
  const known = context.channels.get(id)
  if (known !== undefined) known.leftQueue = queue
  return [{ kind: 'queue_left', id, queue, result: null }]
}

function queueCallerJoin(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const known = context.channels.get(id)
  if (known !== undefined) Object.assign(known, { nextQueue: null, leftQueue: null })
  return [{ kind: 'queue_joined', id, queue: queueOf(frame) ?? '', position: countOf(frame.get('Position')) }]
}

function varSet(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  // A value that was too long was left out: it is unknown, not empty.
  if (!frame.has('Value')) return []
  const value = frame.get('Value')
  const known = context.channels.get(id)
  switch (frame.get('Variable')) {
    case 'DIALSTATUS':
      if (known === undefined) return []
      if (value !== '') return [...notDialled(context, known, id, value), ...dialStatus(context, known, id, value)]
      // Dial clears it when it starts; a Newexten may only repeat the present place.
      known.aboutToDial = null
      known.targets = known.nextTargets
      known.nextTargets = []
      known.rung = new Set()
      known.unanswered = []
      known.dialAnswered = false
      return groupRung(known, id)
    // A channel that is moved into VoiceMail has no Newexten for it.
    case 'VMSTATUS':
      return value === '' ? [] : [{ kind: 'voicemail', id }]
    case 'DEXTEN':
      if (known !== undefined) extensionToDial(known, value)
      return []
    case 'RingGroupMethod':
      return ringGroup(known, id, value)
    case 'RecordMethod':
      return value === 'Group' ? followMe(known, id) : []
    case 'QUEUESTATUS':
      return queueStatus(known, id, value)
    case 'MIXMONITOR_FILENAME':
      if (known !== undefined) known.path = value
      return [{ kind: 'recording_path', id, path: value }]
    default:
      return variableSet(context, id, frame.get('Variable'), value)
  }
}

function agentCalled(context: AmiContext, frame: AmiFrame): ChannelSignal[] {
  const dest = frame.get('DestUniqueid')
  const known = context.channels.get(dest)
  if (known !== undefined) known.isAgent = true
  return [{ kind: 'member', dest, name: cleanText(frame.get('MemberName')) }]
}

function bridgeEnter(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const serves = agentEnters(context, frame, id)
  if (serves !== null) return serves
  const creator = frame.get('BridgeCreator')
  return [
    {
      kind: 'bridged',
      id,
      bridge: frame.get('BridgeUniqueid'),
      conference: creator === 'ConfBridge' || creator === 'MeetMe',
      holding: frame.get('BridgeType') === 'parking' || frame.get('BridgeTechnology') === 'holding_bridge',
      insteadOf: idOrNull(frame.get('SwapUniqueid')),
    },
  ]
}

/** A number from 1 on that is not a telephone number. */
const countOf = (text: string): number | null => (/^[1-9]\d{0,5}$/.test(text) ? Number(text) : null)

const queueOf = (frame: AmiFrame): string | null => cleanText(frame.get('Queue'))

const success = (frame: AmiFrame): boolean => frame.get('Result') === 'Success'
const idOrNull = (id: string): string | null => (id === '' ? null : id)

function attendedTransfer(context: AmiContext, frame: AmiFrame): ChannelSignal[] {
  if (!success(frame)) return []
  return [
    {
      kind: 'attended_transfer',
      transferers: [frame.get('OrigTransfererUniqueid'), frame.get('SecondTransfererUniqueid')].map((id) =>
        partOf(context, id),
      ),
      transferee: idOrNull(frame.get('TransfereeUniqueid')),
      target: idOrNull(frame.get('TransferTargetUniqueid')),
      stays: frame.get('DestType') === 'Threeway',
    },
  ]
}

function blindTransfer(context: AmiContext, frame: AmiFrame): ChannelSignal[] {
  if (!success(frame)) return []
  const transferee = frame.get('TransfereeUniqueid')
  if (context.channels.has(transferee)) context.lastTransfers.set(transferee, frame.get('Extension'))
  return [
    {
      kind: 'blind_transfer',
      transferer: idOrNull(partOf(context, frame.get('TransfererUniqueid'))),
      transferee: idOrNull(frame.get('TransfereeUniqueid')),
      to: cleanText(frame.get('Extension')) ?? '',
    },
  ]
}

function mixMonitorStart(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const known = context.channels.get(id)
  const prefix = 'MIXMONITOR_FILENAME='
  const shown = frame.all('ChanVariable').find((pair) => pair.startsWith(prefix) && pair.length > prefix.length)
  return [recordingStarted(known, id, known?.path ?? shown?.slice(prefix.length) ?? null)]
}

function monitorStart(context: AmiContext, _frame: AmiFrame, id: string): ChannelSignal[] {
  const known = context.channels.get(id)
  const path = known?.monitorPath ?? null
  if (known !== undefined) known.monitorPath = null
  return [{ kind: 'recording_started', id, path, whileBridged: false, appends: false }]
}

/** Both ways of recording a channel. */
const recordingStopped: Handler = (_context, _frame, id) => [
  { kind: 'recording_stopped', id, path: null, durationMs: null, kept: true },
]

function cdr(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const file = cleanText(frame.get('RecordingFile'))
  const signals: ChannelSignal[] = file === null ? [] : [{ kind: 'recording_path', id, path: file }]
  for (const name of context.variables)
    if (frame.has(name)) signals.push(...variableSet(context, id, name, frame.get(name)))
  return signals
}

function hangup(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const known = context.channels.get(id)
  const answered = answeredUnseen(context, frame, id)
  context.channels.delete(id)
  context.lastTransfers.delete(id)
  if (known?.local === true) context.halves.delete(known.name.slice(0, -2))
  const cause = frame.get('Cause')
  const left = agentLeaves(context, id, null)
  forgetAgent(context, id)
  return [
    ...answered,
    ...left,
    ...agentHungUp(known, id, cause),
    { kind: 'hangup', id, end: endOf(cause, frame.get('TechCause'), known?.rang) },
  ]
}

/**
 * A party that gives up before the answer has no cause, or one of these; any other cause is the reason of a refusal.
 */
const GIVES_UP: ReadonlySet<string> = new Set(['', '0', '16', '31', '127'])

/** The state of a caller's channel that was refused as busy. */
const BUSY = '7'

/**
 * The far end hung up, unless it only repeats a refusal by the PBX or by a rung phone. Asterisk before 18 gives no
 * cause with it.
 */
function hangupRequest(context: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] {
  const state = frame.get('ChannelState')
  const part = partOf(context, id)
  const ofPart: ChannelSignal[] = part === id ? [] : [{ kind: 'hangup_requested', id: part }]
  if (state === UP) return [...answeredUnseen(context, frame, id), { kind: 'hangup_requested', id }, ...ofPart]
  const known = context.channels.get(id)
  if (known !== undefined && known.rungBy !== null) {
    const end = endOf(frame.get('Cause'), frame.get('TechCause'), known.rang)
    if (!end.withdrawn) known.refusal = end.result
  }
  const isRefused = state === BUSY || known?.refused === true
  const givesUp = GIVES_UP.has(frame.get('Cause')) ? !isRefused : isRinging(context, id)
  return givesUp ? [{ kind: 'hangup_requested', id }] : []
}

/** Returns whether a Dial or Queue of this channel rings a phone now. */
const isRinging = (context: AmiContext, id: string): boolean =>
  [...context.channels.values()].some(({ rungBy }) => rungBy === id)

const HANDLERS: Readonly<Record<AmiCallEvent, Handler>> = {
  UserEvent: userEvent,
  Newchannel: newChannel,
  NewCallerid: newCallerid,
  Newstate: newstate,
  Newexten: newexten,
  VarSet: varSet,
  DialBegin: dialBegin,
  DialState: dialState,
  DialEnd: dialEnd,
  BridgeEnter: bridgeEnter,
  BridgeLeave: (context, frame, id) => [
    ...answeredUnseen(context, frame, id),
    ...agentLeaves(context, id, frame.get('BridgeUniqueid')),
    { kind: 'unbridged', id, bridge: frame.get('BridgeUniqueid') },
  ],
  Hold: (context, _frame, id) => [{ kind: 'hold', id: partOf(context, id), onHold: true }],
  Unhold: (context, _frame, id) => [{ kind: 'hold', id: partOf(context, id), onHold: false }],
  BlindTransfer: blindTransfer,
  AttendedTransfer: attendedTransfer,
  Pickup: (_context, frame, id) => [{ kind: 'joined', id, into: frame.get('TargetUniqueid') }],
  ParkedCall: parkedCall,
  UnParkedCall: (_context, frame) => [
    { kind: 'joined', id: frame.get('RetrieverUniqueid'), into: frame.get('ParkeeUniqueid') },
  ],
  ChanSpyStart: (_context, frame) => [{ kind: 'listens', id: frame.get('SpyerUniqueid') }],
  QueueCallerJoin: queueCallerJoin,
  QueueCallerLeave: queueCallerLeave,
  QueueCallerAbandon: (_context, frame, id) => [{ kind: 'queue_left', id, queue: queueOf(frame), result: 'abandoned' }],
  AgentCalled: agentCalled,
  MixMonitorStart: mixMonitorStart,
  MixMonitorStop: recordingStopped,
  MonitorStart: monitorStart,
  MonitorStop: recordingStopped,
  Cdr: cdr,
  HangupRequest: hangupRequest,
  Hangup: hangup,
}

/** Returns a custom event of the dialplan, if its name is one that the operator wants. */
function userEvent({ custom: wanted, channels }: AmiContext, frame: AmiFrame): ChannelSignal[] {
  const read = readUserEvent(frame)
  if (read === undefined || !wanted.has(read.custom.name)) return []
  const { channel, custom } = read
  const isKnown = channel !== null && channels.has(channel)
  return [isKnown ? { kind: 'custom', id: channel, custom } : { kind: 'custom_without_call', custom }]
}

const BY_NAME: ReadonlyMap<string, Handler> = new Map(Object.entries(HANDLERS))
