import type { AboutSnapshot, At, ChannelSignal, End, Signal, Translator } from '../../../calls/calls.ts'
import type { StageResult } from '../../../events/enums.ts'
import { runAtOnce } from '../../../lib/slices.ts'
import { createClockOffset } from '../../connection/clock-offset.ts'
import { createEndpoints } from '../../endpoints/endpoints.ts'
import { cleanText } from '../../endpoints/sanitize.ts'
import type { TenantRule } from '../../source/pbx-url.ts'
import { userOf } from '../address.ts'
import { ANSWER } from '../answers.ts'
import { channelOf, readCustomEvent } from '../custom-event.ts'
import type { EslFrame } from '../decoder.ts'
import { type EslEvent, variableOf } from '../event.ts'
import { APPLICATION_BEGINS, APPLICATION_ENDS, type EslCallEvent, type Subclass } from '../events.ts'
import { answered, bridge, unbridge } from './bridges.ts'
import { createCausalOrder } from './causal-order.ts'
import { callsExtension, createLeg, ownName } from './channel-create.ts'
import { snapshotChannels } from './channel-snapshot.ts'
import { conferenceEntered, conferenceShown, isSpokenName } from './conferences.ts'
import { ringsSeveral } from './dial-strings.ts'
import { codeOfCause, isGivenUp, resultAfterRinging, resultOfCause } from './hangup-causes.ts'
import { learned } from './late-callers.ts'
import { dropLeg, type EslContext, type Leg, placeOf, tenantIn } from './legs.ts'
import { orderOf } from './prerequisites.ts'
import { callcenter, fifo } from './queues.ts'
import { transfersOf } from './transfers.ts'
import { ofUnfollowed } from './unfollowed-legs.ts'
import { unreached, unreachedByBridge } from './unreached.ts'
import { answeredBefore, beginningOf } from './unseen-legs.ts'

type EslOptions = {
  readonly trunks: readonly string[]
  readonly extensions: readonly string[]
  /** The channel variables that the operator asked for. */
  readonly variables: readonly string[]
  /** The fact that is the tenant value of a leg, if the PBX serves several customers. */
  readonly tenants?: TenantRule | undefined
  /** The subclasses of the dialplan's events that are passed on. */
  readonly custom?: readonly string[] | undefined
  /** Returns whether the limit of open calls is reached: legs of further calls are not kept. */
  readonly isFull?: (() => boolean) | undefined
}

/**
 * Returns a translator of ESL events to signals. FreeSWITCH has no call object and shows most facts in variables, so a
 * state is kept for each leg.
 */
export function createEslTranslator(options: EslOptions, endpoints = createEndpoints(options)): Translator<EslFrame> {
  const clockOffset = createClockOffset()
  const context: EslContext = {
    legs: new Map(),
    unfollowed: new Set(),
    isFull: options.isFull ?? (() => false),
    ended: new Map(),
    dialling: new Map(),
    waiting: new Map(),
    queued: new Map(),
    endpoints,
    variables: options.variables,
    tenants: options.tenants,
    custom: new Set(options.custom),
    offers: new Map(),
    agents: new Map(),
    inConferences: new Set(),
    count: 0,
    nowUs: 0,
    listedUs: null,
  }
  const shownUs = (stamp: string, arrivedUs: number): number =>
    clockOffset.at(stamp === '' ? null : Number(stamp), arrivedUs)
  const translate = (event: EslEvent, arrivedUs: number): Signal[] => {
    context.nowUs = arrivedUs
    // The leg that dialled this one may have been unknown when the event arrived.
    const unfollowed = ofUnfollowed(context, event)
    if (unfollowed !== undefined) return stamped(unfollowed, arrivedUs)
    const beginning = beginningOf(context, event)
    // The offset of the clock comes from the times of events, not from earlier times within an event.
    if (beginning.length > 0) shownUs(event.get('Event-Date-Timestamp'), arrivedUs)
    const begun = beginning.flatMap(({ signals, stamp }) => {
      const at: At = { atUs: shownUs(stamp, arrivedUs), arrivedUs }
      return signals.map((signal): Signal => ({ ...at, ...signal }))
    })
    const signals = read(context, event)
    if (signals.length === 0) return begun
    const stampUs = shownUs(event.get('Event-Date-Timestamp'), arrivedUs)
    const at: At = { atUs: stampUs - (isBeforeNextDial(context, event) ? 1 : 0), arrivedUs }
    return [...begun, ...signals.map((signal): Signal => ({ ...at, ...signal }))]
  }
  const order = createCausalOrder({ orderOf: (event) => orderOf(context, event), handle: translate })
  function* snapshotInSteps(
    rows: readonly EslFrame[],
    arrivedUs: number,
    { created, earlier, earlierUs = arrivedUs }: AboutSnapshot<EslFrame> = {},
  ): Generator<void, Signal[]> {
    const uncertain = latelyHeard(context, arrivedUs)
    // The creation of these legs was reported, and waits for its turn. Other events may wait for a leg of a list.
    const beginning = order
      .waiting()
      .flatMap((event) => (event.name === 'CHANNEL_CREATE' ? event.get('Unique-ID') : []))
    const leftOut = new Set([...(created ?? []), ...beginning, ...endedIn(context)])
    const { listed, unended } = yield* snapshotChannels(context, rows, arrivedUs, { leftOut, earlier })
    const channels = listed.filter(({ id }) => !uncertain.has(id))
    const up = [...uncertain, ...unended]
    const atUs = Math.min(arrivedUs, earlierUs)
    const snapshot: Signal = { kind: 'snapshot', atUs, arrivedUs: atUs, channels, uncertain: up }
    return [snapshot, ...order.release(arrivedUs)]
  }
  return {
    event({ event }, arrivedUs) {
      if (event === undefined) return []
      // It has no prerequisites; events that wait for its leg are released with the next event.
      const unfollowed = ofUnfollowed(context, event)
      return unfollowed === undefined ? order.take(event, arrivedUs) : stamped(unfollowed, arrivedUs)
    },
    snapshot: (...snapshot) => runAtOnce(snapshotInSteps(...snapshot)),
    snapshotInSteps,
    release: order.release,
  }
}

const stamped = (signals: readonly ChannelSignal[], arrivedUs: number): Signal[] =>
  signals.map((signal): Signal => ({ atUs: arrivedUs, arrivedUs, ...signal }))

/** FreeSWITCH writes its list from a queue of events: measured 70 to 150 ms later than it sends them. */
const LIST_LAG_US = 500_000

/** Returns the legs that had events so lately that a list may not know them. */
const latelyHeard = ({ legs }: EslContext, nowUs: number): Set<string> =>
  new Set([...legs.values()].filter((leg) => !leg.gone && nowUs - leg.heardUs < LIST_LAG_US).map(({ id }) => id))

/** Returns the legs that have ended in this connection: a list that lags behind may still show them. */
const endedIn = ({ ended, legs }: EslContext): string[] => [
  ...ended.keys(),
  ...[...legs].flatMap(([id, { gone }]) => (gone ? id : [])),
]

/**
 * Returns whether a leg ended before its dialler dialled the next one, although both events have the same time stamp
 * (FreeSWITCH's clock has steps of 20 ms) and the next leg may have been reported first.
 */
function isBeforeNextDial({ legs }: EslContext, event: EslEvent): boolean {
  const leg = event.name === 'CHANNEL_HANGUP' ? legs.get(event.get('Unique-ID')) : undefined
  if (leg === undefined || leg.source === null || leg.answered) return false
  const [place, stamp] = [placeOf(event), event.get('Event-Date-Timestamp')]
  for (const { source, created } of legs.values())
    if (source === leg.source && created.place > place && created.stamp === stamp) return true
  return false
}

function read(context: EslContext, event: EslEvent): ChannelSignal[] {
  if (event.name === ANSWER) return answerTo(context, event)
  if (event.name === 'CUSTOM') {
    const handler = BY_SUBCLASS.get(event.subclass)
    return handler === undefined ? customEvent(context, event) : handler(context, event)
  }
  if (event.name === APPLICATION_BEGINS) return bridgeBegins(context, event)
  if (event.name === APPLICATION_ENDS) return [...unreachedByBridge(context, event), ...bridgeEnds(context, event)]
  const handler = BY_NAME.get(event.name)
  if (handler === undefined) return []
  // Reading a header searches some 8 KB: only headers that may matter are read, here and below.
  const leg = context.legs.get(event.get('Unique-ID'))
  if (leg === undefined) return handler(context, event, undefined)
  const unseen = answeredBefore(context, event, leg)
  leg.heard = Math.max(leg.heard, placeOf(event))
  leg.heardUs = context.nowUs
  // A transfer comes before its consequences, and UNBRIDGE shows it when the leg is no longer bridged.
  return [
    ...unseen,
    ...transfersOf(context, event, leg),
    ...changesOf(context, event, leg),
    ...handler(context, event, leg),
  ]
}

/** Returns a custom event of the dialplan; nothing if the operator does not want it, or its channel is in doubt. */
function customEvent({ custom, legs }: EslContext, event: EslEvent): ChannelSignal[] {
  const channel = custom.has(event.subclass) ? channelOf(event) : undefined
  if (channel === undefined) return []
  const said = readCustomEvent(event)
  const isKnown = channel !== null && legs.has(channel)
  return [isKnown ? { kind: 'custom', id: channel, custom: said } : { kind: 'custom_without_call', custom: said }]
}

/** The most known names of users. */
const MAX_NAMES = 20_000

/** Reads an answer to Hookswitch's own question: the tenant value of a leg, or the name of a user. */
function answerTo(context: EslContext, event: EslEvent): ChannelSignal[] {
  const leg = context.legs.get(event.get('Unique-ID'))
  if (leg !== undefined) return tenantShown(context, event, leg)
  const [user, name] = [event.get('user'), cleanText(event.get('name'))]
  return name === null ? [] : userNamed(context, user, name)
}

/** Notes the name of a user, for legs that wait for it and later ones. */
function userNamed(context: EslContext, user: string, name: string): ChannelSignal[] {
  if (name === userOf(user)) return []
  const { userNames } = context.endpoints
  if (userNames.size >= MAX_NAMES) userNames.clear()
  userNames.set(user, name)
  return [...context.legs.values()].flatMap((one) => [
    ...(one.unnamed === user ? named(one, name) : []),
    ...(one.calls === user ? callsExtension(context, one, user) : []),
  ])
}

function named(leg: Leg, name: string | null): ChannelSignal[] {
  if (name === null) return []
  leg.unnamed = ''
  return [{ kind: 'member', dest: leg.id, name }]
}

/** The caller's leg shows the name of the dialled extension in its first event after the dial, or never. */
function calleeNamed(context: EslContext, event: EslEvent, caller: Leg): ChannelSignal[] {
  const waiting = [...caller.unnamedCallees.keys()].flatMap((id) => context.legs.get(id) ?? []).filter(isUnnamed)
  const place = placeOf(event)
  for (const [id, dialled] of caller.unnamedCallees) if (place > dialled) caller.unnamedCallees.delete(id)
  const name = waiting.length === 0 ? null : cleanText(variableOf(event, 'initial_callee_id_name'))
  if (name === null || /^[+*#\d]*$/.test(name)) return []
  const extension = variableOf(event, 'dialed_extension')
  return waiting.filter((leg) => leg.extension === extension).flatMap((leg) => named(leg, name))
}

const isUnnamed = ({ unnamed }: Leg): boolean => unnamed !== ''

function tenantShown(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  const tenant = tenantIn(context, event)
  if (tenant === null || tenant === leg.tenant) return []
  leg.tenant = tenant
  return [{ kind: 'tenant', id: leg.id, value: tenant }]
}

/** A party waits in a parking lot until it is retrieved. */
function parked(event: EslEvent): ChannelSignal[] {
  const slot = cleanText(event.get('Valet-Extension'))
  if (event.get('Action') !== 'hold' || slot === null) return []
  return [{ kind: 'parked', id: event.get('Unique-ID'), slot, parker: null, to: slot }]
}

/** Returns changes that any event of a leg may be the first to show. */
function changesOf(context: EslContext, event: EslEvent, leg: Leg): ChannelSignal[] {
  const id = leg.id
  const signals = tenantShown(context, event, leg)
  if (leg.lacksNumber || leg.lacksName) signals.push(...learned(event, leg))
  if (leg.unnamedCallees.size > 0) signals.push(...calleeNamed(context, event, leg))
  const own = isUnnamed(leg) ? cleanText(ownName(event, leg.extension)) : null
  if (own !== null) signals.push(...userNamed(context, leg.unnamed, own))
  leg.replaced ||= leg.source === null && variableOf(event, 'transfer_disposition') === 'replaced'
  if (leg.dialledFrom !== null) signals.push(...dialledFrom(event, leg, leg.dialledFrom))
  if (leg.source === null && leg.extension !== null && leg.peers.length === 0 && !leg.isForwarded)
    leg.isForwarded = variableOf(event, 'forward_all_enabled') === 'true'
  const dialled = leg.source === null && !leg.originated ? event.get('Caller-Destination-Number') : ''
  if (dialled !== '' && dialled !== leg.dialled) {
    leg.dialled = dialled
    signals.push({ kind: 'extension_changed', id, extension: dialled })
  }
  if (!leg.hungUpItself && /^recv_(bye|cancel)$/.test(variableOf(event, 'sip_hangup_disposition'))) {
    leg.hungUpItself = true
    signals.push({ kind: 'hangup_requested', id })
  }
  const application = variableOf(event, 'current_application') || variableOf(event, 'last_app')
  signals.push(...ringsGroup(event, leg, application), ...unreached(context, event, leg))
  if (application === 'bridge' && leg.peer === null && leg.camps === null && leg.source === null && !leg.originated)
    noteCamping(event, leg)
  if (isVoicemail(application, event) && !isRefusedByScript(application, event, leg))
    signals.push({ kind: 'voicemail', id })
  if (application === 'conference') signals.push(...conferenceShown(context, leg))
  for (const name of context.variables) {
    const value = variableOf(event, name)
    if (value === '' || leg.reportedVariables.get(name) === value) continue
    leg.reportedVariables.set(name, value)
    signals.push({ kind: 'variable', id, name, value: cleanText(value) ?? '' })
  }
  return signals
}

/** Reads the beginning of `bridge`: how it rings its parties is known before the first of them rings. */
function bridgeBegins(context: EslContext, event: EslEvent): ChannelSignal[] {
  const leg = context.legs.get(event.get('Unique-ID'))
  if (leg === undefined || event.get('Application') !== 'bridge') return []
  // Until now its variables tell of a party from before.
  const before = leg.dialledUnseen ? variableOf(event, 'dialed_user') : ''
  if (before !== '') leg.reached.add(before)
  leg.dialledUnseen = false
  const caller = leg.lacksNumber || leg.lacksName ? learned(event, leg) : []
  const signals = [...caller, ...bridgeEnds(context, event)]
  const place = cleanText(event.get('Caller-Destination-Number'))
  if (place === null) return signals
  // FusionPBX's scripts show their groups, and ring one in several bridges.
  const group = isOfScript(event) ? ringsGroup(event, leg, 'bridge') : []
  const isListed = leg.ringGroup === '' && !isOfScript(event) && ringsSeveral(event.get('Application-Data'))
  if (group.length === 0 && !isListed) return signals
  if (leg.source === null && !leg.originated && place !== leg.dialled) {
    leg.dialled = place
    signals.push({ kind: 'extension_changed', id: leg.id, extension: place })
  }
  if (!isListed) return [...signals, ...group]
  leg.rings = true
  return [...signals, { kind: 'group', id: leg.id, place }]
}

const isOfScript = (event: EslEvent): boolean =>
  ['ring_group_uuid', 'follow_me_uuid'].some((name) => variableOf(event, name) !== '') ||
  variableOf(event, 'follow_me_enabled') === 'true'

/** Returns the end of a `bridge` that rang several parties. */
function bridgeEnds(context: EslContext, event: EslEvent): ChannelSignal[] {
  const leg = context.legs.get(event.get('Unique-ID'))
  if (leg === undefined || !leg.rings || isOfScript(event)) return []
  leg.rings = false
  return [{ kind: 'rung_all', id: leg.id }]
}

/** Returns the dialplan extension from which a leg dialled: its present one, unless it was sent on since. */
function dialledFrom(
  event: EslEvent,
  leg: Leg,
  { after, atSeconds }: NonNullable<Leg['dialledFrom']>,
): ChannelSignal[] {
  if (placeOf(event) <= after) return []
  leg.dialledFrom = null
  const moves = event.all('variable_transfer_history').flatMap((entry) => {
    const [, seconds = '', destination = ''] = /^(\d+):[^:]*:bl_xfer:([^/]+)\//.exec(entry) ?? []
    return destination === '' ? [] : { seconds: Number(seconds), destination }
  })
  const before = moves.findLast(({ seconds }) => seconds <= atSeconds)?.destination
  const place = cleanText(before ?? (moves.length > 0 ? leg.dialled : event.get('Caller-Destination-Number')))
  return place === null ? [] : [{ kind: 'dialled_from', id: leg.id, place }]
}

/**
 * Returns the signal of a group: FusionPBX's scripts ring the members of a group, or the phones of a follow-me, at once
 * or in turn.
 */
function ringsGroup(event: EslEvent, leg: Leg, application: string): ChannelSignal[] {
  // A leg in a conversation rings nobody, and neither does one that the PBX itself still rings.
  if (leg.peer !== null || leg.source !== null || !OF_GROUP.has(application)) return []
  if (leg.originated && !leg.answered) return []
  const place = cleanText(event.get('Caller-Destination-Number'))
  const id = groupIn(event, application)
  if (id === '' || id === leg.ringGroup || place === null) return []
  // The variable stays on a leg that goes on to other places.
  if ((leg.ringGroups.get(id) ?? place) !== place) return []
  const isListed = leg.listedGroup === place
  Object.assign(leg, { ringGroup: id, listedGroup: null })
  leg.ringGroups.set(id, place)
  return isListed ? [] : [{ kind: 'group', id: leg.id, place }]
}

/** Applications that these scripts run before and while they ring. */
const OF_GROUP: ReadonlySet<string> = new Set(['lua', 'bridge', 'ring_ready'])

/** Returns a key of the leg's group, `''` if it is in none. */
function groupIn(event: EslEvent, application: string): string {
  // The dialplan reads both variables at each extension of its path.
  if (variableOf(event, 'user_exists') === 'true')
    return variableOf(event, 'follow_me_enabled') === 'true'
      ? `follow-me ${event.get('Caller-Destination-Number')}`
      : ''
  if (application === 'ring_ready') return ''
  const group = variableOf(event, 'ring_group_uuid')
  // The script gives each rung party its variables; the dialplan, to which a group may forward, does not.
  const isScript = application !== 'bridge' || !/^(user|sofia)\//.test(variableOf(event, 'current_application_data'))
  return isScript ? group : ''
}

function noteCamping(event: EslEvent, leg: Leg): void {
  if (variableOf(event, 'campon') !== 'true') return
  leg.camps = variableOf(event, 'effective_caller_id_number') || event.get('Caller-Caller-ID-Number') || null
}

/** Applications of FusionPBX's script while a caller leaves a message: events show these instead of the script. */
const OF_SCRIPT: ReadonlySet<string> = new Set(['answer', 'sleep', 'playback', 'record', 'read', 'say', 'phrase'])

/**
 * Returns whether a caller leaves a message, with mod_voicemail or FusionPBX's script; listening to a mailbox does not
 * count.
 */
function isVoicemail(application: string, event: EslEvent): boolean {
  if (OF_SCRIPT.has(application)) return isAnswered(event) && variableOf(event, 'voicemail_action') === 'save'
  if (application !== 'lua' && application !== 'voicemail') return false
  const data = variableOf(event, 'current_application_data') || variableOf(event, 'last_arg')
  if (application === 'lua')
    return isAnswered(event) && /\bvoicemail\b/.test(data) && variableOf(event, 'voicemail_action') !== 'check'
  return !/^\s*(check|auth)/.test(data)
}

/**
 * Returns whether FusionPBX's script hangs up a caller whom a menu had answered, since there is no such mailbox: a
 * message, or a caller who hears the greeting and hangs up, shows the script before.
 */
const isRefusedByScript = (application: string, event: EslEvent, { hungUpItself, gone }: Leg): boolean =>
  (gone || event.name === 'CHANNEL_HANGUP') && !hungUpItself && application !== 'voicemail'

/** FusionPBX's script answers, unless there is no such mailbox. */
const isAnswered = (event: EslEvent): boolean => Number(event.get('Caller-Channel-Answered-Time')) > 0

type Handler = (context: EslContext, event: EslEvent, leg: Leg | undefined) => ChannelSignal[]

const ringing: Handler = (_context, event, leg) => {
  if (leg !== undefined) leg.rang = true
  return [{ kind: 'ringing', id: event.get('Unique-ID') }]
}

const answer: Handler = (_context, event, leg) => {
  if (leg === undefined) return []
  leg.answered = true
  return [{ kind: 'up', id: event.get('Unique-ID') }, ...(leg.source === null && !leg.originated ? [] : answered(leg))]
}

/**
 * A bridged leg has answered; without a signal, it did so while there was no connection. A leg that no list showed
 * ended then, too, or just after.
 */
function missedAnswer(event: EslEvent, leg: Leg | undefined): ChannelSignal[] {
  if (leg?.answerSignalled === true || leg?.source === null || event.get('Call-Direction') !== 'outbound') return []
  const isTalk = ['Answered', 'Bridged'].every((what) => Number(event.get(`Caller-Channel-${what}-Time`)) > 0)
  if (!isTalk) return []
  if (leg !== undefined) leg.answerSignalled = true
  const [source, dest] = [leg?.source ?? null, event.get('Unique-ID')]
  return [{ kind: 'dial_end', source, dest, result: 'answered', forwardedTo: null, unseen: true }]
}

const hangup: Handler = (context, event, leg) => {
  const id = event.get('Unique-ID')
  if (id === '' || leg?.gone === true) return []
  const cause = event.get('Hangup-Cause')
  const missed = missedAnswer(event, leg)
  if (leg !== undefined) {
    leg.gone = true
    leg.replaced ||= cause === 'ATTENDED_TRANSFER'
  }
  const gaveUp = cause === 'ORIGINATOR_CANCEL' && leg !== undefined && leg.source === null && !leg.hungUpItself
  return [
    ...missed,
    ...(gaveUp ? [{ kind: 'hangup_requested' as const, id }] : []),
    { kind: 'hangup', id, end: endOf(context, event, cause, leg) },
  ]
}

function endOf(context: EslContext, event: EslEvent, cause: string, leg: Leg | undefined): End {
  const redirectedTo = cleanText(userOf(variableOf(event, 'sip_redirected_to').replace(/^sips?:/, '')))
  const isRefused = leg !== undefined && isUnconfirmed(event, cause, leg)
  const isRedirected = redirectedTo !== null && leg?.answered === false
  const result = isRefused
    ? 'no_answer'
    : leg !== undefined && isWithdrawn(context, event, cause, leg)
      ? 'cancelled'
      : resultOfEnd(cause, leg?.rang === true, isRedirected)
  return {
    code: codeOfCause(cause),
    result,
    withdrawn: !isRefused && (result === 'cancelled' || cause === 'NORMAL_CLEARING' || isGivenUp(cause)),
    mayTransfer: leg !== undefined && leg.peers.length > 0,
    forwardedTo: cleanText(variableOf(event, 'sip_redirect_contact_user_0')) ?? redirectedTo,
  }
}

/** Returns whether a party had to take the call by pressing a key and hung up without it: it has not answered. */
const isUnconfirmed = (event: EslEvent, cause: string, leg: Leg): boolean =>
  cause === 'NORMAL_CLEARING' && leg.answered && !leg.bridged && variableOf(event, 'group_confirm_key') !== ''

function resultOfEnd(cause: string, rang: boolean, isRedirected: boolean): StageResult {
  if (isRedirected) return 'forwarded'
  return rang ? resultAfterRinging(cause) : resultOfCause(cause)
}

/** FreeSWITCH compares whole seconds. */
const TIMEOUT_PRECISION_SECONDS = 1.2

/**
 * Returns whether a party in a conversation withdrew the call that it made to consult somebody, by the key for that:
 * FreeSWITCH reports the same cause as when its time is over, but none of its times was.
 */
function isWithdrawn(context: EslContext, event: EslEvent, cause: string, leg: Leg): boolean {
  if (cause !== 'NO_ANSWER' || leg.answered || leg.source === null) return false
  const source = context.legs.get(leg.source)
  if (source === undefined || source.virtual || source.peer === null) return false
  // The far end itself said so.
  if (variableOf(event, 'sip_term_status') !== '') return false
  const seconds = (Number(event.get('Event-Date-Timestamp')) - Number(event.get('Caller-Channel-Created-Time'))) / 1e6
  return seconds < Math.min(leg.timeoutSeconds, source.dialSeconds) - TIMEOUT_PRECISION_SECONDS
}

const destroyed: Handler = (context, event, leg) => {
  const signals = hangup(context, event, leg)
  dropLeg(context, event.get('Unique-ID'))
  return signals
}

/**
 * A voicemail message is no recording of the call, and neither is a spoken name or a recording on a virtual channel.
 */
const isMessage = (event: EslEvent): boolean =>
  isSpokenName(event) ||
  isVoicemail(variableOf(event, 'current_application'), event) ||
  variableOf(event, 'current_application') === 'voicemail' ||
  event.get('Channel-Name').startsWith('loopback/voicemail') ||
  /\/voicemail\//.test(event.get('Record-File-Path'))

const recordStart: Handler = (_context, event) =>
  isMessage(event)
    ? []
    : [{ kind: 'recording_started', id: event.get('Unique-ID'), path: event.get('Record-File-Path') || null }]

const recordStop: Handler = (_context, event) => {
  if (isMessage(event)) return []
  const ms = variableOf(event, 'record_ms')
  const discarded =
    variableOf(event, 'RECORD_DISCARDED') === 'true' || event.get('Record-Completion-Cause') === 'empty-file'
  return [
    {
      kind: 'recording_stopped',
      id: event.get('Unique-ID'),
      path: event.get('Record-File-Path') || null,
      durationMs: /^\d{1,12}$/.test(ms) ? Number(ms) : null,
      kept: !discarded,
    },
  ]
}

const HANDLERS: Readonly<Record<EslCallEvent, Handler>> = {
  CHANNEL_CREATE: createLeg,
  CHANNEL_PROGRESS: ringing,
  CHANNEL_PROGRESS_MEDIA: ringing,
  CHANNEL_ANSWER: answer,
  CHANNEL_BRIDGE: bridge,
  CHANNEL_UNBRIDGE: unbridge,
  CHANNEL_HOLD: (_context, event) => [{ kind: 'hold', id: event.get('Unique-ID'), onHold: true }],
  CHANNEL_UNHOLD: (_context, event) => [{ kind: 'hold', id: event.get('Unique-ID'), onHold: false }],
  CHANNEL_HANGUP: hangup,
  CHANNEL_HANGUP_COMPLETE: hangup,
  CHANNEL_DESTROY: destroyed,
  RECORD_START: recordStart,
  RECORD_STOP: recordStop,
  CALL_UPDATE: () => [],
}

const CUSTOM_HANDLERS: Readonly<Record<Subclass, (context: EslContext, event: EslEvent) => ChannelSignal[]>> = {
  'callcenter::info': callcenter,
  'fifo::info': fifo,
  'conference::maintenance': conferenceEntered,
  'valet_parking::info': (_context, event) => parked(event),
}

const BY_NAME: ReadonlyMap<string, Handler> = new Map(Object.entries(HANDLERS))
const BY_SUBCLASS = new Map(Object.entries(CUSTOM_HANDLERS))
