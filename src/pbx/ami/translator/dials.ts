import type { ChannelSignal, Endpoint } from '../../../calls/calls.ts'
import type { StageResult } from '../../../events/enums.ts'
import { cleanText } from '../../endpoints/sanitize.ts'
import { endpointOf, readDialString } from '../dial-string.ts'
import type { AmiFrame } from '../frame.ts'
import { type AmiContext, extensionChanged, isHelper, type KnownChannel, placeOf } from './channels.ts'
import { partiesOf, rungName } from './dial-parties.ts'
import { resultOfStatus } from './hangup-causes.ts'

// Dial and Queue: the rung parties, and the results.

/** An endpoint that is dialled by its own name, which may have an @ (`102@acme.example`). */
const ALONE = { sent: null, uri: false } as const

/** Reads DialBegin: a channel is dialled. */
export function dialBegin(context: AmiContext, frame: AmiFrame, source: string): ChannelSignal[] {
  const dest = frame.get('DestUniqueid')
  const name = frame.get('DestChannel')
  if (isHelper(name)) return []
  const { technology, endpoint } = endpointOf(name)
  const known = context.channels.get(dest)
  if (source !== '' && isPickup(known, frame, dest)) return []
  const isName = endpoint === `${technology}/${frame.get('DialString').replace(`${technology}/`, '')}`
  const { sent, uri } = isName ? ALONE : readDialString(frame.get('DialString'), technology)
  const caller = context.channels.get(source)
  caller?.rung.add(rungName(name, caller.targets))
  if (known !== undefined && source !== '') known.rungBy = source
  const shown = cleanText(frame.get('DestConnectedLineNum')) ?? cleanText(frame.get('DestCallerIDNum'))
  const pager = source === '' ? pagerOf(context, frame.get('DestLinkedid'), known) : null
  const party: Endpoint = name.startsWith('Local/')
    ? { kind: 'virtual', number: null, name: null }
    : context.endpoints.callee(endpoint, { sent, uri, number: known?.number ?? '', display: known?.display ?? '' })
  const place = placeOf(caller, frame)
  // The dialled number of an unseen caller is unknown: the reached extension stands for it.
  const reached = place === '' && caller?.found === true && party.kind === 'extension' ? party.number : null
  const moved = extensionChanged(caller, source, reached ?? place, frame.get('Context'))
  return [
    ...moved,
    ...(caller === undefined ? [] : ringsGroup(context, caller, source, place)),
    {
      kind: 'dial_begin',
      source: source === '' ? pager : source,
      dest,
      ...(pager !== null || isPageOf(caller, party) ? PAGED : {}),
      endpoint: party,
      shown,
      forwarded: caller?.forwards === true,
    },
  ]
}

/** Returns the signal of a Dial that rings several parties, unless FreePBX has shown this group. */
function ringsGroup(context: AmiContext, known: KnownChannel, id: string, place: string): ChannelSignal[] {
  const isShown = known.dialsGroup || known.shownGroup === place
  if (isShown || known.targets.length < 2) return []
  const parties = partiesOf(context, known.targets, place)
  if (parties.length < 2 || isAnother(known, parties)) return []
  known.dialsGroup = true
  return [{ kind: 'group', id, place }]
}

/** Returns the signal of a Dial of several parties that is over. */
export function groupRung(known: KnownChannel, id: string): ChannelSignal[] {
  if (!known.dialsGroup) return []
  known.dialsGroup = false
  return [{ kind: 'rung_all', id }]
}

const PAGED = { paged: true } as const

/** Returns the caller for whose page Asterisk rings a channel by itself: its call has the caller's id. */
const pagerOf = ({ channels }: AmiContext, linkedId: string, rung: KnownChannel | undefined): string | null =>
  channels.get(linkedId)?.pages === true && rung?.linkedId === linkedId ? linkedId : null

/** FreePBX rings each phone of a page by itself, through a Local channel at an extension like `PAGE101`. */
const isPageOf = (caller: KnownChannel | undefined, { number }: Endpoint): boolean =>
  caller?.local === true && number !== null && caller.exten === `PAGE${number}`

/** Asterisk 13 reports the picking-up party as dialled, just before it reports the pick-up. */
const isPickup = (dest: KnownChannel | undefined, frame: AmiFrame, id: string): boolean =>
  dest?.local === false && dest.linkedId === id && frame.get('DestChannelState') === '6'

/** Reads DialState: a dialled channel rings. */
export function dialState(context: AmiContext, frame: AmiFrame): ChannelSignal[] {
  const status = frame.get('DialStatus')
  return status === 'RINGING' || status === 'PROGRESS' ? ringing(context, frame.get('DestUniqueid')) : []
}

/** Returns the signal of a channel that rings. */
export function ringing(context: AmiContext, id: string): ChannelSignal[] {
  const known = context.channels.get(id)
  if (known !== undefined) known.rang = true
  return [{ kind: 'ringing', id }]
}

/** Reads DialEnd: the result of dialling a channel. */
export function dialEnd(context: AmiContext, frame: AmiFrame, source: string): ChannelSignal[] {
  const forward = frame.get('Forward')
  const dest = frame.get('DestUniqueid')
  const caller = context.channels.get(source)
  const known = context.channels.get(dest)
  const isNoAnswer = frame.get('DialStatus') === 'NOANSWER' && forward === ''
  const refusal = isNoAnswer ? (known?.refusal ?? null) : null
  const isUnanswered = isNoAnswer && refusal === null
  if (isUnanswered) caller?.unanswered.push(dest)
  if (known !== undefined) {
    known.rungBy = null
    known.dialEnds += 1
  }
  const isDeclined = frame.get('DialStatus') === 'ABORT' && known?.declined === true
  // Its status is NOANSWER for most refusals: the phone's own reason is more precise.
  const said = isDeclined ? 'rejected' : (refusal ?? resultOfStatus(frame.get('DialStatus')))
  // Dial has tried all of its targets before one of them ends.
  const others = caller === undefined ? [] : unreached(context, caller, source, 'unavailable')
  return [
    ...others,
    {
      kind: 'dial_end',
      source: source === '' ? null : source,
      dest,
      result: forward === '' ? said : 'forwarded',
      forwardedTo: forward === '' ? null : cleanText(forward.split('@')[0] ?? ''),
      // A running Dial reports its own status a moment later.
      ...(isUnanswered && caller !== undefined && caller.targets.length > 0 ? { provisional: true } : {}),
    },
  ]
}

/** The causes of a phone's channel that was hung up by command: by default none. */
const BY_COMMAND: ReadonlySet<string> = new Set(['', '0', '16'])

/**
 * Returns the signals of an agent's phone that a command hung up. A queue that gives a phone up reports the end of its
 * dial twice.
 */
export function agentHungUp(known: KnownChannel | undefined, id: string, cause: string): ChannelSignal[] {
  const isGivenUp = known?.isAgent !== true || known.dialEnds !== 1 || !BY_COMMAND.has(cause)
  return isGivenUp ? [] : [amended(id, 'other')]
}

/** Returns the correction of a dial that was reported as unanswered; others stay as they are. */
const amended = (dest: string, result: StageResult): ChannelSignal => ({
  kind: 'dial_end',
  source: null,
  dest,
  result,
  forwardedTo: null,
  amends: true,
})

/** After a transfer a Newexten may still show the previous Dial: the channels rung now are not among its targets. */
const isAnother = ({ rung }: KnownChannel, parties: ReturnType<typeof partiesOf>): boolean =>
  [...rung].some((name) => !parties.flat().some((target) => target.rungName === name))

/** Returns the signals of the parties of a Dial that were unreachable: none of their devices got a channel. */
function unreached(context: AmiContext, known: KnownChannel, id: string, result: StageResult): ChannelSignal[] {
  if (known.targets.length === 0) return []
  const parties = partiesOf(context, known.targets, known.exten)
  if (isAnother(known, parties)) return []
  const isRung = (party: (typeof parties)[number]): boolean => party.some((target) => known.rung.has(target.rungName))
  const group = ringsGroup(context, known, id, known.exten)
  const failed = parties.filter((party) => !isRung(party)).flatMap(([target]) => target?.party ?? [])
  known.targets = parties.filter(isRung).flatMap((party) => party.map(({ text }) => text))
  return [...group, ...failed.map((endpoint) => ({ kind: 'dial_failed', source: id, endpoint, result }) as const)]
}

/** Reads the DIALSTATUS of a finished Dial. */
export function dialStatus(context: AmiContext, known: KnownChannel, id: string, status: string): ChannelSignal[] {
  const unanswered = known.unanswered.splice(0)
  // Dial reports its answer twice: at once, and again when it returns.
  known.dialAnswered = status === 'ANSWER' && !known.dialAnswered
  // If it had rung until the timeout, the Dial would be NOANSWER: an operator or a shutdown hung up the phone's
  // channel.
  const result = status === 'CHANUNAVAIL' ? 'other' : 'no_answer'
  const failed = status === 'CONGESTION' ? 'congestion' : 'unavailable'
  const others = known.rung.size > 0 || FAILED.has(status) ? unreached(context, known, id, failed) : []
  known.targets = []
  return [...others, ...groupRung(known, id), ...unanswered.map((dest) => amended(dest, result))]
}

/** Reads DEXTEN: the extension that FreePBX is about to dial, or with `#` the number to which it forwards. */
export function extensionToDial(known: KnownChannel, value: string): void {
  if (value === '') return
  known.forwards = value.endsWith('#')
  known.aboutToDial = /^\d+$/.test(value) ? value : null
}

/**
 * Reads a DIALSTATUS that FreePBX sets itself when it does not dial an extension: do not disturb, in use without call
 * waiting, or no phone is registered.
 */
export function notDialled(context: AmiContext, known: KnownChannel, id: string, status: string): ChannelSignal[] {
  const { aboutToDial } = known
  known.aboutToDial = null
  known.forwards = false
  if (aboutToDial === null || (status !== 'BUSY' && status !== 'CHANUNAVAIL')) return []
  const endpoint = context.endpoints.named(aboutToDial, null)
  return [{ kind: 'dial_failed', source: id, endpoint, result: resultOfStatus(status) }]
}

const FAILED: ReadonlySet<string> = new Set(['CHANUNAVAIL', 'CONGESTION'])
