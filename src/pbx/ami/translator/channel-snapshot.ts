import type { AboutSnapshot, Activity, Endpoint, SnapshotChannel } from '../../../calls/calls.ts'
import { bareName, isShortNumber } from '../../endpoints/endpoint-classifier.ts'
import { cleanText, cleanValue } from '../../endpoints/sanitize.ts'
import { endpointOf, readDialString, readDialTargets } from '../dial-string.ts'
import { GROUP_VARIABLES } from '../events.ts'
import type { AmiFrame } from '../frame.ts'
import { isWait, listedPart, noteListedAgents } from './agents.ts'
import {
  type AmiContext,
  addChannel,
  displayName,
  isDialable,
  isDid,
  isHelper,
  type KnownChannel,
  tenantIn,
} from './channels.ts'
import { type Before, type ListRow, putBack } from './earlier-rows.ts'

const CALLEE_APPLICATIONS: ReadonlySet<string> = new Set(['AppDial', 'AppDial2', 'AppQueue'])

/**
 * Returns the channels in the rows of CoreShowChannels and Status. Both lists may be given: they are joined by
 * Uniqueid. Channels that were `created` meanwhile are left out, and the rows are put back to the moment before the
 * events that came `earlier`. In steps of one row.
 */
export function* snapshotChannels(
  context: AmiContext,
  rows: readonly AmiFrame[],
  arrivedUs: number,
  { created = new Set(), earlier = [] }: Pick<AboutSnapshot<AmiFrame>, 'created' | 'earlier'> = {},
): Generator<void, SnapshotChannel[]> {
  const byId = new Map<string, Rows>()
  for (const row of rows) {
    yield
    const id = row.get('Uniqueid')
    if (
      id === '' ||
      created.has(id) ||
      isHelper(row.get('Channel')) ||
      (row.name !== 'CoreShowChannel' && row.name !== 'Status')
    )
      continue
    byId.set(id, [...(byId.get(id) ?? []), row])
  }
  const before = yield* putBack(byId, earlier, created)
  for (const [id, same] of byId) if (isHelper(headerOf(same, 'Channel'))) byId.delete(id)
  const sent = yield* sentNumbers(context, [...byId.values()])
  const halves = new Map<string, string>()
  for (const [id, same] of byId) {
    const name = headerOf(same, 'Channel')
    if (isLocal(name)) halves.set(name, id)
    yield
  }
  const answered = yield* answeredGroups([...byId.values()])
  const diallers = yield* diallersIn([...byId.values()])
  const followed = yield* followMeHalves([...byId.values()])
  const paged = yield* pagesIn([...byId.values()])
  const channels: SnapshotChannel[] = []
  for (const [id, same] of byId) {
    const channel = snapshotChannel(context, same, { id, sent, arrivedUs, before: before.get(id) })
    const pair = pairOf(headerOf(same, 'Channel'), halves)
    const source = before.get(id)?.source ?? diallers.get(id) ?? null
    const facts = { ...pair, ...answered.get(id), ...rungAllIn(same), ...followed.get(id), ...paged.get(id) }
    const listed: SnapshotChannel = { ...channel, source, ...facts }
    noteWhoRings(context.channels.get(id), listed)
    channels.push(listed)
    yield
  }
  return withAgents(context, channels.toSorted(byCreation), byId)
}

/** Orders listed channels as Asterisk made them: by the count in their ids (`1795946446.19415`), if they have one. */
const byCreation = (one: SnapshotChannel, other: SnapshotChannel): number => countIn(one.id) - countIn(other.id)

const countIn = (id: string): number => Number(/\.(\d{1,15})$/.exec(id)?.[1] ?? 0)

type Paged = Partial<Pick<SnapshotChannel, 'callee' | 'source' | 'dialledNumber' | 'paged' | 'place' | 'group'>>

/**
 * Returns pagers and the phones of their pages, by id. Page() rings the phones in the pager's call; pager and phones
 * are in one conference then, to which no phone was called.
 */
function* pagesIn(channels: readonly Rows[]): Generator<void, Map<string, Paged>> {
  const found = new Map<string, Paged>()
  const callers = new Map<string, Rows>()
  for (const rows of channels)
    if (headerOf(rows, 'Uniqueid') === headerOf(rows, 'Linkedid')) callers.set(headerOf(rows, 'Uniqueid'), rows)
  for (const rows of channels) {
    yield
    const [id, source] = [headerOf(rows, 'Uniqueid'), headerOf(rows, 'Linkedid')]
    const pager = callers.get(source)
    if (pager === undefined || id === source || isLocal(headerOf(rows, 'Channel')) || !isPaged(rows, pager)) continue
    found.set(id, { callee: true, source, dialledNumber: null, paged: true })
    const place = headerOf(pager, 'Exten')
    if (/^\d+$/.test(place)) found.set(source, { place, group: place })
  }
  return found
}

function isPaged(rows: Rows, pager: Rows): boolean {
  const [application, ofPager] = [rows, pager].map((one) => headerOf(one, 'Application'))
  if (application === ORIGINATED) return ofPager === 'Page'
  const isMet = bridgeOf(rows) !== '' && bridgeOf(rows) === bridgeOf(pager)
  const wasCalled = rows.some((row) => row.get('DNID') !== '') || isDialable(headerOf(rows, 'Exten'), '')
  return application === 'ConfBridge' && ofPager === 'ConfBridge' && isMet && !wasCalled
}

/** Adds the parts that agents who wait on the line have in calls; an agent's own channel talks with nobody. */
function withAgents(
  context: AmiContext,
  channels: readonly SnapshotChannel[],
  byId: ReadonlyMap<string, Rows>,
): SnapshotChannel[] {
  const listed = [...byId].map(([id, rows]) => ({
    id,
    application: headerOf(rows, 'Application'),
    bridge: bridgeOf(rows),
  }))
  noteListedAgents(context, listed)
  const parts = listed.flatMap((one) => listedPart(context, one) ?? [])
  const linkedIds = new Map(channels.map(({ id, linkedId }) => [id, linkedId]))
  return [
    ...channels.map((channel): SnapshotChannel => {
      const { id, linkedId, pair } = channel
      if (context.agentPool.agents.has(id)) return { ...channel, bridge: null }
      // Asterisk counts the half that meets an agent to the agent's wait.
      if (linkedId === null || !isWait(context, linkedId, id)) return channel
      return { ...channel, linkedId: linkedIds.get(pair?.id ?? '') ?? null }
    }),
    ...parts,
  ]
}

type Rows = readonly ListRow[]

/** Returns the end of a group, for a caller whose Dial rings a single party while FreePBX shows no group. */
function rungAllIn(rows: Rows): Pick<SnapshotChannel, 'rungAll'> {
  const isShown = rows.some((row) => row.has('Variable'))
  const isDial = !isCallee(rows) && headerOf(rows, 'Application') === 'Dial'
  return isShown && isDial && dialledGroup(rows) === undefined ? { rungAll: true } : {}
}

/** The group that a phone answered; for a half of a Local channel, the group that it rang. */
type Answered = Pick<SnapshotChannel, 'answeredGroup' | 'group'>

/**
 * Returns the extensions whose groups are answered, by the id of the phone that answered, and of the Local half whose
 * Dial rang the group. The phone talks with a caller whose Dial names it: a phone to which the caller was moved since
 * is not in that Dial.
 */
function* answeredGroups(channels: readonly Rows[]): Generator<void, Map<string, Answered>> {
  const answered = new Map<string, Answered>()
  const callees = new Map<string, Rows[]>()
  const named = new Map<string, Rows>()
  for (const rows of channels) {
    named.set(headerOf(rows, 'Channel'), rows)
    const bridge = isCallee(rows) ? bridgeOf(rows) : ''
    if (bridge !== '') callees.set(bridge, [...(callees.get(bridge) ?? []), rows])
    yield
  }
  const talkingWith = (rows: Rows | undefined): Rows[] => {
    const bridge = rows === undefined ? '' : bridgeOf(rows)
    return bridge === '' ? [] : (callees.get(bridge) ?? [])
  }
  // Behind a Local channel is who talks with its other half.
  const phonesBehind = (rows: Rows, depth = 0): Rows[] => {
    const name = headerOf(rows, 'Channel')
    if (!isLocal(name)) return [rows]
    if (!name.endsWith(';1') || depth >= MAX_NESTING) return []
    return talkingWith(named.get(`${name.slice(0, -1)}2`)).flatMap((one) => phonesBehind(one, depth + 1))
  }
  for (const rows of channels) {
    yield
    const answeredGroup = dialledGroup(rows)
    if (answeredGroup === undefined) continue
    const targets = readDialTargets(headerOf(rows, 'Data', 'ApplicationData'))
    const members = talkingWith(rows).filter((one) =>
      targets.some((target) => isDialledAs(target, headerOf(one, 'Channel'))),
    )
    if (members.length > 0 && isLocal(headerOf(rows, 'Channel')))
      answered.set(headerOf(rows, 'Uniqueid'), { group: answeredGroup })
    else
      for (const phone of members.flatMap((one) => phonesBehind(one)))
        answered.set(headerOf(phone, 'Uniqueid'), { answeredGroup })
  }
  return answered
}

/**
 * Returns the dialling channel of each channel that is dialled, by its id: the lists name none. It is in the same call,
 * and its Dial names the dialled channel, or its Queue rings members. A caller that took the dialling party's place by
 * a transfer is in another call: the dialled channel shows its number. Which of several one is, is unknown.
 */
function* diallersIn(channels: readonly Rows[]): Generator<void, Map<string, string>> {
  const dialling = channels.filter((rows) => !isCallee(rows) && DIALLING.has(headerOf(rows, 'Application')))
  const byCall = Map.groupBy(dialling, (rows) => headerOf(rows, 'Linkedid'))
  const byNumber = Map.groupBy(dialling, (rows) => headerOf(rows, 'CallerIDNum'))
  const found = new Map<string, string>()
  for (const rows of channels) {
    yield
    if (!isCallee(rows)) continue
    const ofCall = (byCall.get(headerOf(rows, 'Linkedid')) ?? []).filter((one) => dials(one, rows))
    const ofNumber = (byNumber.get(headerOf(rows, 'ConnectedLineNum')) ?? []).filter((one) => dials(one, rows))
    const [dialler, ...others] = ofCall.length > 0 ? ofCall : ofNumber
    if (dialler !== undefined && others.length === 0)
      found.set(headerOf(rows, 'Uniqueid'), headerOf(dialler, 'Uniqueid'))
  }
  return found
}

const DIALLING: ReadonlySet<string> = new Set(['Dial', 'Queue'])

/** How lists print that a channel runs no application. */
const NO_APPLICATION: ReadonlySet<string> = new Set(['', '(null)', '(none)'])

/** Returns the Local halves that FollowMe dialled, by id: they run no application, as halves that nobody dialled. */
function* followMeHalves(
  channels: readonly Rows[],
): Generator<void, Map<string, Pick<SnapshotChannel, 'callee' | 'source' | 'dialledNumber'>>> {
  const callers = new Map<string, string>()
  for (const rows of channels)
    if (headerOf(rows, 'Application') === 'FollowMe')
      callers.set(headerOf(rows, 'Linkedid'), headerOf(rows, 'Uniqueid'))
  yield
  const found = new Map<string, Pick<SnapshotChannel, 'callee' | 'source' | 'dialledNumber'>>()
  if (callers.size === 0) return found
  for (const rows of channels) {
    yield
    const isHalf = /^Local\/.*;1$/.test(headerOf(rows, 'Channel')) && NO_APPLICATION.has(headerOf(rows, 'Application'))
    const source = callers.get(headerOf(rows, 'Linkedid'))
    if (isHalf && source !== undefined)
      found.set(headerOf(rows, 'Uniqueid'), { callee: true, source, dialledNumber: null })
  }
  return found
}

/** Returns whether a channel may have dialled another one. */
function dials(one: Rows, callee: Rows): boolean {
  const isOfQueue = headerOf(callee, 'Application') === 'AppQueue'
  if (isOfQueue || headerOf(one, 'Application') === 'Queue')
    return isOfQueue === (headerOf(one, 'Application') === 'Queue')
  // A channel that is connected to another party has no dial any more.
  const [bridge, own] = [bridgeOf(one), bridgeOf(callee)]
  if (bridge !== '' && bridge !== own) return false
  const name = headerOf(callee, 'Channel')
  return readDialTargets(headerOf(one, 'Data', 'ApplicationData')).some((target) => isDialledAs(target, name))
}

/** Returns the extension of a caller whose Dial rings a group: several parties, or FreePBX shows a group. */
function dialledGroup(rows: Rows): string | undefined {
  if (isCallee(rows) || headerOf(rows, 'Application') !== 'Dial') return undefined
  const shown = groupOf(rows).group
  if (shown !== undefined) return shown
  const exten = headerOf(rows, 'Exten')
  const targets = readDialTargets(headerOf(rows, 'Data', 'ApplicationData'))
  const isGroup = new Set(targets.map(partyIn)).size > 1
  return isGroup && /^\d+$/.test(exten) && isDialable(exten, headerOf(rows, 'Context')) ? exten : undefined
}

/** Returns the party of a target of Dial: one number over several trunks is one, and so are devices of an extension. */
function partyIn(target: string): string {
  if (isLocal(target)) return target.slice('Local/'.length, target.indexOf('@'))
  const { endpoint, sent } = readDialString(target, target.slice(0, target.indexOf('/')))
  return sent ?? /^\d+/.exec(bareName(endpoint))?.[0] ?? endpoint
}

const isCallee = (rows: Rows): boolean => CALLEE_APPLICATIONS.has(headerOf(rows, 'Application'))
const isLocal = (name: string): boolean => name.startsWith('Local/')
const bridgeOf = (rows: Rows): string => headerOf(rows, 'BridgeId', 'BridgeID')

const MAX_NESTING = 16

/** Returns the endpoint of a target of Dial; a Local channel is one with its context. */
const endpointIn = (target: string): string =>
  isLocal(target) ? target.replace(/\/\w+$/, '') : readDialString(target, target.slice(0, target.indexOf('/'))).endpoint

/** Returns whether a target of Dial rings a channel. A phone can take the place of the Local channel in front of it. */
function isDialledAs(target: string, channel: string): boolean {
  const dialled = endpointIn(target)
  const { endpoint } = endpointOf(channel)
  if (!isLocal(dialled) || isLocal(channel)) return dialled === endpoint
  return dialled.startsWith(`Local/${bareName(endpoint)}@`)
}

/** Returns the other half of a Local channel, by name. */
function pairOf(name: string, halves: ReadonlyMap<string, string>): Pick<SnapshotChannel, 'pair'> {
  const half = /^Local\/.*;([12])$/.exec(name)?.[1]
  if (half === undefined) return {}
  const id = halves.get(`${name.slice(0, -1)}${half === '1' ? 2 : 1}`)
  return id === undefined ? {} : { pair: { id, half: half === '1' ? 1 : 2 } }
}

/** Returns the first of these headers that the rows of a channel have. */
function headerOf(rows: Rows, ...keys: string[]): string {
  for (const row of rows) for (const key of keys) if (row.get(key) !== '') return row.get(key)
  return ''
}

const keyOf = (linkedId: string, endpoint: string): string => `${linkedId} ${endpoint}`

/**
 * Returns the numbers that are sent to endpoints, by call: the channel of a dialled party shows the number that its
 * caller dialled, access code included. `null`: several numbers are sent to one endpoint.
 */
function* sentNumbers(
  { endpoints }: AmiContext,
  channels: readonly Rows[],
): Generator<void, Map<string, string | null>> {
  const sent = new Map<string, string | null>()
  for (const rows of channels) {
    yield
    if (headerOf(rows, 'Application') !== 'Dial') continue
    const linkedId = headerOf(rows, 'Linkedid')
    for (const target of readDialTargets(headerOf(rows, 'Data', 'ApplicationData'))) {
      const dialled = readDialString(target, target.slice(0, target.indexOf('/')))
      if (dialled.sent === null || (dialled.uri && endpoints.kindOf(dialled.endpoint) !== 'trunk')) continue
      const key = keyOf(linkedId, dialled.endpoint)
      sent.set(key, sent.has(key) && sent.get(key) !== dialled.sent ? null : dialled.sent)
    }
  }
  return sent
}

function snapshotChannel(
  context: AmiContext,
  rows: Rows,
  {
    id,
    sent,
    arrivedUs,
    before,
  }: {
    id: string
    sent: ReadonlyMap<string, string | null>
    arrivedUs: number
    before: Before | undefined
  },
): SnapshotChannel {
  const get = (...keys: string[]): string => headerOf(rows, ...keys)
  const name = get('Channel')
  const local = name.startsWith('Local/')
  const callee = CALLEE_APPLICATIONS.has(get('Application'))
  const state = get('ChannelState')
  const number = isDialable(get('CallerIDNum'), '') ? get('CallerIDNum') : ''
  const display = displayName(get('CallerIDName'))
  const { endpoint } = endpointOf(name)
  const linkedId = get('Linkedid')
  const exten = get('DNID', 'Exten')
  const tenant = listedTenant(context, rows)
  const bridge = get('BridgeId', 'BridgeID') || null
  // A caller that a member answered, or that was moved since, still has the group's variables.
  const group = callee || bridge !== null ? undefined : (groupOf(rows).group ?? dialledGroup(rows))
  const shown = group === undefined ? {} : { place: group, group }
  context.unfollowed.delete(id)
  const isKnown = context.channels.has(id)
  const known =
    context.channels.get(id) ??
    addChannel(context, id, { name, linkedId, exten, number, display, tenant, rang: state === '5' })
  known.found ||= !isKnown
  known.mayBeUp = state !== '6' && (known.mayBeUp || !isKnown)
  // Events have said how a channel came where it is, if they reported it from its beginning.
  if (known.found && group !== undefined) Object.assign(known, { exten: group, entered: group })
  if (known.found && !callee && get('Application') === 'Dial')
    noteListedDial(known, get('Data', 'ApplicationData'), bridge !== null)
  if (before?.isMovedAway === true) known.dialAnswered = true
  const isOwn = linkedId === id
  const originated = callee ? isOwn && get('Application') === ORIGINATED : isOriginated(rows, { id, linkedId, local })
  const behind = (callee ? sent.get(keyOf(linkedId, endpoint)) : null) ?? null
  const party = { endpoint, number, display, callee, originated, behind }
  const shownEndpoint: Endpoint = local ? { kind: 'virtual', number: null, name: null } : listedEndpoint(context, party)
  // An event shows where a caller is, not what it dialled.
  const isCalled = shownEndpoint.kind === 'external' ? isDid : isDialable
  const isDialled = before?.isUnlisted !== true || isCalled(exten, get('Context'))
  return {
    id,
    linkedId: linkedId === '' ? null : linkedId,
    endpoint: shownEndpoint,
    dialledNumber: callee || !isDialled ? null : exten,
    callee,
    source: null,
    originated,
    ...(callee ? { shown: cleanText(get('ConnectedLineNum')) ?? cleanText(number) } : {}),
    ...(isDialable(get('Exten'), get('Context')) ? { place: get('Exten') } : {}),
    ...shown,
    ...(callee ? {} : activityOf(get('Application'), get('Data', 'ApplicationData'))),
    up: state === '6',
    ringing: state === '5',
    bridge,
    tenant,
    startedUs: startedUs(get('Seconds'), get('Duration'), arrivedUs),
  }
}

/** A listed party, as its row shows it. `behind`: the outside number that was dialled through it, if it was. */
type ListedParty = {
  readonly endpoint: string
  readonly number: string
  readonly display: string
  readonly callee: boolean
  readonly originated: boolean
  readonly behind: string | null
}

function listedEndpoint({ endpoints }: AmiContext, party: ListedParty): Endpoint {
  const { endpoint, number, display, callee, originated, behind } = party
  if (behind !== null) return endpoints.callee(endpoint, { sent: behind, number, display: '' })
  const isNamedByNumber = isShortNumber(bareName(endpoint)) || isShortNumber(number)
  if (callee && !isNamedByNumber) return endpoints.named(endpoint, number)
  return endpoints.caller(endpoint, { number, display: originated ? '' : display, context: '' })
}

/** Notes whose Dial or Queue rings a listed channel: the event that began it may not have been seen. */
function noteWhoRings(known: KnownChannel | undefined, { up, source }: SnapshotChannel): void {
  if (known?.found === true && !up && source !== null) known.rungBy = source
}

/** Notes the running Dial of a listed channel: which of its targets got a channel so far was not seen. */
function noteListedDial(known: KnownChannel, data: string, isAnswered: boolean): void {
  if (known.targets.length > 0) return
  if (isAnswered) {
    known.dialAnswered = true
    return
  }
  known.targets = readDialTargets(data)
  known.rung = new Set(known.targets.map((target) => endpointIn(target)))
}

/** What a channel runs that Asterisk rings by itself: for an Originate, or for a page in the pager's call. */
const ORIGINATED = 'AppDial2'

/**
 * Returns whether Asterisk made a channel by itself (click-to-call): it did not call in, so that Status has no number
 * that it dialled, and is the first of its call, which one that was dialled and left alone is not.
 */
function isOriginated(rows: Rows, { id, linkedId, local }: { id: string; linkedId: string; local: boolean }): boolean {
  const status = rows.find((row) => row.has('DNID'))
  return !local && linkedId === id && status?.get('DNID') === '' && status.get('Exten') !== ''
}

function activityOf(application: string, data: string): Pick<SnapshotChannel, 'activity'> {
  const activity = readActivity(application.toLowerCase(), cleanText(data.split(',')[0] ?? '') ?? '')
  return activity === undefined ? {} : { activity }
}

function readActivity(application: string, first: string): Activity | undefined {
  if (application === 'queue') return first === '' ? undefined : { kind: 'queue', queue: first }
  if (application === 'voicemail') return { kind: 'voicemail' }
  if (application === 'confbridge' || application === 'meetme') return { kind: 'conference' }
  return NO_APPLICATION.has(application) ? undefined : { kind: 'other' }
}

/** Returns the value by which a listed channel shows its customer. */
function listedTenant(context: AmiContext, rows: Rows): string | null {
  const { tenants } = context
  if (tenants?.by !== 'variable' || tenants.variable === null) return tenantIn(context, (key) => headerOf(rows, key))
  return cleanValue(variableOf(rows, tenants.variable))
}

/** How Status prints a variable that the channel does not have. */
const UNSET = '(null)'

/** Returns a variable of a listed channel, empty if it has none: Status has those that were requested. */
function variableOf(rows: Rows, name: string): string {
  const prefix = `${name}=`
  const found = rows.flatMap((row) => row.all('Variable')).find((pair) => pair.startsWith(prefix))
  const value = found?.slice(prefix.length) ?? ''
  return value === UNSET ? '' : value
}

/** Returns the extension that rings a group for a listed caller, if FreePBX shows it. */
function groupOf(rows: Rows): Pick<SnapshotChannel, 'place' | 'group'> {
  const [method, place] = GROUP_VARIABLES.map((name) => variableOf(rows, name))
  if (!method || method === 'none' || !place || !/^\d+$/.test(place)) return {}
  return { place, group: place }
}

/** `Seconds: 12` (Status) or `Duration: 00:00:12` (CoreShowChannels) before now. */
function startedUs(seconds: string, duration: string, arrivedUs: number): number | null {
  if (/^\d{1,8}$/.test(seconds)) return arrivedUs - Number(seconds) * 1e6
  const match = /^(\d{1,5}):(\d\d):(\d\d)$/.exec(duration)
  if (match === null) return null
  return arrivedUs - (Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3])) * 1e6
}
